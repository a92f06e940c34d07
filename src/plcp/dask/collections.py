"""Dask collections as checked blocks of rows, and functions of rows as lazy collections."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import numpy as np
from dask.array import Array, blockwise as array_blockwise, from_array
from dask.base import collections_to_expr, is_dask_collection
from dask.core import flatten
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from plcp._rows import DATES, KINDS, NUMBERS, TEXT, count, is_frame, to_plain_array
from plcp._validation import check_lengths, check_names, check_scores, remember_columns
from plcp.dask.cluster import DaskBlocks, applied, call_of, layer
from plcp.out_of_core.passes import Block
from plcp.regressors.encoding import read_column


def check_readable(name: str, values: Any) -> None:
    """Raise for what cannot be one or more values per row: None, a Delayed or a scalar."""
    if values is None:
        raise ValueError(
            f"fit requires {name} to be passed, but {name} is None: give a Dask array or frame"
        )
    if isinstance(values, Delayed):
        raise TypeError(
            f"{name} is a Delayed, whose columns and parts are unknown: make a collection "
            "of it by dask.array.from_delayed or dask.dataframe.from_delayed"
        )
    if issparse(values):
        raise TypeError(
            f"{name} is a sparse matrix: give {name}.toarray(), and .ravel() of it for a vector"
        )
    if (values.ndim if hasattr(values, "ndim") else np.ndim(values)) == 0:
        raise ValueError(
            f"{name} is a scalar, but must hold one or more values per row: give an array or frame"
        )


def check_kinds(X: Any, like: Any) -> None:
    """Raise if a column of a part has another kind than in the meta, unless it is all missing.

    Concatenated with the others, numbers and text would silently become categories. A column of
    objects in the meta may be of any kind.
    """
    for name in like.columns:
        here, elsewhere = X[name].dtype, like[name].dtype
        if here == elsewhere or kind_of(elsewhere) is None:
            continue
        kind = read_column(X, name).kind
        if kind not in (None, kind_of(elsewhere)):
            raise ValueError(
                f"column {name!r} of X holds {kind} ({here}) here and {kind_of(elsewhere)} "
                f"({elsewhere}) elsewhere: write it in one type in all parts"
            )


def check_categories(X: Any, like: Any) -> None:
    """Raise if a part has other categories, which its worker would number differently."""
    for name in like.columns if is_frame(like) else ():
        # types with the same categories in another order are equal to pandas
        if _categories(X[name]) != _categories(like[name]):
            raise ValueError(
                f"column {name!r} of X has categories of its own in this part; a regressor that "
                f"is fitted in place needs the same in all: give X[{name!r}].cat.as_known(),"
                " or X.astype with one pandas.CategoricalDtype"
            )


def _categories(column: Any) -> list[Any] | None:
    return list(column.cat.categories) if str(column.dtype) == "category" else None


def kind_of(dtype: Any) -> str | None:
    """Kind of a pandas dtype; None for objects, which may be anything.

    Examples
    --------
    >>> import pandas as pd
    >>> [kind_of(pd.array(values).dtype) for values in ([True, None], ["a"], [pd.Timestamp(0)])]
    ['numbers', 'categories', 'dates']
    """
    from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

    if dtype == "object":
        return None
    if is_numeric_dtype(dtype):  # decimals of Arrow are objects to numpy
        return NUMBERS
    return DATES if is_datetime64_any_dtype(dtype) else KINDS.get(dtype.kind, TEXT)


Check = Callable[[Any, Any], Any]


def pairs_of(
    X: Any, y: Any, client: Any = None, check: Check | None = None, **others: Any
) -> DaskBlocks:
    """Blocks (X, y, *others) of a collection of rows and of one or more values per row.

    Blocks are numpy arrays, or pandas frames if X is a Dask frame. Each part is checked by the
    task that computes it: it must have the columns of the collection's meta, of the same kinds,
    and as many rows in X as in all others, with the same index where both have one.
    ``check(X, y)`` returns y, possibly converted, or raises; errors name the part. Without Dask,
    all rows are one part.
    """
    X, like = whole_rows(X), meta_of(X)
    others = {"y": y, **others}
    for name, values in others.items():
        check_readable(name, values)
    parts = _parts([X, *(aligned(name, values, X) for name, values in others.items())])
    n = len(parts[0])
    call = call_of(_checked, (like, list(others), check))
    numbered = enumerate(zip(*parts, strict=True))
    calls = [(_applied_to_part, [call, number, n, *part]) for number, part in numbered]
    return DaskBlocks(layer("pairs", calls), client)


def _applied_to_part(call: Any, number: int, n: int, *part: Any) -> Block:
    return applied(call, (part,), number, n)


def check_part_scores(X: Any, y: Any) -> Any:
    """Scores of a part as a finite float vector, which may be empty."""
    return check_scores(y) if count(y) else np.empty(0)


def meta_of(X: Any) -> Any:
    """Return an array or frame without rows, but with the columns of X."""
    if isinstance(X, Array):
        return np.empty((0, *X.shape[1:]), dtype=X.dtype)
    if is_dask_collection(X):
        return X._meta
    return X[:0] if is_frame(X) else np.asarray(to_plain_array(X))[:0]


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Record (fit) or compare (predict) names and number of columns, before any row is computed."""
    check_readable("X", X)
    like = meta_of(X)
    if like.ndim < 2:
        raise ValueError(
            "X must have rows and columns, got one dimension: X[:, None] is an array of one "
            "column, X.to_frame() a frame"
        )
    if is_frame(like):
        check_names(like)
    validate_data(estimator, like, reset=reset, skip_check_array=True)
    if reset:
        remember_columns(estimator, like)
    known = getattr(estimator, "_column_texts", None)
    given = [str(name) for name in like.columns] if known and is_frame(like) else known
    if given != known:
        raise ValueError(f"X has the columns {given}, but had {known} in fit: give it those")


