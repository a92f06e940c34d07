"""Rows of any X: tables, images, data sets; what their columns hold, and a hash of each row.

PyTorch and PyArrow are not imported here: their objects exist only once they have been imported.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from plcp.quantiles import IntArray

HALF = ("float16", "bfloat16")  # numpy has the second from ml_dtypes, as JAX gives it


def frame_package(name: str) -> Any:
    """Import pandas or polars, which an extra brings.

    Examples
    --------
    >>> frame_package("pandas").__name__
    'pandas'
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"a data frame needs {name}: pip install 'plcp[frames]'") from error


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame whose columns keep their own types."""
    return hasattr(X, "columns") and hasattr(X, "shape")


def is_dataset(X: Any) -> bool:
    """Whether X is a ``torch.utils.data.Dataset`` or a loader of one."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    return isinstance(X, (torch.utils.data.Dataset, torch.utils.data.DataLoader))


def is_module(value: Any) -> bool:
    """Whether this is a ``torch.nn.Module``."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def is_tensor(X: Any) -> bool:
    """Whether X is a tensor of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_on_dask(X: Any) -> bool:
    """Whether X is a Dask collection, which numpy would compute whole."""
    return callable(getattr(X, "__dask_graph__", None))


def is_stream(X: Any) -> bool:
    """Whether a data set yields its rows only in its own order."""
    data = sys.modules["torch"].utils.data
    return isinstance(X, (data.IterableDataset, data.DataLoader))


def to_plain_array(X: Any) -> Any:
    """Return X as an ordinary array or tensor: single or double precision, on the CPU, no graph.

    A masked array loses its mask, and is refused if it hides a value. A table of Arrow becomes a
    pandas frame. A query of polars is refused: it has no rows yet. Anything else is returned
    unchanged.
    """
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.LazyFrame):
        raise TypeError("a polars LazyFrame is a query, which has no rows yet: give its .collect()")
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(X, arrow.Table | arrow.RecordBatch):
        return X.to_pandas()
    if isinstance(X, np.ma.MaskedArray):
        hidden = np.argwhere(np.ma.getmaskarray(X))
        if len(hidden):
            raise ValueError(
                f"a masked array hides {len(hidden)} values, the first of them in row "
                f"{hidden[0, 0]}, and they would count as if they were there: give "
                ".filled(np.nan), or drop their rows"
            )
        X = X.data
    if isinstance(X, np.ndarray):
        if X.dtype == np.longdouble:  # a model would round otherwise than in fit
            return X.astype(float, copy=False)
        if X.dtype.name not in HALF:
            return X
        return X.astype(float if X.ndim <= 2 and X.dtype == np.float16 else np.float32)
    if not is_tensor(X):
        return X
    X = X.detach().cpu()
    return X.float() if X.dtype == sys.modules["torch"].bfloat16 else X


def count(X: Any) -> int:
    """Return the number of rows."""
    return int(_num_samples(X))


def row_labels(X: Any) -> Any:
    """Index of a pandas frame or column, or of sets; None where rows are known by their place.

    Examples
    --------
    >>> import pandas as pd
    >>> row_labels(pd.Series([1.0, 2.0], index=["a", "b"])).tolist(), row_labels([1.0, 2.0])
    (['a', 'b'], None)
    """
    index = getattr(X, "index", None)  # of a list, a method
    return index if hasattr(index, "equals") and not is_on_dask(X) else None


def batches(n: int, size: int) -> list[slice]:
    """Slices of at most ``size`` rows, of n: scikit-learn's take as long as a few rows do.

    Examples
    --------
    >>> batches(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def take(X: Any, rows: ArrayLike) -> Any:
    """Return some rows; those of a data set are not read.

    Examples
    --------
    >>> take(np.array([[1, 2], [3, 4], [5, 6]]), [2, 0])
    array([[5, 6],
           [1, 2]])
    """
    if is_dataset(X):
        return sys.modules["torch"].utils.data.Subset(X, np.asarray(rows).tolist())
    return _safe_indexing(X, rows)


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is None, NaN, NaT or a library's own NA.

    Examples
    --------
    >>> is_missing(np.array(["a", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if values.dtype.kind != "O":
        return np.asarray(values != values)
    return np.fromiter((is_gap(value) for value in values), dtype=bool, count=len(values))


def is_gap(value: Any) -> bool:
    """Whether one value is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | Decimal | np.generic) and bool(value != value)


