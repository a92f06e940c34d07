"""A function of rows on every block of a collection, when somebody asks for the result."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dask.array import Array
from dask.array import blockwise as array_blockwise

from plcp.dask.cluster import call_of
from plcp.dask.collections import aligned, check_same_index, is_lazy, whole_rows
from plcp.rows import count


def blockwise(
    function: Callable[..., Any],
    X: Any,
    *args: Any,
    dtype: Any = float,
    name: str = "threshold",
    columns: Sequence[Any] | None = None,
    beside: Any = None,
) -> Any:
    """Return ``function(block of X, *args)``: one value a row, or one for each of ``columns``.

    Lazy: an array for an array of Dask, a series called ``name`` (or a frame with ``columns``) for
    a frame of Dask, with its index. What is not of Dask is computed at once. The function is not
    called for blocks without rows. It and ``args`` are in the graph once, however large. With a
    collection ``beside`` X, it is given a block of that after X's.
    """
    shape = () if columns is None else (len(columns),)
    if not is_lazy(X):
        return _values((function, args), shape, dtype, X, *_if_given(beside))
    call = call_of(function, args, pure=True)
    X = whole_rows(X)
    others = [_alike(aligned("the other collection", v, X), X) for v in _if_given(beside)]
    if isinstance(X, Array):
        return _on_array(call, shape, dtype, X, *others)
    meta = _framed(X._meta, [], name, columns, dtype)
    has_index = not isinstance(beside, Array)
    return X.map_partitions(_on_frame, *others, call, name, columns, dtype, has_index, meta=meta)


def _if_given(beside: Any) -> list[Any]:
    return [] if beside is None else [beside]


def _alike(values: Any, X: Any) -> Any:
    """Values as an array or a frame, as X is."""
    if isinstance(X, Array):
        return values if isinstance(values, Array) else values.to_dask_array()
    return values.to_dask_dataframe() if isinstance(values, Array) else values


def _on_array(call: Any, shape: tuple[int, ...], dtype: Any, *arrays: Array) -> Array:
    new = {1: shape[0]} if shape else {}
    gone = itertools.count(2)  # names of all axes but that of the rows
    axes = [(0, *itertools.islice(gone, array.ndim - 1)) for array in arrays]
    return array_blockwise(
        _of_one_part,
        (0, *new),
        *(call, None, shape, None, dtype, None),
        *(item for pair in zip(arrays, axes, strict=True) for item in pair),
        new_axes=new,
        align_arrays=False,
        dtype=dtype,
        meta=np.empty((0, *shape), dtype=dtype),
        token="rows",
    )


def _of_one_part(call: Any, shape: tuple[int, ...], dtype: Any, *parts: Any) -> Any:
    return _values(call, shape, dtype, *map(_unwrapped, parts))


def _unwrapped(part: Any) -> Any:
    """Array that Dask has put into a list once for each axis that is gone."""
    while isinstance(part, list):
        (part,) = part
    return part


def _on_frame(X: Any, *rest: Any) -> Any:
    *beside, call, name, columns, dtype, has_index = rest
    for values in beside if has_index else ():
        check_same_index("the other collection", values, X)
    shape = () if columns is None else (len(columns),)
    return _framed(X, _values(call, shape, dtype, X, *beside), name, columns, dtype)


def _framed(X: Any, values: Any, name: str, columns: Any, dtype: Any) -> Any:
    """Values with the index of X."""
    from pandas import DataFrame, Series

    if columns is None:
        return Series(values, index=X.index, name=name, dtype=dtype)
    return DataFrame(values, index=X.index, columns=list(columns), dtype=dtype)


def _values(call: Any, shape: tuple[int, ...], dtype: Any, X: Any, *beside: Any) -> Any:
    function, args = call
    if count(X) == 0:
        return np.empty((0, *shape), dtype=dtype)
    return np.asarray(function(X, *beside, *args), dtype=dtype)
