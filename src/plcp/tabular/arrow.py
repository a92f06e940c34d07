"""Arrow columns as arrays that a rule can read."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from plcp.quantiles import FloatArray, IntArray
from plcp.tabular.kinds import BOOLEANS, EMPTY, NUMBERS, is_text, kind_of

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
    if pt.is_decimal(column.type):
        column = column.cast(pa.string())  # Arrow's own way is wrong in the last digit
    values = to_numpy(column.cast(pa.float64(), safe=False))
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, np.nan)


def role_numbers(column: Column, role: str, name: str) -> FloatArray:
    """Return numbers that a role needs."""
    if kind_of(column.type) not in (NUMBERS, BOOLEANS, EMPTY):
        raise ValueError(
            f"{role} {name!r} holds {column.type}{_example(column)}, not numbers: convert the "
            "column, or name another"
        )
    return numbers(column)


def _example(column: Column) -> str:
    """Name the first text that is no number: among many numbers it is hard to find."""
    values = column.to_pylist() if is_text(column.type) else []
    strange = (value for value in values if value is not None and not _is_number(value))
    return next((f" such as {value[:40]!r}" for value in strange), "")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
    """Values by their text, and a label for those that are missing.

    Examples
    --------
    >>> labelled(pa.array([1, None])).to_pylist()
    ['1', 'missing']
    """
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
