"""The columns a rule looks at, as calibration found them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from plcp.tabular.arrow import coded, labelled, numbers, text, whole
from plcp.tabular.kinds import CATEGORIES, CODES, LABELS, NESTED, NUMBERS, RULES, kind_of

TEXTS = ("string", "large_string", "dictionary")  # how Arrow calls types that hold text
AS_TEXT: dict[str, Callable[[Any], Any]] = {
    CATEGORIES: lambda column: column,
    CODES: whole,
    LABELS: labelled,
}
NAMELESS = re.compile(r"Unnamed: .*|__index_level_\d+__|__null_dask_index__")  # what they call it
ALWAYS_KEPT = 20  # this many different values are categories, however few the rows are


@dataclass(frozen=True)
class Feature:
    """A column as a rule sees it: kind, Arrow type, and the categories calibration saw."""

    column: str
    kind: str
    type: str
    categories: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether its values are known by text that was text: numbers by which to group are not."""
        return self.kind == CATEGORIES or (self.kind == LABELS and self.type.startswith(TEXTS))

    @property
    def rule(self) -> str:
        """What becomes of its values, in words."""
        return RULES[self.kind]


@dataclass(frozen=True)
class LeftOut:
    """A column that no rule can learn from, and why."""

    column: str
    reason: str


def learn_features(
    table: pa.Table, columns: Sequence[str], *, named: bool, codes: Sequence[str] = ()
) -> tuple[tuple[Feature, ...], tuple[LeftOut, ...]]:
    """Remember the columns a rule can learn from, and say why the others are left out.

    Of columns that the user has named none is left out: what cannot be used is refused. Numbers in
    the columns ``codes`` are names, not amounts.

    Examples
    --------
    >>> table = pa.table({"age": [31, 48], "note": pa.nulls(2)})
    >>> features, left_out = learn_features(table, ["age", "note"], named=False)
    >>> [feature.column for feature in features], left_out[0].reason
    (['age'], 'no row has a value')
    """
    kept, left = [], []
    for name in columns:
        column = table[name]
        reason = _unusable(column) or (None if named else _nameless(name) or _unlike(column))
        if reason is None:
            kind = kind_of(column.type)
            is_code = (name in codes and kind == NUMBERS) or _names_by_numbers(column.type)
            kept.append(_remembered(name, column, CODES if is_code else kind))
        elif named:
            raise ValueError(f"column {name!r} cannot be a feature: {reason}; leave it out")
        else:
            left.append(LeftOut(name, reason))
    return tuple(kept), tuple(left)


def learn_labels(table: pa.Table, columns: Sequence[str]) -> tuple[Feature, ...]:
    """Remember columns whose values are groups that the user names."""
    for name in columns:
        if kind_of(table[name].type) == NESTED:
            raise ValueError(f"groups by {name!r} cannot be: {_unusable(table[name])}")
    return tuple(_remembered(name, table[name], LABELS) for name in columns)


def remember_all(table: pa.Table) -> tuple[Feature, ...]:
    """Every column that is not nested, whatever may be learned from it."""
    kinds = {name: kind_of(table[name].type) for name in table.column_names}
    return tuple(
        _remembered(name, table[name], kind) for name, kind in kinds.items() if kind != NESTED
    )


def describe_features(features: Sequence[Feature], left_out: Sequence[LeftOut]) -> Iterator[Any]:
    """Column, kind, rule and number of values of each feature, and of columns left out."""
    for feature in features:
        values = len(feature.categories) or None
        told = {"column": feature.column, "kind": feature.kind, "rule": feature.rule}
        yield {**told, "values": values}
    for left in left_out:
        yield {"column": left.column, "kind": "left out", "rule": left.reason, "values": None}


def _names_by_numbers(given: pa.DataType) -> bool:
    """Whether a type holds categories that are numbers, which few formats keep apart."""
    return bool(pa.types.is_dictionary(given)) and kind_of(given.value_type) == NUMBERS


def _unusable(column: pa.ChunkedArray) -> str | None:
    if kind_of(column.type) == NESTED:
        return f"values of type {column.type} are neither numbers, dates nor categories"
    if kind_of(column.type) == NUMBERS:
        empty = bool(np.isnan(numbers(column)).all())
    else:
        empty = column.null_count == len(column)
    return "no row has a value" if empty else None


def _nameless(name: str) -> str | None:
    """Reason to leave out what pandas and Dask write of an index: the numbers of the rows."""
    if not name.strip() or NAMELESS.fullmatch(name):
        return "it has no name: numbers of rows, most likely"
    return None


def _unlike(column: pa.ChunkedArray) -> str | None:
    """Reason to leave out text in which hardly any value comes again: names, keys, remarks."""
    if kind_of(column.type) != CATEGORIES:
        return None
    present = len(column) - column.null_count
    distinct = pc.count_distinct(text(column)).as_py()
    if distinct > max(ALWAYS_KEPT, present / 2):
        return f"{distinct:,} different values in {present:,} rows are no categories"
    return None


def _remembered(name: str, column: pa.ChunkedArray, kind: str) -> Feature:
    categories: tuple[str, ...] = ()
    if kind in AS_TEXT:
        codes, values = coded(AS_TEXT[kind](column))
        seen = values.take(pa.array(np.unique(codes[codes >= 0])))
        categories = tuple(sorted({value for value in seen.to_pylist() if value is not None}))
    return Feature(name, kind, str(column.type), categories)
