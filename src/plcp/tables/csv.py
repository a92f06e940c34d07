"""CSV files: dialects, types found in all rows, records copied byte for byte, errors by row."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from plcp.tables.io import CSV, Format, TableFile, TableWriter, evenly, prefetch
from plcp.tables.roles import CsvOptions

BLOCK = 1 << 21  # bytes read at a time, some in advance; no row may be longer
# pandas' words for a missing value beside Arrow's; quoted or not, in text too
MISSING = [*csv.ConvertOptions().null_values, "<NA>", "None"]
DAYS = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y")
DAY_FIRST = [day + time for day in DAYS for time in ("", " %H:%M", " %H:%M:%S")]


@dataclass(frozen=True)
class Dialect:
    """What separates values, how numbers and dates are written, and how the file is packed."""

    delimiter: str
    compression: str | None
    decimal: str = "."
    day_first: bool = False

    @classmethod
    def of(cls, path: Path, options: CsvOptions | None = None) -> "Dialect":
        """Return the dialect of a file of this name, read or written with these options."""
        options = options or CsvOptions()
        name = path.name.lower()
        tabs = name.removesuffix(".gz").endswith(".tsv")
        return cls(
            options.sep or ("\t" if tabs else ","),
            "gzip" if name.endswith(".gz") else None,
            options.decimal,
            options.day_first,
        )

    def writes_like(self, other: "Dialect") -> bool:
        """Whether a record of one is a record of the other."""
        return (self.delimiter, self.decimal) == (other.delimiter, other.decimal)

    def first_line(self, path: Path) -> str:
        """Return the header as it is written, or its beginning."""
        with pa.input_stream(str(path), compression=self.compression) as file:
            return file.read(1 << 16).partition(b"\n")[0].decode(errors="replace")

    def check_end(self, path: Path, value: str) -> None:
        """Refuse a file that ends within quotes, which Arrow does not mind, by its last value."""
        if "\n" not in value or self.compression:  # the end of a packed file is not at hand
            return
        with path.open("rb") as file:
            file.seek(-min(path.stat().st_size, len(value.encode()) + 2), os.SEEK_END)
            closed = file.read().rstrip(b"\r\n ").endswith(b'"')
        if not closed:
            raise ValueError(f"{path} ends within quotes: close the quote before {value[:30]!r}")

    def open(
        self,
        source: Any,
        types: Mapping[str, pa.DataType] | None = None,
        block: int = BLOCK,
        exact: bool = False,
    ) -> csv.CSVStreamingReader:
        """Return a reader of a path or a stream: of these columns only, if types are given."""
        return csv.open_csv(
            source,
            # without threads, errors name the row
            read_options=csv.ReadOptions(block_size=block, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=self.conversion(types, exact),
        )

    def conversion(
        self, types: Mapping[str, pa.DataType] | None = None, exact: bool = False
    ) -> csv.ConvertOptions:
        """Return how text becomes values: with these types, or such as the text allows.

        In ``exact`` text no word stands for a missing value.
        """
        spelt = {}
        if not types:  # 0 and 1 are numbers
            spelt = {
                "true_values": ["true", "True", "TRUE"],
                "false_values": ["false", "False", "FALSE"],
            }
        return csv.ConvertOptions(
            column_types=types,
            include_columns=list(types or ()),
            null_values=[] if exact else MISSING,
            strings_can_be_null=not exact,
            decimal_point=self.decimal,
            timestamp_parsers=[*DAY_FIRST, csv.ISO8601] if self.day_first else [],
            **spelt,
        )


_SAVE = "save the file in the encoding UTF-8"
_AT = r"In CSV column #(?P<column>\d+): (?:Row #(?P<row>\d+): )?"
# what Arrow's errors have in them, by which a row and a column are known, and the remedy
_ERRORS = {
    _AT + r"CSV conversion error to (?P<kind>.+?): invalid value '(?P<value>.*)'": (
        "{place}: column {name!r} has the value {value!r}, where {kind} is expected; correct it, "
        "or leave it empty if it is missing"
    ),
    _AT + ".*invalid UTF8": "{place}: column {name!r} is not UTF-8; " + _SAVE,
    r"CSV parse error: (?:Row #(?P<row>\d+): )?Expected (?P<n>\d+) columns, got (?P<found>\d+)": (
        "{place}: the number of values is {found} instead of {n}; put values that have separators "
        "or line breaks in them in quotes, and close each quote"
    ),
    "CSV conversion to (?P<kind>.+) is not supported": (
        ": the type {kind} cannot be read from CSV; use .parquet or .arrow instead"
    ),
    "cannot infer number of columns": " has no columns: its first line must have their names",
    "straddling": ": a row is longer than 2 MB; a quote is perhaps not closed",
}
_KINDS = {"int64": "a whole number", "double": "a number", "bool": "true or false"}


@contextmanager
def explaining_errors(path: Path, names: Sequence[str]) -> Iterator[None]:
    """Name the row and column of a file, that has these columns, which cannot be read, and why."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: the columns' names are not UTF-8; {_SAVE}") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        for pattern, message in _ERRORS.items():
            if found := re.search(pattern, str(error), re.DOTALL):
                values: dict[str, Any] = found.groupdict()
                row, column, kind = (values.get(name) for name in ("row", "column", "kind"))
                values["place"] = f", row {row} (the header is row 1)" if row else ""
                values["name"] = names[int(column)] if column else ""
                values["kind"] = _KINDS.get(kind, kind) if kind else ""
                raise ValueError(f"{path}{message.format_map(values)}") from error
        raise


