"""DataFrames with categories, strings, dates and gaps as numbers a default index can learn from."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin

from plcp.estimator import Estimator
from plcp.indices.repeated import one_row_each, same_text
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import is_frame, take
from plcp.validation import is_gap, is_missing

MAX_CATEGORIES = 254  # the histogram trees tell apart 255 codes, one of them "missing"
NUMBERS, DATES, DURATIONS, TEXT = "numbers", "dates", "durations", "categories"
KINDS = {**dict.fromkeys("biuf", NUMBERS), "M": DATES, "m": DURATIONS}
# pandas gives nullable booleans, decimals and dates of a time zone as objects
OBJECTS = {NUMBERS: (Real, np.bool_, Decimal), DATES: (date,), DURATIONS: (timedelta,)}


class Read(NamedTuple):
    """Kind of a column (None: all missing), and its values: one a row, or one at each place.

    ``places`` are those of all rows, the one after the last value where a row has none.
    """

    kind: str | None
    values: NDArray[Any]
    places: IntArray | None = None

    def spread(self, numbers: FloatArray) -> FloatArray:
        """Return one number a row, given one for each of the values."""
        return numbers if self.places is None else np.append(numbers, np.nan)[self.places]


class TableEncoder(TransformerMixin, Estimator):
    """Numbers stay, dates become days, anything else becomes the code of its category.

    A category is known by its text. One that was rare (beyond the 254 most frequent) or unseen
    counts as missing, and missing values are nan. Dates of a time zone are taken to UTC. A column
    with no value at all in fit is 0 throughout: there is nothing to learn from it, and histogram
    trees cannot cut a column of nan. Arrays pass through without a copy.

    Parameters
    ----------
    keep_rare : bool, default=False
        Whether rare categories have codes too, all above those of the 254 most frequent.

    Attributes
    ----------
    categorical_ : ndarray of bool, shape (n_features,)
        Which columns hold codes.
    n_categories_ : ndarray of int, shape (n_features,)
        How many codes each column has; none, if it holds numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, None], "sex": ["f", "m"]})
    >>> TableEncoder().fit(frame).transform(frame)
    array([[31.,  0.],
           [nan,  1.]])
    """

    def __init__(self, keep_rare: bool = False) -> None:
        self.keep_rare = keep_rare

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kind of each column, and its categories where it has any."""
        if not is_frame(X):
            self.kinds_: list[str | None] = [NUMBERS] * X.shape[1]
            self.categories_: list[NDArray[Any] | None] = [None] * X.shape[1]
        else:
            columns = [read_column(X, name) for name in X.columns]
            self.kinds_ = [column.kind for column in columns]
            self.categories_ = [
                _categories(column, self.keep_rare) if column.kind == TEXT else None
                for column in columns
            ]
        sizes = [0 if known is None else len(known) for known in self.categories_]
        self.n_categories_ = np.array(sizes, dtype=int)
        self.categorical_ = self.n_categories_ > 0
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return X as a float array with codes for categories."""
        if not is_frame(X):
            return np.asarray(X) if np.asarray(X).dtype.kind == "f" else np.asarray(X, dtype=float)
        encoded = np.full(X.shape, np.nan, order="F")
        learned = zip(X.columns, self.kinds_, self.categories_, strict=True)
        for i, (name, expected, known) in enumerate(learned):
            column = read_column(X, name)
            if expected is None:
                encoded[:, i] = 0.0
                continue
            if column.kind is None:
                continue
            if column.kind != expected:
                raise ValueError(
                    f"column {name!r} held {expected} in fit and holds {column.kind} now: "
                    "give it the type it had in fit"
                )
            values = column.values
            encoded[:, i] = column.spread(
                _numbers(values) if known is None else _codes(values, known)
            )
        return encoded


def without_rare(codes: FloatArray, columns: NDArray[np.bool_]) -> FloatArray:
    """Codes that histogram trees can tell apart: rare categories of these columns are missing.

    Examples
    --------
    >>> without_rare(np.array([[254.0, 254.0]]), np.array([True, False]))
    array([[ nan, 254.]])
    """
    return np.where(columns & (codes >= MAX_CATEGORIES), np.nan, codes)


def read_column(X: Any, name: Any) -> Read:
    """Read a column of a frame, each of its texts once."""
    column = X[name]
    numbers = same_text(column)
    if numbers is None:
        return Read(*_values(name, column))
    rows, places = one_row_each(numbers)
    return Read(*_values(name, take(column, rows)), places)


def _values(name: Any, column: Any) -> tuple[str | None, NDArray[Any]]:
    """Kind of a column (None: all missing) and its values; unequal kinds are told by their text."""
    if getattr(column.dtype, "tz", None) is not None:  # pandas would give one object a row
        column = column.dt.tz_convert(None)
    try:
        values = np.asarray(column)
    except (TypeError, ValueError) as error:
        raise ValueError(_unreadable(name, column)) from error
    if values.ndim != 1 or values.dtype.kind not in "biufmMOSUT":
        raise ValueError(_unreadable(name, column))
    missing = is_missing(values)
    if missing.all():
        return None, values
    if str(column.dtype).lower().startswith(("categor", "enum")):
        # numpy would turn whole numbers into floats where one is missing, and 3 be called "3.0"
        objects = column.astype(object) if hasattr(column, "astype") else column
        return TEXT, np.asarray(objects, dtype=object)
    if values.dtype.kind != "O":
        return KINDS.get(values.dtype.kind, TEXT), values
    return _kind_of_objects(values[~missing]), values


def _unreadable(name: Any, column: Any) -> str:
    return (
        f"column {name!r} of type {column.dtype} is neither numbers, dates nor categories: "
        "convert it, or leave it out"
    )


def _kind_of_objects(values: NDArray[Any]) -> str:
    types = set(map(type, values))
    for kind, bases in OBJECTS.items():
        if all(issubclass(found, bases) for found in types):
            return kind
    return TEXT


def _labels(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Values as strings, and which of them are there at all."""
    return np.array([str(value) for value in values.tolist()], dtype=str), ~is_missing(values)


