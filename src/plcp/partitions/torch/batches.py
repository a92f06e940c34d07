"""From rows of any kind to batches of float tensors, a few rows at a time."""

from collections.abc import Iterator
from contextlib import nullcontext
from threading import RLock
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from torch import Tensor
from torch.utils.data import default_collate

from plcp.quantiles import FloatArray, IntArray
from plcp.rows import count, is_dataset, is_frame, plain
from plcp.validation import naming_the_boosted_index

ROWS_TO_READ = 1024  # at once where nothing is learned,
BYTES_TO_READ = 2**25  # and never more than this
# held while a network is in another mode than its owner left it, as somebody else may be asking it
_MODES = RLock()


def as_rows(X: Any) -> Any:
    """Return X in a form that `read` reads: a data set as it is, all else as an array."""
    if is_dataset(X):
        return X
    if is_frame(X):
        _check_numbers(X)
    with naming_the_boosted_index() if np.ndim(X) <= 2 else nullcontext():
        return check_array(plain(X), allow_nd=True, dtype="numeric", input_name="X")


def _check_numbers(frame: Any) -> None:
    for name in frame.columns:
        if np.asarray(frame[name]).dtype.kind not in "biuf":
            raise ValueError(
                f"column {name!r} of X holds no numbers: encode it first, in a pipeline before the "
                "network, or use the default index, which takes categories, text and dates"
            )


def read(X: Any, rows: IntArray) -> Tensor:
    """Return some rows as floats: of an array, or a data set.

    Items of a data set may be pairs (x, label), of which the label is left alone. Bytes of images
    are scaled to [0, 1]; images of other integers are refused, since nobody knows their range.

    Examples
    --------
    >>> read(np.full((2, 1, 2, 2), 255, dtype=np.uint8), np.array([0])).flatten().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    if is_dataset(X):
        items = [X[int(row)] for row in rows]
        parts = [x[0] if isinstance(x, (tuple, list)) else x for x in items]
        block = default_collate([plain(part) for part in parts])
        if not isinstance(block, Tensor) or block.ndim < 2:
            raise ValueError(
                "items of a data set must be a vector or an image each, as a tensor or an array, "
                f"or pairs of one and a label, got {items[0]!r}"
            )
    else:
        block = torch.as_tensor(np.ascontiguousarray(X[rows]))
    return as_floats(block)


def row_shape(X: Any) -> tuple[int, ...]:
    """Shape of a row, as the first one has it."""
    return tuple(read(X, np.zeros(1, dtype=int)).shape[1:])


def as_floats(block: Tensor) -> Tensor:
    """Return a block of rows in single precision."""
    if block.ndim > 2 and not block.is_floating_point():
        if block.dtype != torch.uint8:
            raise ValueError(
                f"images of {block.dtype} have a range nobody knows: give bytes (uint8), which are "
                "scaled to [0, 1], or floats"
            )
        return block.float() / 255
    return block.float()


def in_order(X: Any, device: torch.device) -> Iterator[Tensor]:
    """Batches of all rows, in order."""
    n = count(X)
    size = max(1, min(ROWS_TO_READ, BYTES_TO_READ // read(X, np.zeros(1, dtype=int)).nbytes))
    for start in range(0, n, size):
        yield read(X, np.arange(start, min(start + size, n))).to(device)


def shuffled(n: int, batch_size: int, rng: np.random.RandomState) -> Iterator[IntArray]:
    """Rows of each batch of an epoch; a last one of less than half the size is left out."""
    order = rng.permutation(n)
    for start in range(0, n, batch_size):
        rows = order[start : start + batch_size]
        if start == 0 or 2 * len(rows) >= batch_size:
            yield rows


def batches_in(n: int, batch_size: int) -> int:
    """Number of batches of an epoch.

    Examples
    --------
    >>> batches_in(300, 128), batches_in(330, 128), batches_in(50, 128)
    (2, 3, 1)
    """
    whole, rest = divmod(n, batch_size)
    return max(1, whole + (2 * rest >= batch_size))


def moments(X: Any) -> tuple[Tensor, Tensor]:
    """Mean and spread of each column, or channel of images, in one pass."""
    scaler = StandardScaler()
    with naming_the_boosted_index():
        for block in in_order(X, torch.device("cpu")):
            scaler.partial_fit(block.movedim(1, -1).flatten(0, -2).double().numpy())
    return torch.tensor(scaler.mean_).float(), torch.tensor(scaler.scale_).float()


def outputs_of(network: torch.nn.Module, X: Any, device: torch.device) -> FloatArray:
    """Outputs of a network for all rows, as an array of doubles; its modes stay as they were."""
    with _MODES:
        training = [part for part in network.modules() if part.training]
        if training:
            network.eval()
            try:
                return _outputs(network, X, device)
            finally:
                for part in training:
                    part.training = True
    return _outputs(network, X, device)


def _outputs(network: torch.nn.Module, X: Any, device: torch.device) -> FloatArray:
    dtype = next((p.dtype for p in network.parameters()), torch.float32)
    with torch.no_grad():
        blocks = [network(block.to(dtype)).cpu().double() for block in in_order(X, device)]
    return torch.cat(blocks).numpy()