def infer_types(
    blocks: Iterable[pa.RecordBatch], names: Sequence[str], dialect: Dialect
) -> tuple[dict[str, pa.DataType], int]:
    """Find the types of columns that were read as text, and the number of rows.

    Arrow finds out the types of a block; here those of all blocks are brought together.
    """
    found = {name: {pa.null()} for name in names}
    n_rows = 0
    # In the main thread, Arrow's reader of whole texts would swallow some Ctrl-C
    for length, schema in prefetch((len(block), _block_types(block, dialect)) for block in blocks):
        n_rows += length
        for field in schema:
            found[field.name].add(field.type)
    return {name: reduce(common_type, kinds) for name, kinds in found.items()}, n_rows


def _block_types(batch: pa.RecordBatch, dialect: Dialect) -> pa.Schema:
    """Types that Arrow finds in text: it finds them in CSV only, so the text becomes CSV again."""
    text = pa.BufferOutputStream()
    csv.write_csv(batch, text)
    whole = csv.ReadOptions(block_size=max(1, text.tell() + 1))
    parsing = csv.ParseOptions(newlines_in_values=True)
    source = pa.BufferReader(text.getvalue())
    return csv.read_csv(source, whole, parsing, dialect.conversion()).schema


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

# tried in this order; a unit of time has as many decimals as its values are written with
KEPT = [pa.int64(), pa.float64(), pa.bool_(), pa.date32()] + [
    pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "ms", "us", "ns")
]


def kept_types(blocks: Iterable[pa.RecordBatch], names: Sequence[str]) -> dict[str, pa.DataType]:
    """Find types that lose nothing of text: printed, each value is the same text.

    No text at all is a missing value. What has no such type stays text.

    Examples
    --------
    >>> block = pa.record_batch({"n": ["1", "", "-20"], "zip": ["02139", "", "10001"]})
    >>> kept_types([block], ["n", "zip"])
    {'n': DataType(int64), 'zip': DataType(string)}
    """
    left = {name: list(KEPT) for name in names}
    filled = set()
    for block in blocks:
        for name in (name for name in names if left[name]):
            text = pc.drop_null(typed(block.column(name), pa.string()))
            if len(text):
                filled.add(name)
                left[name] = [kind for kind in left[name] if _keeps(text, kind)]
    return {name: left[name][0] if name in filled and left[name] else pa.string() for name in names}


