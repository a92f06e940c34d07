"""Columns by what they are worth: the same bits for the same value, whatever type holds it."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.indices.repeated import one_row_each, same_text
from plcp.indices.tables import DATES, DURATIONS, NUMBERS, OBJECTS
from plcp.rows import take
from plcp.validation.missing import is_missing

Bits = NDArray[np.uint64]

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
    values = np.asarray(_of_pandas(column) if hasattr(column, "factorize") else column)
    if values.dtype.kind in "mM":
        return _of_moments(values)
    if values.dtype.kind in "biuf":  # unsigned ones are bits to whoever reads them
        return values.astype(float) if values.dtype == np.uint64 else values
    return _of_objects(values.astype(object))


def _of_pandas(column: Any) -> Any:
    """Return the column, where numpy would make one object a row of it, in another type."""
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


def _of_moments(values: NDArray[Any]) -> Bits:
    """Nanoseconds of dates or durations; they may wrap around, and do so alike in every unit."""
    unit, step = np.datetime_data(values.dtype)
    if unit not in NANOSECONDS or step != 1:
        values, unit = values.astype(f"{values.dtype.kind}8[s]"), "s"
    counted = values.view(np.int64) * np.int64(NANOSECONDS[unit])
    return np.where(np.isnat(values), MISSING, counted.view(np.uint64))


def _of_objects(values: NDArray[Any]) -> Bits:
    """Bits of each object: of its number, moment, span of time, or text."""
    bits = np.full(len(values), MISSING)
    left = ~is_missing(values)
    for kind, read in READERS.items():
        own = left & _are(values, OBJECTS[kind])
        bits[own] = read(values[own])
        left &= ~own
    bits[left] = _of_text(values[left])
    return bits


def _are(values: NDArray[Any], bases: tuple[type, ...]) -> NDArray[np.bool_]:
    return np.fromiter((isinstance(value, bases) for value in values), bool, len(values))


def _of_numbers(values: NDArray[Any]) -> Bits:
    return bits_of(np.array([float(value) for value in values], dtype=float))


def _of_dates(values: NDArray[Any]) -> Bits:
    return _of_spans(np.array([_since_epoch(value) for value in values], dtype=object))


def _of_spans(values: NDArray[Any]) -> Bits:
    return np.array([_nanoseconds(value) % 2**64 for value in values], dtype=np.uint64)


READERS = {NUMBERS: _of_numbers, DATES: _of_dates, DURATIONS: _of_spans}


def _since_epoch(value: Any) -> timedelta:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    aware: datetime = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware - EPOCH


def _nanoseconds(span: timedelta) -> int:
    seconds = span.days * 86400 + span.seconds
    return (seconds * 10**6 + span.microseconds) * 1000 + getattr(span, "nanoseconds", 0)


def _of_text(values: NDArray[Any]) -> Bits:
    from pandas.util import hash_array

    return np.asarray(hash_array(np.array([str(v) for v in values.tolist()], dtype=object)))