Bits = NDArray[np.uint64]

NUMBERS, DATES, DURATIONS, TEXT = "numbers", "dates", "durations", "categories"
KINDS = {**dict.fromkeys("biuf", NUMBERS), "M": DATES, "m": DURATIONS}
# pandas gives nullable booleans, decimals and dates of a time zone as objects
OBJECTS = {NUMBERS: (Real, np.bool_, Decimal), DATES: (date,), DURATIONS: (timedelta,)}


def column_kind(column: Any) -> str | None:
    """Return what a column holds: numbers, dates, durations or categories; None if all is missing.

    Booleans count as numbers (`is_boolean`). Objects that are not all of one kind are categories.

    Examples
    --------
    >>> import pandas as pd
    >>> column_kind(pd.Series([1, 2])), column_kind(pd.Series(["a", None], dtype=object))
    ('numbers', 'categories')
    >>> column_kind(pd.Series([1, "b"])), column_kind(pd.to_datetime(pd.Series(["2026-01-31"])))
    ('categories', 'dates')
    """
    if getattr(column.dtype, "tz", None) is not None:
        return DATES
    values = np.asarray(column)
    missing = is_missing(values)
    if missing.all():
        return None
    if str(column.dtype).lower().startswith(("categor", "enum")):
        return TEXT
    if values.dtype.kind != "O":
        return KINDS.get(values.dtype.kind, TEXT)
    types = set(map(type, values[~missing]))
    for kind, bases in OBJECTS.items():
        if all(issubclass(found, bases) for found in types):
            return kind
    return TEXT


def is_boolean(column: Any) -> bool:
    """Whether a column holds booleans: of numpy, of a library's own type, or as objects."""
    if str(column.dtype).lower().startswith("bool"):
        return True
    values = np.asarray(column)
    present = values[~is_missing(values)] if values.dtype.kind == "O" else values[:0]
    return len(present) > 0 and all(isinstance(value, bool | np.bool_) for value in present)


MISSING = np.float64(np.nan).view(np.uint64)
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def by_value(column: Any) -> NDArray[Any]:
    """Return a column as numbers, or as bits (of type uint64) where it holds anything else.

    Examples
    --------
    >>> by_value(np.array([1, 2], dtype="uint64")), by_value(np.array([None]))[0] == MISSING
    (array([1., 2.]), np.True_)
    """
    numbers = same_text(column)
    if numbers is not None:
        rows, places = one_row_each(numbers)
        distinct = bits_of(by_value(np.asarray(take(column, rows))))
        return np.append(distinct, MISSING)[places]
    if hasattr(column, "factorize"):
        column = _in_numpy_type(column)
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        return _bits_of_moments(values)
    if values.dtype.kind in "biuf":  # unsigned ones are bits to any reader
        return values.astype(float) if values.dtype == np.uint64 else values
    return _bits_of_objects(values.astype(object))


def _in_numpy_type(column: Any) -> Any:
    """Return a pandas column in a numpy type, where numpy would make one object per row."""
    from pandas.api.types import is_numeric_dtype

    if getattr(column.dtype, "tz", None) is not None:
        return column.dt.tz_convert(None)
    if is_numeric_dtype(column.dtype) and not isinstance(column.dtype, np.dtype):
        return column.to_numpy(dtype=float, na_value=np.nan)
    return column


def bits_of(values: NDArray[Any]) -> Bits:
    """Bits of numbers as floating-point ones; -0.0 is 0.0, and every NaN is missing."""
    if values.dtype == np.uint64:
        return values
    floats = values.astype(float) + 0.0
    floats[np.isnan(floats)] = np.nan
    return floats.view(np.uint64)


