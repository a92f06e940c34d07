"""Columns as rules use them: kinds of Arrow types, features and their categories, data frames."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from plcp._files import added_by_apply, is_free_text, is_identifier
from plcp.quantiles import FloatArray, IntArray
from plcp.tables.csv import is_number

NUMBERS, BOOLEANS, DATES, DURATIONS = "numbers", "booleans", "dates", "durations"
CATEGORIES, CODES, LABELS = "categories", "codes", "labels"
EMPTY, NESTED = "empty", "nested"

RULES = {
    NUMBERS: "as they are; missing, nan and infinite values count as missing",
    BOOLEANS: "false is 0 and true is 1; missing values stay missing",
    DATES: "days since 1970, of UTC; missing values stay missing",
    DURATIONS: "days; missing values stay missing",
    CATEGORIES: "each value is a category; one that calibration rows lack counts as missing",
    CODES: "numbers that are names: each value is a category; one that calibration rows "
    "do not have counts as missing",
    LABELS: "each value is a group, missing ones are a group of their own; a value that "
    "calibration rows lack belongs to none",
}


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
        return  # groups are named by their text, whatever it was made from
    if kind == CODES and found in (NUMBERS, CATEGORIES, EMPTY):
        return
    if found in (kind, EMPTY) or {kind, found} == {NUMBERS, BOOLEANS}:  # 0 and 1 are either
        return
    shown = "nested values" if found == NESTED else found
    cause = "; in CSV one word makes text of all" if (kind, found) == (NUMBERS, CATEGORIES) else ""
    raise ValueError(
        f"column {column!r} held {kind} ({was}) in calibration and holds {shown} ({now}) "
        f"now: convert it to {was}{cause}"
    )


Column: TypeAlias = pa.Array | pa.ChunkedArray
Data: TypeAlias = pa.Table | pa.RecordBatch
MISSING = "missing"  # label of the group of rows that have none


def numbers(column: Column) -> FloatArray:
    """Numbers or booleans as floats; what is missing, nan or infinite is nan.

    Examples
    --------
    >>> numbers(pa.array([1, None, 3]))
    array([ 1., nan,  3.])
    """
    values = _floats(column)
    return np.where(np.isfinite(values), values, np.nan)


def _floats(column: Column) -> FloatArray:
    if pt.is_decimal(column.type):
        column = column.cast(pa.string())  # Arrow's own way is wrong in the last digit
    return to_numpy(column.cast(pa.float64(), safe=False))


def role_numbers(column: Column, role: str, name: str) -> FloatArray:
    """Return numbers that a role needs; an infinite prediction is none.

    An infinite outcome is refused: it is the largest of all scores, and without it the others would
    promise too much.
    """
    if kind_of(column.type) not in (NUMBERS, BOOLEANS, EMPTY):
        # among many numbers the first text that is none is hard to find
        texts = pc.drop_null(column).to_pylist() if is_text(column.type) else []
        example = next((f" such as {one[:40]!r}" for one in texts if not is_number(one)), "")
        raise ValueError(
            f"{role} {name!r} holds {column.type}{example}, not numbers: convert the column, or "
            "name another"
        )
    infinite = int(np.isinf(_floats(column)).sum())
    if infinite and role in ("target", "score", "weight"):
        rows = "1 row" if infinite == 1 else f"{infinite:,} rows"
        raise ValueError(
            f"{role} {name!r} is infinite in {rows}: write the largest number it can be, or leave "
            "it empty where it is unknown"
        )
    return numbers(column)


def dates(column: Column) -> NDArray[Any]:
    """Dates and times as numpy's own, of UTC.

    Examples
    --------
    >>> dates(pa.array([0, None], pa.timestamp("s", tz="America/New_York"))).tolist()
    [datetime.datetime(1970, 1, 1, 0, 0), None]
    """
    unit = "s" if pt.is_date32(column.type) else "ms" if pt.is_date64(column.type) else None
    return to_numpy(column.cast(pa.timestamp(unit or column.type.unit)))


def durations(column: Column) -> NDArray[Any]:
    """Durations, and times of day as durations since midnight."""
    if pt.is_time(column.type):
        width = pa.int32() if column.type.bit_width == 32 else pa.int64()
        column = column.cast(width).cast(pa.int64()).cast(pa.duration(column.type.unit))
    return to_numpy(column)


def text(column: Column) -> Column:
    """Values by their text: one of a dictionary's, or whatever Arrow prints.

    Examples
    --------
    >>> text(pa.array([1.0, 2.5])).to_pylist()
    ['1', '2.5']
    """
    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column if pt.is_string(column.type) else column.cast(pa.string())


def labelled(column: Column) -> Column:
    """Values by their text, and a label for those that are missing."""
    return pc.fill_null(text(column), MISSING)


def whole(column: Column) -> Column:
    """Codes as whole numbers, where gaps have made them floats; text stays text.

    Examples
    --------
    >>> whole(pa.array([7.0, None])).to_pylist(), whole(pa.array(["007"])).to_pylist()
    ([7, None], ['007'])
    """
    if not pt.is_floating(column.type):
        return column
    present = pc.if_else(pc.is_nan(column), None, column)
    is_whole = pc.all(pc.equal(pc.round(present), present)).as_py()
    return present.cast(pa.int64()) if is_whole is not False else present


def codes_as_text(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the table with numbers that are names as text in these columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from plcp.tables import codes_as_text
    >>> codes_as_text(pa.table({"job": [7.0, None]}), ["job"])["job"].to_pylist()
    ['7', None]
    """
    for name in columns:
        place = table.column_names.index(name)
        table = table.set_column(place, name, text(whole(table[name])))
    return table


