"""Any ``torch.nn.Module`` as the class H (needs the extra ``torch``)."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("plcp.partitions.torch needs PyTorch: pip install 'plcp[torch]'") from error

from plcp.partitions.torch.devices import to_device
from plcp.partitions.torch.embedding import embed
from plcp.partitions.torch.modules import mlp, one_conv, small_cnn
from plcp.partitions.torch.partition import TorchPartition
from plcp.partitions.torch.quantile import TorchQuantile

__all__ = ["TorchPartition", "TorchQuantile", "embed", "mlp", "one_conv", "small_cnn", "to_device"]