def _categories(column: Read, keep_rare: bool) -> NDArray[Any]:
    """Categories of a column, sorted: the most frequent 254, then, if wanted, the rare ones."""
    labels, present = _labels(column.values)
    rows = None if column.places is None else np.bincount(column.places)[: len(labels)][present]
    known, which = np.unique(labels[present], return_inverse=True)
    counts = np.bincount(which, rows)
    order = np.argsort(-counts, kind="stable")
    often, rare = np.sort(order[:MAX_CATEGORIES]), np.sort(order[MAX_CATEGORIES:])
    return known[np.concatenate([often, rare])] if keep_rare else known[often]


def _codes(values: NDArray[Any], known: NDArray[Any]) -> FloatArray:
    labels, present = _labels(values)
    order = np.argsort(known)
    codes = order[np.minimum(np.searchsorted(known, labels, sorter=order), len(known) - 1)]
    return np.where(present & (known[codes] == labels), codes, np.nan)


def _numbers(values: NDArray[Any]) -> FloatArray:
    if values.dtype.kind in "mM":
        days = values.astype("datetime64[s]" if values.dtype.kind == "M" else "timedelta64[s]")
        return np.where(np.isnat(days), np.nan, days.astype(np.int64) / 86400.0)
    if values.dtype.kind == "O":
        return np.array([np.nan if is_gap(value) else _number(value) for value in values])
    return values.astype(float)


def _number(value: Any) -> float:
    """Return an object as a number: days, for dates and durations."""
    if isinstance(value, timedelta):
        return value.total_seconds() // 1 / 86400.0
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.timestamp() // 1 / 86400.0
    return float(value)
