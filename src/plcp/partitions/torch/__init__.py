"""Any ``torch.nn.Module`` as the class H (needs the extra ``torch``)."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("plcp.partitions.torch needs PyTorch: pip install 'plcp[torch]'") from error

from plcp.partitions.torch.partition import TorchPartition, embed
from plcp.partitions.torch.quantile import TorchQuantile
from plcp.partitions.torch.training import mlp, one_conv, small_cnn, to_device

__all__ = ["TorchPartition", "TorchQuantile", "embed", "mlp", "one_conv", "small_cnn", "to_device"]
