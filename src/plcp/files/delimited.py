"""CSV files, also separated by tabulators, also gzipped."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from plcp.files.csv_dialect import Dialect
from plcp.files.csv_errors import csv_errors_told
from plcp.files.csv_types import infer_types
from plcp.files.table import TableFile, evenly
from plcp.files.writer import TableWriter

JOINT, EMPTY = "|", "[]"  # no text at all would be read as a missing list
# what else separates values in files called .csv, and what to do about it
OTHERWISE = {
    ";": "save it with commas, and with points in the numbers",
    "\t": "rename it to .tsv",
    "|": "save it with commas",
}


class DelimitedTable(TableFile):
    """A CSV file; its types are those given, or those that hold in the whole file.

    Parameters
    ----------
    path : Path
        The file.
    types : mapping from str to pyarrow.DataType
        Types of columns by their names; names that the file does not have do not matter.
    text_otherwise : bool
        Whether columns without a given type are text, and so kept as they are written; else their
        types are found out, for which the file is read once more.
    """

    def __init__(
        self, path: Path, types: Mapping[str, pa.DataType], text_otherwise: bool = False
    ) -> None:
        self._dialect = Dialect.of(path)
        names = self._header(path)
        super().__init__(path, pa.schema([(name, pa.string()) for name in names]), None)
        found = {name: _readable(types[name]) for name in names if name in types}
        unknown = [name for name in names if name not in types]
        if unknown and not text_otherwise:
            with csv_errors_told(path, names):
                text = self._blocks(dict.fromkeys(unknown, pa.string()))
                inferred, self.n_rows = infer_types(text, unknown)
            found |= inferred
        self.schema = pa.schema([(name, found.get(name, pa.string())) for name in names])

    def _header(self, path: Path) -> list[str]:
        line = self._dialect.first_line(path).strip()
        unquoted = re.sub('"[^"]*"', "", line)
        for sign, remedy in OTHERWISE.items():
            if sign in unquoted and self._dialect.delimiter not in unquoted:
                raise ValueError(
                    f"{path} seems to be separated by {sign!r}, since it begins with "
                    f"{line[:40]!r}: {remedy}"
                )
        with csv_errors_told(path, []):
            names = self._dialect.open(path).schema.names
        # pandas names columns by whole numbers where nobody names them
        if all(map(_is_number, names)) and not all(map(str.isdecimal, names)):
            raise ValueError(
                f"{path} seems to have no header, since its first line has numbers only: add a "
                "line with the columns' names"
            )
        return names

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        types = {name: self.schema.field(name).type for name in columns}
        with csv_errors_told(self.path, self.schema.names):
            yield from evenly(self._blocks(types), rows)

    def _blocks(self, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        end = None
        for batch in self._dialect.open(self.path, types):
            yield batch
            end = batch
        last = self.schema.names[-1]
        if end and last in types and pa.types.is_string(types[last]):
            self._dialect.check_end(self.path, end[last][-1].as_py() or "")


def _readable(kind: pa.DataType) -> pa.DataType:
    """Categories are read as what they are categories of."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False


class DelimitedWriter(TableWriter):
    """Writes a CSV file; lists as their members joined by ``|``, missing values as nothing."""

    def __init__(self, path: Path, schema: pa.Schema, like: Path) -> None:
        self._schema = pa.schema([(field.name, _writable(field)) for field in schema])
        dialect = Dialect.of(like)
        self._file = pa.OSFile(str(path), "wb")
        self._sink = pa.output_stream(self._file, compression=dialect.compression)
        # A missing value alone in its line would be no line at all
        nothing = "NA" if len(schema) == 1 else ""
        options = csv.WriteOptions(delimiter=dialect.delimiter, null_string=nothing)
        self._writer = csv.CSVWriter(self._sink, self._schema, write_options=options)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        columns = [_as_text(*column) for column in zip(batch.schema, batch.columns, strict=True)]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        """Write what is left."""
        with self._file, self._sink:
            self._writer.close()


def _writable(field: pa.Field) -> pa.DataType:
    kind = field.type
    if _is_list(kind) and not pa.types.is_nested(kind.value_type):
        return pa.string()
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise ValueError(
            f"column {field.name!r} has the type {kind}, which CSV cannot hold: write .parquet or "
            ".arrow instead"
        )
    return kind


def _as_text(field: pa.Field, column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(field.type):
        return column.dictionary_decode()
    if not _is_list(field.type):
        return column
    members = column.cast(pa.list_(pa.string()))
    if pc.any(pc.match_substring(members.flatten(), JOINT)).as_py():
        raise ValueError(
            f"column {field.name!r} has members with {JOINT!r} in them, which separates members in "
            "CSV: write .parquet or .arrow instead"
        )
    is_empty = pc.equal(pc.list_value_length(column), 0)
    return pc.if_else(is_empty, EMPTY, pc.binary_join(members, JOINT))


def _is_list(kind: pa.DataType) -> bool:
    return (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
