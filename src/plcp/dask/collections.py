"""Dask arrays and data frames as blocks of rows, checked part by part."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from dask.array import Array, from_array
from dask.base import is_dask_collection, optimize
from dask.delayed import Delayed, delayed
from sklearn.utils.validation import validate_data

from plcp.blocks.passes import Block
from plcp.dask.cluster import Spread, layer, naming_the_part
from plcp.rows import count, is_frame, plain
from plcp.validation import check_lengths, check_scores

Check = Callable[[Any, Any], Any]


def pairs_of(
    X: Any, y: Any, client: Any = None, check: Check | None = None, **others: Any
) -> Spread:
    """Blocks (X, y, *others) of a collection of rows and of one or more values a row.

    Blocks are numpy arrays, or pandas frames where X is a frame of Dask. Each part is checked by
    the task that makes it: it must have the columns that the collection promises, and as many rows
    in X as in all others. ``check(X, y)`` may give back a better y, or refuse it; errors name the
    part. Without Dask, all rows are one part.
    """
    columns = list(promised(X).columns) if is_frame(promised(X)) else None
    width = None if columns is not None else np.shape(promised(X))[1:]
    named = {"y": y, **others}
    aligned = [whole_rows(X), *(_aligned(name, value, X) for name, value in named.items())]
    parts = _parts(aligned)
    n = len(parts[0])
    for name, found in zip(named, parts[1:], strict=True):
        if len(found) != n:
            raise ValueError(
                f"X has {n} parts, but {name} has {len(found)}, and their lengths are not known: "
                "cut both alike, or give arrays after compute_chunk_sizes()"
            )
    common = delayed(_Part, pure=False)(n, columns, width, check)
    calls = [
        (_checked, [common, number, *part]) for number, part in enumerate(zip(*parts, strict=True))
    ]
    return Spread(layer("pairs", calls), client)


def check_parts(X: Any, y: Any) -> Any:
    """Scores of a part as a finite float vector; a part without rows has none."""
    return check_scores(y) if count(y) else np.empty(0)


def is_lazy(X: Any) -> bool:
    """Whether X is a collection of Dask, with its rows elsewhere."""
    return bool(is_dask_collection(X))


def promised(X: Any) -> Any:
    """No rows, but the columns that X says it has."""
    if isinstance(X, Array):
        return np.empty((0, *X.shape[1:]), dtype=X.dtype)
    return X._meta if is_lazy(X) else X[:0]


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Record (fit) or compare (predict) names and number of columns, before any row is made."""
    validate_data(estimator, promised(X), reset=reset, skip_check_array=True)


def whole_rows(X: Any) -> Any:
    """X with all columns of a row in the same part."""
    if isinstance(X, Array) and X.ndim > 1 and math.prod(X.numblocks[1:]) > 1:
        return X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    return X


class _Part:
    """What every part is to be."""

    def __init__(self, n: int, columns: Any, width: Any, check: Check | None) -> None:
        self.n, self.columns, self.width, self.check = n, columns, width, check


def _checked(common: _Part, number: int, X: Any, *values: Any) -> Block:
    """One block, as it was promised."""
    with naming_the_part(number, common.n):
        X = _with_columns(X, common.columns, common.width)
        arrays = [value if is_frame(value) else np.asarray(value) for value in values]
        for array in arrays:
            check_lengths(X, array)
        if common.check is not None:
            arrays[0] = common.check(X, arrays[0])
        return X, *arrays


def _with_columns(X: Any, columns: Any, width: Any) -> Any:
    if columns is None:
        X = plain(X)
        if np.shape(X)[1:] != width:
            raise ValueError(f"rows of X have shape {np.shape(X)[1:]} here, and {width} elsewhere")
        return X
    missing = [name for name in columns if name not in X.columns]
    if missing:
        raise ValueError(
            f"X has no column {missing[0]!r} here, only {list(X.columns)}: add it, or leave it out "
            "of all parts"
        )
    return X if list(X.columns) == columns else X[columns]


def _aligned(name: str, values: Any, X: Any) -> Any:
    """Values cut where X is cut, as far as it is known where that is."""
    known = isinstance(X, Array) and not any(map(math.isnan, X.chunks[0]))
    if not is_lazy(values):
        if not is_lazy(X):
            return values
        if not known:
            raise ValueError(
                f"{name} is in memory, but X is a Dask collection with parts of unknown length: "
                f"give {name} as a Dask array or series cut like X"
            )
        values = from_array(np.asarray(values), chunks=-1)
    if not is_lazy(X):
        raise ValueError(f"{name} is a Dask collection, but X is not: give both alike")
    values = whole_rows(values)
    if known and isinstance(values, Array) and not any(map(math.isnan, values.chunks[0])):
        if values.shape[0] != X.shape[0]:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[X.shape[0], values.shape[0]]}"
            )
        return values.rechunk({0: X.chunks[0]})
    return values


def _parts(collections: list[Any]) -> list[list[Delayed]]:
    """Parts of each, as Delayed; what arrays have in common is computed once."""
    arrays = iter(optimize(*(c for c in collections if isinstance(c, Array)), traverse=False))
    return [_parts_of(next(arrays) if isinstance(c, Array) else c) for c in collections]


def _parts_of(collection: Any) -> list[Delayed]:
    if isinstance(collection, Array):
        return np.ravel(collection.to_delayed(optimize_graph=False)).tolist()
    return collection.to_delayed() if is_lazy(collection) else [delayed(collection, traverse=False)]
