"""A function of rows on every block of a collection, when somebody asks for the result."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dask.array import Array
from dask.array import blockwise as array_blockwise

from plcp.dask.cluster import call_of
from plcp.dask.collections import is_lazy, whole_rows
from plcp.rows import count


def blockwise(
    function: Callable[..., Any],
    X: Any,
    *args: Any,
    dtype: Any = float,
    name: str = "threshold",
    columns: Sequence[Any] | None = None,
) -> Any:
    """Return ``function(block of X, *args)``: one value a row, or one for each of ``columns``.

    Lazy: an array for an array of Dask, a series called ``name`` (or a frame with ``columns``) for
    a frame of Dask, with its index. What is not of Dask is computed at once. The function is not
    called for blocks without rows. It and ``args`` are in the graph once, however large.
    """
    shape = () if columns is None else (len(columns),)
    if not is_lazy(X):
        return _values((function, args), shape, dtype, X)
    call = call_of(function, args, pure=True)
    if isinstance(X, Array):
        return _on_array(call, whole_rows(X), shape, dtype)
    return X.map_partitions(
        _on_frame, call, name, columns, dtype, meta=_framed(X._meta, [], name, columns, dtype)
    )


def _on_array(call: Any, X: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    axes = tuple(range(X.ndim))
    new = {X.ndim: shape[0]} if shape else {}
    return array_blockwise(
        _of_one_part,
        (0, *new),
        *(call, None, shape, None, dtype, None, X, axes),
        new_axes=new,
        dtype=dtype,
        meta=np.empty((0, *shape), dtype=dtype),
        token="rows",
    )


def _of_one_part(call: Any, shape: tuple[int, ...], dtype: Any, X: Any) -> Any:
    while isinstance(X, list):  # Dask nests a part once for each axis that is gone
        (X,) = X
    return _values(call, shape, dtype, X)


def _on_frame(X: Any, call: Any, name: str, columns: Any, dtype: Any) -> Any:
    shape = () if columns is None else (len(columns),)
    return _framed(X, _values(call, shape, dtype, X), name, columns, dtype)


def _framed(X: Any, values: Any, name: str, columns: Any, dtype: Any) -> Any:
    """Values with the index of X."""
    from pandas import DataFrame, Series

    if columns is None:
        return Series(values, index=X.index, name=name, dtype=dtype)
    return DataFrame(values, index=X.index, columns=list(columns), dtype=dtype)


def _values(call: Any, shape: tuple[int, ...], dtype: Any, X: Any) -> Any:
    function, args = call
    if count(X) == 0:
        return np.empty((0, *shape), dtype=dtype)
    return np.asarray(function(X, *args), dtype=dtype)
