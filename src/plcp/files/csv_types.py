"""Types of a CSV file's columns: such as hold in the whole file, not in its beginning only."""

from collections.abc import Iterable, Sequence
from functools import reduce

import pyarrow as pa
from pyarrow import csv

from plcp.files.ahead import ahead
from plcp.files.csv_dialect import conversion


def infer_types(
    blocks: Iterable[pa.RecordBatch], names: Sequence[str]
) -> tuple[dict[str, pa.DataType], int]:
    """Find the types of columns that were read as text, and the number of rows.

    Arrow finds out the types of a block; here those of all blocks are brought together.

    Parameters
    ----------
    blocks : iterable of pyarrow.RecordBatch
        The text.
    names : sequence of str
        The columns.
    """
    found = {name: {pa.null()} for name in names}
    n_rows = 0
    # In the main thread, Arrow's reader of whole texts would swallow some Ctrl-C
    for length, schema in ahead((len(block), _block_types(block)) for block in blocks):
        n_rows += length
        for field in schema:
            found[field.name].add(field.type)
    return {name: reduce(common_type, kinds) for name, kinds in found.items()}, n_rows


def _block_types(batch: pa.RecordBatch) -> pa.Schema:
    """Types that Arrow finds in text: it finds them in CSV only, so the text becomes CSV again."""
    text = pa.BufferOutputStream()
    csv.write_csv(batch, text)
    whole = csv.ReadOptions(block_size=max(1, text.tell() + 1))
    parsing = csv.ParseOptions(newlines_in_values=True)
    source = pa.BufferReader(text.getvalue())
    return csv.read_csv(source, whole, parsing, conversion(None)).schema


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the narrowest type of both columns' values, text at worst.

    Examples
    --------
    >>> common_type(pa.int64(), pa.float64())
    DataType(double)
    >>> common_type(pa.int64(), pa.date32())
    DataType(string)
    """
    kinds = {one, other} - {pa.null()}
    if len(kinds) < 2:
        return kinds.pop() if kinds else pa.null()
    if kinds == {pa.int64(), pa.float64()}:
        return pa.float64()
    if kinds <= _DATES:
        return pa.timestamp("ns" if pa.timestamp("ns") in kinds else "s")
    if kinds == {pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC")}:
        return pa.timestamp("ns", "UTC")
    return pa.string()


_DATES = {pa.date32(), pa.timestamp("s"), pa.timestamp("ns")}
