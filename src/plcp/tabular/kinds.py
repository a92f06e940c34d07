"""Kinds of columns: which Arrow types are alike to a rule, and what becomes of each."""

import pyarrow as pa
import pyarrow.types as pt

NUMBERS, BOOLEANS, DATES, DURATIONS = "numbers", "booleans", "dates", "durations"
CATEGORIES, CODES, LABELS = "categories", "codes", "labels"
EMPTY, NESTED = "empty", "nested"

RULES = {
    NUMBERS: "as they are; missing, nan and infinite values count as missing",
    BOOLEANS: "false is 0 and true is 1; missing values stay missing",
    DATES: "days since 1970, of UTC; missing values stay missing",
    DURATIONS: "days; missing values stay missing",
    CATEGORIES: "each value is a category; one that calibration never saw counts as missing",
    CODES: "numbers that are names: each value is a category; one that calibration never saw "
    "counts as missing",
    LABELS: "each value is a group, missing ones are a group of their own; a value that "
    "calibration never saw belongs to none",
}
ALIKE = (frozenset({NUMBERS, BOOLEANS}),)  # 0 and 1 may be written either way


def kind_of(given: pa.DataType) -> str:
    """Kind of an Arrow type.

    Examples
    --------
    >>> kind_of(pa.int8()), kind_of(pa.timestamp("us", tz="UTC")), kind_of(pa.list_(pa.int8()))
    ('numbers', 'dates', 'nested')
    """
    if pt.is_null(given):
        return EMPTY
    if pt.is_boolean(given):
        return BOOLEANS
    if pt.is_integer(given) or pt.is_floating(given) or pt.is_decimal(given):
        return NUMBERS
    if pt.is_date(given) or pt.is_timestamp(given):
        return DATES
    if pt.is_duration(given) or pt.is_time(given):
        return DURATIONS
    if is_text(given) or (pt.is_dictionary(given) and kind_of(given.value_type) != NESTED):
        return CATEGORIES
    return NESTED


def is_text(given: pa.DataType) -> bool:
    """Whether an Arrow type holds text, in whichever layout."""
    return bool(pt.is_string(given) or pt.is_large_string(given) or pt.is_string_view(given))


def check_kind(column: str, kind: str, was: str, now: pa.DataType) -> None:
    """Refuse a column that is of another kind than it was."""
    found = kind_of(now)
    if kind == LABELS and found != NESTED:
        return  # groups are told by their text, whatever it was made from
    if kind == CODES and found in (NUMBERS, CATEGORIES, EMPTY):
        return
    pair = frozenset({kind, found})
    if found in (kind, EMPTY) or pair in ALIKE:
        return
    cause = "; in CSV one word makes text of all" if (kind, found) == (NUMBERS, CATEGORIES) else ""
    raise ValueError(
        f"column {column!r} held {kind} ({was}) in calibration and holds {_shown(found)} ({now}) "
        f"now: convert it to {was}{cause}"
    )


def _shown(kind: str) -> str:
    return "nested values" if kind == NESTED else kind