def coded(column: Column) -> tuple[IntArray, pa.Array]:
    """Code of each row, -1 where missing, and the text of each code.

    Examples
    --------
    >>> codes, values = coded(pa.array(["b", None, "a", "b"]))
    >>> codes, values.to_pylist()
    (array([ 0, -1,  1,  0], dtype=int32), ['b', 'a'])
    """
    if not pt.is_dictionary(column.type):
        column = (column if is_text(column.type) else text(column)).dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    codes = pc.fill_null(column.indices.cast(pa.int32()), -1)
    return to_numpy(codes), text(column.dictionary)


def to_numpy(column: Column) -> NDArray[Any]:
    """Numpy's view of a column, or its copy where gaps forbid a view."""
    if isinstance(column, pa.ChunkedArray):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))


TEXTS = ("string", "large_string", "dictionary")  # how Arrow calls types that hold text
AS_TEXT: dict[str, Callable[[Any], Any]] = {
    CATEGORIES: lambda column: column,
    CODES: whole,
    LABELS: labelled,
}
# what pandas and Dask call an index that they write: the numbers of the rows
NAMELESS = re.compile(r"Unnamed: .*|__index_level_\d+__|__null_dask_index__")
EXACT = 2**53  # beyond which not every whole number is a float


@dataclass(frozen=True)
class Feature:
    """A column as a rule uses it: kind, Arrow type, and the categories of the calibration rows."""

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
    table: pa.Table,
    columns: Sequence[str],
    *,
    named: bool,
    codes: Sequence[str] = (),
    predictions: Sequence[str] = (),
) -> tuple[tuple[Feature, ...], tuple[LeftOut, ...]]:
    """Remember the columns a rule can learn from, and why the others are left out.

    Of columns that the user has named none is left out: what cannot be used is refused. Of others,
    constants, texts that rarely repeat and whole numbers that all differ are of no use, unless
    these are ``predictions``. Numbers in the columns ``codes`` are names, not amounts.

    Examples
    --------
    >>> table = pa.table({"age": [31, 48], "note": pa.nulls(2)})
    >>> features, left_out = learn_features(table, ["age", "note"], named=False)
    >>> [feature.column for feature in features], left_out[0].reason
    (['age'], 'no row has a value')
    """
    kept, left = [], []
    ours = added_by_apply(table.column_names) - {*predictions}
    for name in columns:
        column = table[name]
        reason = _unusable(column)
        if reason is None and not named:
            if name in ours:
                reason = "plcp apply has made it"
            elif not name.strip() or NAMELESS.fullmatch(name):
                reason = "it has no name: numbers of rows, most likely"
            else:
                reason = _constant(column)
            if reason is None and name not in (*codes, *predictions):
                reason = _unlike(column)
        if reason is None:
            kind = kind_of(column.type)
            # few formats keep apart categories that are numbers
            named_by_numbers = pt.is_dictionary(column.type) and (
                kind_of(column.type.value_type) == NUMBERS
            )
            is_code = named_by_numbers or (name in codes and kind == NUMBERS)
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
            raise ValueError(f"cannot group by {name!r}: {_unusable(table[name])}")
    return tuple(_remembered(name, table[name], LABELS) for name in columns)


def left_out_note(left_out: Sequence[LeftOut], table: pa.Table) -> tuple[str, ...]:
    """Note which columns were left out that could be used, and how to use them."""
    usable = [left for left in left_out if _unusable(table[left.column]) is None]
    if not usable:
        return ()
    which = "; ".join(f"{left.column!r}, since {left.reason}" for left in usable)
    return (f"not learned from: {which}. To use a column all the same, name it by --features",)


def _unusable(column: pa.ChunkedArray) -> str | None:
    if kind_of(column.type) == NESTED:
        return f"values of type {column.type} are neither numbers, dates nor categories"
    if kind_of(column.type) == NUMBERS:
        empty = bool(np.isnan(numbers(column)).all())
    else:
        empty = column.null_count == len(column)
    return "no row has a value" if empty else None


def _constant(column: pa.ChunkedArray) -> str | None:
    """Reason to leave out a column in which all rows are alike, none of them without a value."""
    if kind_of(column.type) == NUMBERS:
        values = numbers(column)
        if not (values == values[0]).all():
            return None
        if abs(values[0]) > EXACT:
            return "as numbers, which hold 16 digits, its values are the same in every row"
        return "it is the same in every row"
    alike = column.null_count == 0 and pc.count_distinct(text(column)).as_py() == 1
    return "it is the same in every row" if alike else None


