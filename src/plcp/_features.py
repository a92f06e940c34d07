"""What a threshold rule reads of X: some columns, a function of X, or X with the prediction."""

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import hstack, issparse
from sklearn.utils import _safe_indexing

from plcp._options import is_whole, shortened, shown
from plcp._rows import count, is_dataset, is_frame, is_module
from plcp.quantiles import FloatArray

Features = Callable[[Any], Any] | list[Any] | str | int | None

SINGLE = (1e-30, 1e30)  # sizes of predictions that single precision holds


def select_features(features: Any, X: Any) -> Any:
    """Return what the threshold rule reads of X: some columns, or a function of it."""
    if features is None:
        return X
    if is_module(features):
        from plcp.partitions.torch import embed

        return embed(features, X)
    if callable(features):
        return _one_row_each(features(X), X)
    columns = _listed_columns(features)
    if not is_table(X):
        raise ValueError(
            f"features names the columns {shown(columns)}, but X has none: give a function of X"
        )
    named = [name for name in columns if isinstance(name, str)]
    if named and not is_frame(X):
        raise ValueError(
            f"features names {named}, but X is an array without names: give positions, such as [0]"
        )
    if is_frame(X):
        names = list(X.columns)
        missing = [name for name in named if name not in names]
        if missing:
            raise ValueError(f"features names {missing}, but X has only {shortened(names)}")
    width = np.shape(X)[1]
    beyond = [i for i in columns if isinstance(i, Integral) and not -width <= i < width]
    if beyond:
        raise ValueError(f"features has the positions {beyond}, but X has only {width} columns")
    return _safe_indexing(X, columns, axis=1)


def _listed_columns(features: Any) -> list[Any]:
    """Return the columns, each a name or a position."""
    if isinstance(features, set | frozenset):
        raise TypeError(f"features must be ordered, got the set {features}: give a list of columns")
    is_list = isinstance(features, Iterable) and not isinstance(features, str | bytes)
    columns = list(features) if is_list else [features]
    if len(columns) == 0:
        raise ValueError("features names no column, got []: name one, or give None for all of X")
    kinds = {isinstance(each, str) for each in columns}
    is_known = all(isinstance(each, str) or is_whole(each) for each in columns)
    if not is_known or len(kinds) > 1:
        raise TypeError(
            "features must be a column, a list of names or of positions, or a function of X, got "
            f"{shown(features)}"
        )
    return columns


def _one_row_each(rows: Any, X: Any) -> Any:
    """Return what a function gave, which must be a table or more, with a row for each row of X."""
    shape = getattr(rows, "shape", None)
    if shape is not None and len(shape) < 2:
        raise ValueError(
            f"features is a function that gave an array of shape {tuple(shape)}, which has no "
            "columns: let it give a table, as by .reshape(-1, 1) or X[[name]]"
        )
    n, found = count(X), count(rows) if shape is not None or hasattr(rows, "__len__") else None
    if found != n:
        got = shown(rows) if found is None else f"{found} rows"
        raise ValueError(
            f"features is a function that must give one row for each of {n} rows of X, got {got}"
        )
    return rows


def is_table(X: Any) -> bool:
    """Whether X has rows and columns, at hand."""
    if isinstance(X, list | tuple):
        return np.ndim(X[0]) == 1  # rows of unequal length are refused later
    return not is_dataset(X) and len(X.shape) == 2


def with_prediction(X: Any, columns: FloatArray) -> Any:
    """Return a table with columns of predictions behind its own.

    These are rounded to single precision: a model may give a row alone other last bits than among
    others, and a tree may cut at the prediction of a row.

    Examples
    --------
    >>> with_prediction(np.array([[1.0], [2.0]]), np.array([[0.5], [0.25]]))
    array([[1.  , 0.5 ],
           [2.  , 0.25]])
    """
    columns = columns.copy()
    holds = (np.abs(columns) > SINGLE[0]) & (np.abs(columns) < SINGLE[1])
    columns[holds] = columns[holds].astype(np.float32)
    if is_frame(X):
        return _frame_with(X, columns)
    if issparse(X):
        return hstack([X, columns], format="csr")
    X = np.asarray(X)
    return np.column_stack([X.astype(object) if X.dtype.kind in "US" else X, columns])


def _frame_with(X: Any, columns: FloatArray) -> Any:
    names, new = list(X.columns), columns.shape[1]
    added: list[Any]
    if all(isinstance(name, str) for name in names):
        base = "prediction"
        while any(name.startswith(base) for name in names):
            base += "_"
        added = [base] if new == 1 else [f"{base} {i}" for i in range(1, new + 1)]
    else:
        least = 1 + max((int(name) for name in names if isinstance(name, Integral)), default=-1)
        added = [*range(least, least + new)]
    if hasattr(X, "with_columns"):
        return X.with_columns(**dict(zip(added, columns.T, strict=True)))
    wider = X.copy(deep=False)
    for name, column in zip(added, columns.T, strict=True):
        wider[name] = column
    return wider