def _bits_of_moments(values: NDArray[Any]) -> Bits:
    """Nanoseconds of dates or durations; overflow wraps around, equally in every unit."""
    unit, step = np.datetime_data(values.dtype)
    if unit not in NANOSECONDS or step != 1:
        values, unit = values.astype(f"{values.dtype.kind}8[s]"), "s"
    counted = values.view(np.int64) * np.int64(NANOSECONDS[unit])
    return np.where(np.isnat(values), MISSING, counted.view(np.uint64))


def _bits_of_objects(values: NDArray[Any]) -> Bits:
    """Bits of each object: of its number, date, duration, or text."""
    bits = np.full(len(values), MISSING)
    left = ~is_missing(values)
    for kind, types in OBJECTS.items():
        own = left & np.fromiter((isinstance(value, types) for value in values), bool, len(values))
        if kind == NUMBERS:
            bits[own] = bits_of(values[own].astype(float))
        else:
            counts = [_nanoseconds(value) % 2**64 for value in values[own]]
            bits[own] = np.array(counts, dtype=np.uint64)
        left &= ~own
    texts = (str(value).encode("utf-8", "surrogatepass") for value in values[left].tolist())
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    bits[left] = np.frombuffer(digests, dtype="<u8")
    return bits


def _nanoseconds(value: Any) -> int:
    """Nanoseconds of a duration, or of a date since 1970; without a time zone it is UTC."""
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH
    seconds = value.days * 86400 + value.seconds
    return (seconds * 10**6 + value.microseconds) * 1000 + getattr(value, "nanoseconds", 0)


def same_text(column: Any) -> IntArray | None:
    """Return a number for each row, the same for the same text and -1 where it is missing.

    None for a column of anything else than text or categories: 1, 1.0 and True are equal, but not
    the same.

    Examples
    --------
    >>> import pandas as pd
    >>> same_text(pd.Series(["b", None, "a", "b"]))
    array([ 0, -1,  1,  0])
    """
    if hasattr(column, "to_physical"):
        from polars import Categorical, Enum, Int64, String

        if column.dtype == String:
            column = column.cast(Enum(column.drop_nulls().unique()))
        if column.dtype not in (Categorical, Enum):
            return None
        return np.asarray(column.to_physical().cast(Int64).fill_null(-1), dtype=np.intp)
    if not hasattr(column, "factorize"):
        return None
    kind = str(column.dtype)
    if kind == "category":
        return np.asarray(column.cat.codes, dtype=np.intp)
    if kind == "object":
        from pandas.api.types import infer_dtype

        kind = infer_dtype(column, skipna=True)
    is_text = kind.startswith(("str", "large_string"))
    return np.asarray(column.factorize()[0], dtype=np.intp) if is_text else None


def one_row_each(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return a row for each number that occurs, and the place of every row's number among them.

    Rows without a number (-1) are at the place after the last.

    Examples
    --------
    >>> one_row_each(np.array([5, -1, 2, 5]))
    (array([2, 3]), array([1, 2, 0, 1]))
    """
    found = np.full(numbers.max(initial=-1) + 2, -1)
    found[numbers] = np.arange(len(numbers))
    found[-1] = -1  # where those without a number fell
    occurs = found >= 0
    places = np.where(occurs, np.cumsum(occurs) - 1, occurs.sum())
    return found[occurs], places[numbers]


Hashes = NDArray[np.uint64]

ROWS = 8192  # at a time: they stay in the cache
VALUES = 2**16  # that are hashed at a time: they stay in the cache
GOLDEN = 0x9E3779B97F4A7C15
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def hash_rows(X: Any, scores: ArrayLike, seed: int = 0) -> Hashes:
    """Hash of each row of X and its score, by their values as in `hash_content`.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.out_of_core import hash_rows
    >>> a, b, c = hash_rows(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]), [0.5, 0.5, 0.5])
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    columns = [X[name] for name in X.columns] if is_frame(X) else np.asarray(X).T
    values = [by_value(column) for column in columns]
    scores = np.asarray(scores, dtype=float)
    hashes = np.full(len(scores), mixed(np.uint64(seed % 2**64)), dtype=np.uint64)
    for start in range(0, len(scores), ROWS):
        rows = slice(start, start + ROWS)
        for column in [*values, scores]:
            hashes[rows] = mixed(hashes[rows] ^ bits_of(column[rows]))
    return hashes


