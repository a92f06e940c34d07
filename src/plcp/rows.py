"""Rows of whatever X is: a table, images, or a data set that is never whole in memory."""

import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame whose columns keep their own types."""
    return hasattr(X, "columns") and hasattr(X, "shape")


def is_dataset(X: Any) -> bool:
    """Whether X is a ``torch.utils.data.Dataset``; whoever has one has imported torch already."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    return isinstance(X, (torch.utils.data.Dataset, torch.utils.data.DataLoader))


def is_on_dask(X: Any) -> bool:
    """Whether X is a collection of Dask, which as an array would be computed whole."""
    return callable(getattr(X, "__dask_graph__", None))


def is_stream(X: Any) -> bool:
    """Whether rows of a data set come only in the order of its own."""
    data = sys.modules["torch"].utils.data
    return isinstance(X, (data.IterableDataset, data.DataLoader))


def plain(X: Any) -> Any:
    """Return an array or tensor free of half precision, device and graph; all else as it is.

    A masked array loses its mask, and is refused if that would bring a hidden value back.
    """
    if isinstance(X, np.ma.MaskedArray):
        X = _unmasked(X)
    if isinstance(X, np.ndarray):
        return X.astype(float if X.ndim <= 2 else np.float32) if X.dtype == np.float16 else X
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(X, torch.Tensor):
        return X
    X = X.detach().cpu()
    return X.float() if X.dtype == torch.bfloat16 else X


def _unmasked(X: Any) -> Any:
    hidden = np.argwhere(np.ma.getmaskarray(X))
    if len(hidden):
        raise ValueError(
            f"a masked array hides {len(hidden)} values, the first of them in row {hidden[0, 0]}, "
            "and they would count as if they were there: give .filled(np.nan), or drop their rows"
        )
    return X.data


def is_module(value: Any) -> bool:
    """Whether this is a ``torch.nn.Module``."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def count(X: Any) -> int:
    """Return the number of rows."""
    return int(_num_samples(X))


def take(X: Any, rows: ArrayLike) -> Any:
    """Return some rows; those of a data set stay where they are until they are asked for.

    Examples
    --------
    >>> take(np.array([[1, 2], [3, 4], [5, 6]]), [2, 0])
    array([[5, 6],
           [1, 2]])
    """
    if is_dataset(X):
        return sys.modules["torch"].utils.data.Subset(X, np.asarray(rows).tolist())
    return _safe_indexing(X, rows)