def typed(text: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return exact text in a type that keeps it; no text at all is missing."""
    if pa.types.is_string(kind) and not pc.any(pc.equal(text, "")).as_py():
        return text
    return pc.if_else(pc.equal(text, ""), None, text).cast(kind)


def _keeps(text: pa.Array, kind: pa.DataType) -> bool:
    """Whether each text, as a value of this type, is printed as it was."""
    try:
        values = text.cast(kind)
    except pa.ArrowInvalid:
        return False
    printed = values.cast(pa.string())
    same = pc.equal(printed, text)
    if not pa.types.is_floating(kind) or pc.all(same).as_py():
        return bool(pc.all(same).as_py())
    if pc.any(pc.invert(pc.is_finite(values))).as_py():
        return False  # inf and nan have many spellings
    # Python prints 1.0 and 1e-05 where Arrow prints 1 and 0.00001
    others = pc.invert(pc.or_(same, pc.equal(pc.binary_join_element_wise(printed, "0", "."), text)))
    pairs = zip(values.filter(others).to_pylist(), text.filter(others).to_pylist(), strict=True)
    return all(repr(value) == spelt for value, spelt in pairs)


MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of a file
QUOTE, LINE_FEED, RETURN = b'"\n\r'
CHANGED = "wait until no program writes to it, and start again"


class Records:
    r"""The records of a file, taken as many at a time as are parsed elsewhere.

    A blank line is no record: it stays before the record that follows it, and what stands before
    the ``header`` with the header. At most a block of the file and the records taken are in memory.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_bytes(b'zip,note\n00001,"two\nlines"\r\n+5,NA')
    ...     records = Records(path, Dialect.of(path))
    ...     records.header, records.take(2), records.rest()
    (b'zip,note\n', [b'00001,"two\nlines"\r\n', b'+5,NA'], b'')
    """

    def __init__(self, path: Path, dialect: Dialect, block: int = BLOCK) -> None:
        self._path = path
        self._blank = b""  # lines before the next record
        self._records = chain.from_iterable(self._blocks(dialect, block))
        self.header = next(self._records, b"")

    def take(self, n: int) -> list[bytes]:
        """Return the next ``n`` records, with their line ends."""
        taken = list(islice(self._records, n))
        if len(taken) < n:
            raise ValueError(f"{self._path} has fewer rows than were read of it: {CHANGED}")
        return taken

    def rest(self) -> bytes:
        """Return the blank lines after the last record, once all records are taken."""
        if next(self._records, None) is not None:
            raise ValueError(f"{self._path} has more rows than were read of it: {CHANGED}")
        return self._blank

    def _blocks(self, dialect: Dialect, block: int) -> Iterator[list[bytes]]:
        """Cut block after block at the line ends that are not within quotes."""
        with pa.input_stream(str(self._path), compression=dialect.compression) as source:
            left = source.read(len(MARK))
            if left == MARK:
                self._blank, left = MARK, b""
            while text := source.read(block):
                lines, left = _cut(left + text, dialect.delimiter)
                yield self._without_blank(lines)
                if len(left) > 2 * BLOCK:
                    raise ValueError(
                        f"{self._path}: a row is longer than 2 MB; a quote is perhaps not closed"
                    )
        if left:
            lines, unclosed = _cut(left + b"\n", dialect.delimiter)
            if unclosed:
                value = unclosed.rpartition(b'"')[2].decode(errors="replace")[:30]
                raise ValueError(
                    f"{self._path} ends within quotes: close the quote before {value!r}"
                )
            yield self._without_blank([*lines[:-1], lines[-1][:-1]])

    def _without_blank(self, lines: list[bytes]) -> list[bytes]:
        """Put blank lines before the record that follows them."""
        if not self._blank and min(map(len, lines), default=3) > 2:
            return lines
        records = []
        for line in lines:
            self._blank += line
            if line.strip(b"\r\n"):
                records.append(self._blank)
                self._blank = b""
        return records


def _cut(text: bytes, delimiter: str) -> tuple[list[bytes], bytes]:
    """Return the records that end within the text, and what is left of it."""
    if b'"' not in text:
        lines = text.splitlines(keepends=True)
        # a return at the end may be the first half of a line end
        left = b"" if text.endswith(b"\n") or not lines else lines.pop()
        return lines, left
    ends = _ends_by_parity(text, delimiter)
    if ends is None:
        pattern, ends = _record(delimiter), [0]
        while found := pattern.match(text, ends[-1]):
            ends.append(found.end())
    return [text[start:end] for start, end in pairwise(ends)], text[ends[-1] :]


def _ends_by_parity(text: bytes, delimiter: str) -> list[int] | None:
    """Return 0 and the ends of records; None where a quote stands within a value without quotes.

    A line end is outside quotes if the number of quotes before it is even: so it is if each quote
    of odd number opens a value, or is the second of a doubled one.
    """
    data = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(data == QUOTE)
    opening = quotes[::2]
    before = data[opening[opening > 0] - 1]
    if not np.isin(before, [ord(delimiter), LINE_FEED, RETURN, QUOTE]).all():
        return None
    ends = data == LINE_FEED
    ends[:-1] |= (data[:-1] == RETURN) & (data[1:] != LINE_FEED)
    places = np.flatnonzero(ends)
    outside = np.searchsorted(quotes, places) % 2 == 0
    return [0, *(places[outside] + 1).tolist()]


def _record(delimiter: str) -> re.Pattern[bytes]:
    """Return the pattern of a record: a quote counts at the beginning of a value only."""
    end = re.escape(delimiter).encode()
    value = rb'(?:"(?:[^"]++|"")*+"|(?!"))[^%b\r\n]*+' % end
    return re.compile(rb"%b(?:%b%b)*+(?:\r\n|\n|\r(?!\Z))" % (value, end, value))


JOINT, EMPTY = "|", "[]"  # no text at all would be read as a missing list
# what else separates values in files called .csv, and what to do about it
OTHERWISE = {
    ";": "pass --sep ';', and --decimal , if its numbers are written with commas",
    "\t": "rename it to .tsv, or pass --sep tab",
    "|": "pass --sep '|'",
}


class DelimitedTable(TableFile):
    """A CSV file; its types are those given, or those that hold in the whole file.

    For columns in ``parsed``, all by default, whose types are not given the file is read once
    more; others are text. See `plcp.tables.io.open_table`.
    """

    def __init__(
        self,
        path: Path,
        types: Mapping[str, pa.DataType],
        parsed: Sequence[str] | None = None,
        options: CsvOptions | None = None,
    ) -> None:
        self.dialect = Dialect.of(path, options)
        names = self._header(path, sep_given=options is not None and options.sep is not None)
        super().__init__(path, pa.schema([(name, pa.string()) for name in names]), None)
        found = {  # categories are read as what they are categories of
            name: types[name].value_type if pa.types.is_dictionary(types[name]) else types[name]
            for name in names
            if name in types
        }
        unknown = [
            name for name in names if name not in types and (parsed is None or name in parsed)
        ]
        if unknown:
            with explaining_errors(path, names):
                text = self._blocks(dict.fromkeys(unknown, pa.string()))
                inferred, self.n_rows = infer_types(text, unknown, self.dialect)
            found |= inferred
        self.schema = pa.schema([(name, found.get(name, pa.string())) for name in names])

    def as_written(self, to: Format) -> TableFile:
        """Return the rows with every value as it is spelt: as text, or in types that keep it."""
        return written_parts([self], to)[0]

    def _header(self, path: Path, sep_given: bool) -> list[str]:
        line = self.dialect.first_line(path).strip()
        unquoted = re.sub('"[^"]*"', "", line)
        for sign, remedy in () if sep_given else OTHERWISE.items():
            if sign in unquoted and self.dialect.delimiter not in unquoted:
                raise ValueError(
                    f"{path} seems to be separated by {sign!r}, since it begins with "
                    f"{line[:40]!r}: {remedy}"
                )
        with explaining_errors(path, []):
            names = self.dialect.open(path).schema.names
        # pandas names columns by whole numbers by default
        if all(map(is_number, names)) and not all(map(str.isdecimal, names)):
            raise ValueError(
                f"{path} seems to have no header, since its first line has numbers only: add a "
                "line with the columns' names"
            )
        return names

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        types = {name: self.schema.field(name).type for name in columns}
        with explaining_errors(self.path, self.schema.names):
            yield from evenly(self._blocks(types), rows)

    def _blocks(
        self, types: Mapping[str, pa.DataType], exact: bool = False
    ) -> Iterator[pa.RecordBatch]:
        end = None
        for batch in self.dialect.open(self.path, types, exact=exact):
            yield batch
            end = batch
        last = self.schema.names[-1]
        if end and last in types and pa.types.is_string(types[last]):
            self.dialect.check_end(self.path, end[last][-1].as_py() or "")


class WrittenTable(TableFile):
    """A CSV file whose values are what is written: no word is a missing value, 00001 is no number.

    ``types`` are those that keep the text of columns; others are text.
    """

    def __init__(self, table: DelimitedTable, types: Mapping[str, pa.DataType]) -> None:
        schema = pa.schema([(name, types.get(name, pa.string())) for name in table.schema.names])
        super().__init__(table.path, schema, table.n_rows)
        self._table = table

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(name) for name in columns])
        for block in evenly(self.text(columns), rows):
            values = map(typed, block.columns, schema.types)
            yield pa.RecordBatch.from_arrays([*values], schema=schema)

    def text(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the text of columns, block by block."""
        with explaining_errors(self.path, self.schema.names):
            yield from self._table._blocks(dict.fromkeys(columns, pa.string()), exact=True)


def written_parts(tables: Sequence[DelimitedTable], to: Format) -> list[WrittenTable]:
    """Return the parts of a table as they are written: as text, or in types that keep all parts."""
    written = [WrittenTable(table, {}) for table in tables]
    if to is CSV:
        return written
    names = tables[0].schema.names
    types = kept_types(chain.from_iterable(part.text(names) for part in written), names)
    return [WrittenTable(table, types) for table in tables]


def is_number(text: str) -> bool:
    """Whether Python reads a text as a number."""
    with suppress(ValueError):
        float(text)
        return True
    return False


class DelimitedWriter(TableWriter):
    """Writes a CSV file; lists as their members joined by ``|``, missing values as nothing.

    Records of ``after``, a file of the same dialect, come before the columns, byte for byte.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, dialect: Dialect, after: DelimitedTable | None = None
    ) -> None:
        self._schema, self._dialect = schema, dialect
        for field in schema:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            is_plain = not pa.types.is_nested(kind.value_type if _is_list(kind) else kind)
            binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
            if not is_plain or binary or pa.types.is_fixed_size_binary(kind):
                raise ValueError(
                    f"column {field.name!r} has the type {kind}, which CSV cannot hold: write "
                    ".parquet or .arrow instead"
                )
        # A missing value alone in its line would be no line at all
        self._nothing = "NA" if len(schema) == 1 and after is None else ""
        self._file = pa.OSFile(str(path), "wb")
        self._sink = pa.output_stream(self._file, compression=dialect.compression)
        self._records = None if after is None else Records(after.path, after.dialect)
        # a name with another separator in it must not be taken for several
        names = _quoted(pa.array(schema.names, pa.string()), dialect, "".join(OTHERWISE))
        header = pa.array([dialect.delimiter.join(names.to_pylist())])
        self._put(header, None if self._records is None else [self._records.header])

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        columns = [
            pc.fill_null(_as_text(field, column, self._dialect), self._nothing)
            for field, column in zip(self._schema, batch.columns, strict=True)
        ]
        lines = pc.binary_join_element_wise(*columns, self._dialect.delimiter)
        self._put(lines, None if self._records is None else self._records.take(len(batch)))

    def close(self) -> None:
        """Write what is left."""
        with self._file, self._sink:
            if self._records is not None:
                self._sink.write(self._records.rest())

    def _put(self, lines: pa.Array, records: list[bytes] | None) -> None:
        texts = lines.cast(pa.large_binary()).to_pylist()
        if records is None:
            self._sink.write(b"\n".join([*texts, b""]))
            return
        before = [record.rstrip(b"\r\n") for record in records]
        ends = [record[len(kept) :] for record, kept in zip(records, before, strict=True)]
        sep = self._dialect.delimiter.encode()
        rows = zip(before, [sep + text for text in texts], ends, strict=True)
        self._sink.write(b"".join(chain.from_iterable(rows)))


def _as_text(field: pa.Field, column: pa.Array, dialect: Dialect) -> pa.Array:
    """Return values as they are written, null where they are missing."""
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind, column = kind.value_type, column.dictionary_decode()
    if _is_list(kind):
        return _quoted(_joined(field.name, column), dialect)
    text = column if column.type == pa.string() else column.cast(pa.string())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return text if dialect.decimal == "." else pc.replace_substring(text, ".", dialect.decimal)
    is_plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)
    return text if is_plain else _quoted(text, dialect)


def _quoted(text: pa.Array, dialect: Dialect, also: str = "") -> pa.Array:
    """Put text in quotes where it must be: separators, quotes, line ends, or no text at all."""
    signs = re.escape(dialect.delimiter + also)
    special = pc.match_substring_regex(text, f'^$|[{signs}"\r\n\ufeff]')
    if not pc.any(special).as_py():
        return text
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return pc.if_else(special, quoted, text)


def _joined(name: str, column: pa.Array) -> pa.Array:
    members = column.cast(pa.list_(pa.string()))
    if pc.any(pc.match_substring(members.flatten(), JOINT)).as_py():
        raise ValueError(
            f"column {name!r} has members with {JOINT!r} in them, which separates members in "
            "CSV: write .parquet or .arrow instead"
        )
    is_empty = pc.equal(pc.list_value_length(column), 0)
    return pc.if_else(is_empty, EMPTY, pc.binary_join(members, JOINT))


def _is_list(kind: pa.DataType) -> bool:
    return (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