def whole_rows(X: Any) -> Any:
    """X with all columns of a row in the same part."""
    if isinstance(X, Array) and X.ndim > 1 and math.prod(X.numblocks[1:]) > 1:
        return X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    return X


def _checked(part: Block, like: Any, names: list[str], check: Check | None) -> Block:
    """One checked block."""
    X, *values = part
    X = _check_part_columns(X, like)
    arrays = [value if is_frame(value) else np.asarray(to_plain_array(value)) for value in values]
    for name, value, array in zip(names, values, arrays, strict=True):
        check_lengths(X, array)
        check_same_index(name, value, X)
    if check is not None:
        arrays[0] = check(X, arrays[0])
    return X, *arrays


def check_same_index(name: str, values: Any, X: Any) -> None:
    """Raise if values have another index than X: they may be in another order."""
    if hasattr(X, "iloc") and hasattr(values, "iloc") and not X.index.equals(values.index):
        raise ValueError(
            f"{name} has another index than X, so its rows may be others: give {name} from the "
            f"same frame as X; or, if the order is the same, {name}.to_dask_array(), or "
            "reset_index(drop=True) of both"
        )


def _check_part_columns(X: Any, like: Any) -> Any:
    if issparse(X):
        raise TypeError(
            "X is made of sparse matrices, but rows must be dense: give "
            "X.map_blocks(lambda block: block.toarray())"
        )
    if not is_frame(like):
        X, width = to_plain_array(X), like.shape[1:]
        if np.shape(X)[1:] != width:
            raise ValueError(f"rows of X have shape {np.shape(X)[1:]} here, and {width} elsewhere")
        return X
    columns = list(like.columns)
    missing = [name for name in columns if name not in X.columns]
    if missing:
        raise ValueError(
            f"X has no column {missing[0]!r} here, only {list(X.columns)}: add it, or leave it out "
            "of all parts"
        )
    check_kinds(X, like)
    return X if list(X.columns) == columns else X[columns]


def aligned(name: str, values: Any, X: Any) -> Any:
    """Values as a collection in the chunks of X, as far as these are known; X has whole rows."""
    if is_dask_collection(values) and not is_dask_collection(X):
        raise ValueError(
            f"{name} is a Dask collection, but X is not: give both as Dask collections"
        )
    if is_dask_collection(X) and not is_dask_collection(values):
        if not _is_known(X):
            raise ValueError(
                f"{name} is in memory, but X is a Dask collection with parts of unknown length: "
                f"give {name} as a Dask array or series with the parts of X"
            )
        values = from_array(np.asarray(values), chunks=-1)
    values = whole_rows(values)
    if _is_known(X) and _is_known(values):
        if len(values) != len(X):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[len(X), len(values)]}; give {name} with one value per row"
            )
        values = values.rechunk({0: X.chunks[0]})
    if is_dask_collection(X) and X.npartitions != values.npartitions:
        raise ValueError(
            f"X has {X.npartitions} parts, but {name} has {values.npartitions}, and their lengths "
            "are unknown: give both the same parts, or arrays after compute_chunk_sizes()"
        )
    return values