def _unlike(column: pa.ChunkedArray) -> str | None:
    """Reason to leave out what names rows: numbers of rows, and text that hardly comes again."""
    if kind_of(column.type) == NUMBERS:
        whole = pc.drop_null(column)
        if not pa.types.is_integer(column.type):
            values = numbers(column)
            whole = pa.array(values[~np.isnan(values)])
            if not (np.floor(whole) == whole.to_numpy()).all():
                return None
        if is_identifier(len(whole), pc.count_distinct(whole).as_py()):
            return f"{len(whole):,} whole numbers that all differ are names of rows, not amounts"
        return None
    if kind_of(column.type) != CATEGORIES:
        return None
    present = len(column) - column.null_count
    distinct = pc.count_distinct(text(column)).as_py()
    if is_free_text(present, distinct):
        return f"{distinct:,} different values in {present:,} rows are no categories"
    return None


def _remembered(name: str, column: pa.ChunkedArray, kind: str) -> Feature:
    categories: tuple[str, ...] = ()
    if kind in AS_TEXT:
        codes, values = coded(AS_TEXT[kind](column))
        present = values.take(pa.array(np.unique(codes[codes >= 0])))
        categories = tuple(sorted({value for value in present.to_pylist() if value is not None}))
    return Feature(name, kind, str(column.type), categories)


READERS = {DATES: dates, DURATIONS: durations}


class Framer:
    """Turns batches of Arrow into data frames of the remembered columns, in the same order.

    Text becomes pandas categories, always the same ones; values that calibration rows lack are
    counted in ``unseen``, by column and value.

    Examples
    --------
    >>> table = pa.table({"age": [31, 48], "sex": ["f", "m"]})
    >>> framer = Framer(learn_features(table, ["age", "sex"], named=True)[0])
    >>> framer.frame(pa.table({"sex": ["m", "x"], "age": [20, None]}))["age"].tolist()
    [20.0, nan]
    >>> framer.unseen
    {'sex': Counter({'x': 1})}
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = tuple(features)
        self.unseen: dict[str, Counter[str]] = {}
        self._known = {
            feature.column: pa.array(feature.categories, pa.string())
            for feature in features
            if feature.kind in AS_TEXT
        }
        self._types = {name: pd.CategoricalDtype(v.to_pylist()) for name, v in self._known.items()}

    def check(self, schema: pa.Schema) -> None:
        """Refuse columns that changed their kind."""
        for feature in self.features:
            check_kind(
                feature.column, feature.kind, feature.type, schema.field(feature.column).type
            )

    def frame(self, data: Data) -> pd.DataFrame:
        """Return the remembered columns of some rows."""
        columns = {feature.column: self._values(feature, data) for feature in self.features}
        return pd.DataFrame(columns, index=pd.RangeIndex(data.num_rows), copy=False)

    def _values(self, feature: Feature, data: Data) -> Any:
        column = data.column(feature.column)
        if feature.kind == LABELS:
            codes, values = coded(labelled(column))
            self._places(feature.column, codes, values)  # counts those that are new
            return np.array(values.to_pylist(), dtype=object)[codes]
        if kind_of(column.type) == EMPTY:
            return np.full(len(column), np.nan)
        if feature.kind in AS_TEXT:
            codes, values = coded(AS_TEXT[feature.kind](column))
            places = self._places(feature.column, codes, values)
            return pd.Categorical.from_codes(
                np.append(places, -1)[codes],  # a code of -1, missing, is the last place
                dtype=self._types[feature.column],
                validate=False,
            )
        return READERS.get(feature.kind, numbers)(column)

    def _places(self, name: str, codes: NDArray[Any], values: pa.Array) -> NDArray[Any]:
        """Place of each value among the known categories, -1 if it is new; new ones are counted."""
        places = pc.index_in(values, value_set=self._known[name])
        new = pc.and_(places.is_null(), values.is_valid()).to_numpy(zero_copy_only=False)
        if new.any():
            rows = np.bincount(codes[codes >= 0], minlength=len(values))
            tally = self.unseen.setdefault(name, Counter())
            tally.update({values[int(i)].as_py(): int(rows[i]) for i in np.flatnonzero(new)})
            tally += Counter()  # a dictionary may name values that no row has
        return np.asarray(pc.fill_null(places, -1))


def to_frame(data: pa.Table) -> pd.DataFrame:
    """All columns of a table that are not nested, by their own types: text as categories.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from plcp.tables import to_frame
    >>> to_frame(pa.table({"sex": ["f", "m"], "n": [1, None]})).dtypes.astype(str).tolist()
    ['category', 'float64']
    """
    kinds = {name: kind_of(data[name].type) for name in data.column_names}
    plain = {name: kind for name, kind in kinds.items() if kind != NESTED}
    return Framer([_remembered(name, data[name], kind) for name, kind in plain.items()]).frame(data)


def rule_input(framer: Framer, data: Data) -> Any:
    """Frame of the columns a rule uses; rows of zeros for a rule that uses none."""
    return framer.frame(data) if framer.features else np.zeros((data.num_rows, 1))
