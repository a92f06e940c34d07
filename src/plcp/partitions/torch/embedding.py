"""What a network makes of its input, for a partition of another kind."""

from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from plcp.partitions.torch.batches import as_rows, outputs_of
from plcp.quantiles import FloatArray


def embed(module: nn.Module, X: Any) -> FloatArray:
    """Outputs of a trained module for all rows, flat; on the device its weights are on.

    ``features=module`` of a conformal estimator does the same: give it a backbone cut before its
    last layer.

    Examples
    --------
    >>> import numpy as np
    >>> embed(nn.Flatten(), np.ones((2, 1, 2, 2)))
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    if any(is_lazy(p) for p in module.parameters()):
        raise ValueError(
            "the module has no weights yet: train it, or call it once, and give it then"
        )
    device = next((p.device for p in module.parameters()), torch.device("cpu"))
    outputs = outputs_of(module, as_rows(X), device)
    return outputs.reshape(len(outputs), -1)