def _is_known(X: Any) -> bool:
    """Whether the number of rows of each part is known without computing."""
    return isinstance(X, Array) and not any(map(math.isnan, X.chunks[0]))


def _parts(collections: list[Any]) -> list[list[Delayed]]:
    """Parts of each, as Delayed; rows that several of them share are computed once."""
    parts: dict[int, list[Delayed]] = {
        place: [delayed(rows, traverse=False)]
        for place, rows in enumerate(collections)
        if not is_dask_collection(rows)
    }
    lazy = [place for place in range(len(collections)) if place not in parts]
    for kind in (True, False):  # arrays and frames apart: Dask cannot put both into one graph
        same = [place for place in lazy if isinstance(collections[place], Array) == kind]
        if same:
            expression = collections_to_expr([collections[place] for place in same]).optimize()
            name, tasks = f"rows-{uuid4().hex}", expression.__dask_graph__()
            graph = HighLevelGraph.from_collections(name, tasks, dependencies=())
            for place, keys in zip(same, expression.__dask_keys__(), strict=True):
                parts[place] = [Delayed(key, graph, layer=name) for key in flatten(keys)]
    return [parts[place] for place in range(len(collections))]


def blockwise(
    function: Callable[..., Any],
    X: Any,
    *args: Any,
    dtype: Any = float,
    name: str = "threshold",
    columns: Sequence[Any] | None = None,
    other: Any = None,
) -> Any:
    """Return ``function(block of X, *args)``: one value per row, or one for each of ``columns``.

    Lazy: an array for a Dask array, a series called ``name`` (or a frame with ``columns``) for a
    Dask frame, with its index. Other input is computed at once. The function is not called for
    blocks without rows. It and ``args`` are in the graph once, however large. A block of the
    collection ``other``, if given, follows that of X.
    """
    shape = () if columns is None else (len(columns),)
    others = [] if other is None else [other]
    if not is_dask_collection(X):
        return _values((function, args), shape, dtype, X, *others)
    call = call_of(function, args, pure=True)
    X = whole_rows(X)
    others = [aligned("the other collection", values, X) for values in others]
    if not isinstance(X, Array):
        others = [v.to_dask_dataframe() if isinstance(v, Array) else v for v in others]
        has_index, meta = not isinstance(other, Array), _framed(X._meta, [], name, columns, dtype)
        return X.map_partitions(
            _on_frame, *others, call, name, columns, dtype, has_index, meta=meta
        )
    arrays = [X, *(v if isinstance(v, Array) else v.to_dask_array() for v in others)]
    new = {1: shape[0]} if shape else {}
    contracted = itertools.count(2)  # names of all axes but that of the rows
    axes = [(0, *itertools.islice(contracted, array.ndim - 1)) for array in arrays]
    return array_blockwise(
        _on_arrays,
        (0, *new),
        *(call, None, shape, None, dtype, None),
        *(item for pair in zip(arrays, axes, strict=True) for item in pair),
        new_axes=new,
        align_arrays=False,
        dtype=dtype,
        meta=np.empty((0, *shape), dtype=dtype),
        token="rows",
    )


def _on_arrays(call: Any, shape: tuple[int, ...], dtype: Any, *parts: Any) -> Any:
    arrays = [*parts]
    for place, part in enumerate(parts):
        while isinstance(part, list):  # Dask puts an array into one for each contracted axis
            (part,) = part
        arrays[place] = part
    return _values(call, shape, dtype, *arrays)


def _on_frame(X: Any, *rest: Any) -> Any:
    *others, call, name, columns, dtype, has_index = rest
    for values in others if has_index else ():
        check_same_index("the other collection", values, X)
    shape = () if columns is None else (len(columns),)
    return _framed(X, _values(call, shape, dtype, X, *others), name, columns, dtype)


def _framed(X: Any, values: Any, name: str, columns: Any, dtype: Any) -> Any:
    """Values with the index of X."""
    from pandas import DataFrame, Series

    if columns is None:
        return Series(values, index=X.index, name=name, dtype=dtype)
    return DataFrame(values, index=X.index, columns=list(columns), dtype=dtype)


def _values(call: Any, shape: tuple[int, ...], dtype: Any, X: Any, *others: Any) -> Any:
    function, args = call
    if count(X) == 0:
        return np.empty((0, *shape), dtype=dtype)
    return np.asarray(function(X, *others, *args), dtype=dtype)