def mixed(numbers: Any) -> Any:
    """Numbers scattered over all 64 bits, different ones to different places (splitmix64)."""
    with np.errstate(over="ignore"):
        numbers = numbers + np.uint64(GOLDEN)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * FIRST
        numbers = (numbers ^ (numbers >> np.uint64(27))) * SECOND
        return numbers ^ (numbers >> np.uint64(31))


def hash_content(X: Any, seed: int = 0) -> Hashes:
    """Hash of each row of X, which depends on its values alone, not on their types or place.

    X is a frame, an array of any dimension, a sparse matrix, a tensor, a data set of PyTorch or a
    list. 1, 1.0, True and Decimal(1) are the same value, and so are 0.0 and -0.0, a date in any
    unit, a text in any layout, and all that is missing. Numbers are compared as doubles: whole
    numbers beyond 2^53 that are next to each other may be the same.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.out_of_core import hash_content
    >>> a, b = hash_content(np.array([[1.0, 0.0], [1.0, 2.0]]))
    >>> bool(a == hash_content([[1, -0.0]])[0]), bool(a == b)
    (True, False)
    """
    X = to_plain_array(X)
    if issparse(X):
        return _of_sparse(X.tocsr(), seed)
    n = count(X)
    hashes = np.empty(n, dtype=np.uint64)
    for rows, bits in _blocks(X, n):
        with np.errstate(over="ignore"):
            sums = mixed(bits ^ _keys(bits.shape[1], seed)).sum(axis=1, dtype=np.uint64)
        hashes[rows] = mixed(sums)
    return hashes


def _blocks(X: Any, n: int) -> Iterator[tuple[slice, Hashes]]:
    """Bits of some rows at a time, one column per value."""
    if is_dataset(X):
        for row in range(n):
            item = X[row]
            values = to_plain_array(item[0] if isinstance(item, tuple | list) else item)
            yield slice(row, row + 1), bits_of(np.asarray(values, dtype=float).reshape(1, -1))
        return
    columns: list[NDArray[Any]] = []
    table = np.empty((n, 0))
    if is_frame(X):
        columns = [by_value(X[name]) for name in X.columns]
    else:
        table = np.asarray(X)
        table = table.reshape(n, -1) if n else table.reshape(0, 1)
        if table.dtype.kind not in "biuf":
            columns = [by_value(column) for column in table.T]
    size = max(1, VALUES // max(1, len(columns) or table.shape[1]))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        if columns:
            yield rows, np.column_stack([bits_of(column[rows]) for column in columns])
        else:
            yield rows, bits_of(table[rows].astype(float))


def _of_sparse(X: Any, seed: int) -> Hashes:
    """Hash of each row as if it were dense, at the price of the values that are stored."""
    X.sum_duplicates()
    zero = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        empty = mixed(_keys(X.shape[1], seed))  # what each column adds where nothing is stored
        keys = _keys(X.shape[1], seed)[X.indices]
        added = mixed(bits_of(X.data.astype(float)) ^ keys) - empty[X.indices]
        ends = np.concatenate([zero, np.cumsum(added, dtype=np.uint64)])[X.indptr]
        hashes: Hashes = mixed(ends[1:] - ends[:-1] + empty.sum(dtype=np.uint64))
    return hashes


def _keys(n: int, seed: int) -> Hashes:
    """A number for each column, so that values count by where they stand."""
    with np.errstate(over="ignore"):
        places = np.arange(n, dtype=np.uint64) * np.uint64(GOLDEN)
        keys: Hashes = mixed(mixed(np.uint64(seed % 2**64)) + places)
    return keys


def earlier_copies(hashes: Hashes) -> IntArray:
    """Return how many rows with the same hash stand before each.

    Examples
    --------
    >>> earlier_copies(np.array([7, 3, 7, 7], dtype=np.uint64))
    array([0, 0, 1, 2])
    """
    order = np.argsort(hashes, kind="stable")
    in_order = hashes[order]
    starts = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1]))
    copies = np.empty(len(hashes), dtype=np.int64)
    copies[order] = np.arange(len(hashes)) - np.repeat(
        starts, np.diff(np.append(starts, len(hashes)))
    )
    return copies
