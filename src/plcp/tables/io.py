"""Tables on disk: formats, batches of rows, random samples; Parquet and Arrow files.

CSV files are a chapter of their own, and so are folders of parts; see `open_table`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import ipc

from plcp._files import check_input, check_output, find_column, write_atomically
from plcp.tables.roles import CsvOptions

if TYPE_CHECKING:
    from plcp.tables.csv import DelimitedTable

Item = TypeVar("Item")


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Make the next item in a thread while the caller works on this one; none may be None.

    Examples
    --------
    >>> list(prefetch(iter("abc")))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1) as worker:
        coming = worker.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = worker.submit(next, items, None)
            yield item


@dataclass(frozen=True)
class Format:
    """A format of tables; `FORMATS` lists all of them."""

    name: str
    endings: tuple[str, ...]  # of names of files, the usual one first
    start: bytes  # of a file; empty for text
    open: Callable[..., TableFile]  # of a path, and of the options of `open_table`
    create: Callable[..., TableWriter]  # of a file, a schema, and the options of `create_table`


def format_of(path: str | Path) -> Format:
    """Format that a file's name promises.

    Examples
    --------
    >>> format_of("new.csv.gz").name
    'CSV'
    """
    for one in FORMATS:
        if Path(path).name.lower().endswith(one.endings):
            return one
    raise ValueError(
        f"{path}: the end of a table's name gives its format: save it as one of {ENDINGS}"
    )


def is_table_name(name: str) -> bool:
    """Whether the end of a file's name is that of a format."""
    return any(name.lower().endswith(one.endings) for one in FORMATS)


def check_content(path: Path) -> None:
    """Refuse a file that does not begin as its name promises."""
    kind = format_of(path)
    with path.open("rb") as file:
        head = file.read(1024)
    if not head:
        raise ValueError(f"{path} is empty (0 bytes): it was perhaps not written to its end")
    found = max((start for start in _REMEDIES if head.startswith(start)), key=len)
    if found == (GZIP if path.suffix.lower() == ".gz" else kind.start):
        return
    if found:
        remedy = _REMEDIES[found]
    elif b"\0" not in head and "\ufffd" not in head[:-4].decode(errors="replace"):
        remedy = "it is text; rename it to .csv if it is a table with commas"
    else:
        names = ", ".join(one.name for one in FORMATS)
        remedy = f"it is damaged, or of another format; write it again as one of {names}"
    raise ValueError(f"{path} is not what its name promises: {remedy}")


class TableWriter(ABC):
    """Writes a table to a file."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left, and the end of the file."""


STREAM = 0x706C6370  # a table drawn with the same seed must not be cut by its own values


class Sample(NamedTuple):
    """Rows that were drawn, and the numbers of those rows, counted from 0."""

    table: pa.Table
    rows: NDArray[np.int64]


def sample_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, most: int, seed: int
) -> Sample:
    """Draw rows without replacement, in one pass and in their order.

    Each row gets a random number; the rows with the smallest are kept. Their numbers come from
    one stream, so that the same rows are drawn however the table is cut into batches.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The rows.
    schema : pyarrow.Schema
        Of the batches.
    most : int
        How many rows to draw; all of them, if there are not more.
    seed : int
        Of the random numbers.

    Examples
    --------
    >>> table = pa.table({"x": range(1000)})
    >>> sample = sample_rows(table.to_batches(), table.schema, most=10, seed=0)
    >>> sample.table["x"].to_pylist() == sample.rows.tolist(), len(sample.rows)
    (True, 10)
    """
    if most < 1:
        raise ValueError(f"at least one row must be drawn, got most={most}")
    rng = np.random.default_rng([seed, STREAM])
    kept, limit, start = Sample(schema.empty_table(), np.empty(0, np.int64)), np.inf, 0
    keys: NDArray[Any] = np.empty(0)
    for batch in batches:
        drawn = rng.random(len(batch))
        below = drawn < limit
        chosen = pa.Table.from_batches([batch.filter(pa.array(below))], schema)
        rows = np.append(kept.rows, start + np.flatnonzero(below))
        kept = Sample(pa.concat_tables([kept.table, chosen]), rows)
        keys, start = np.append(keys, drawn[below]), start + len(batch)
        if len(keys) > 2 * most:  # not at every batch: a cut copies all that is kept
            kept, keys = _smallest(kept, keys, most)
            limit = keys.max()
    return _smallest(kept, keys, most)[0]


def _smallest(sample: Sample, keys: NDArray[Any], most: int) -> tuple[Sample, NDArray[Any]]:
    if len(keys) <= most:
        return sample, keys
    chosen = np.sort(np.argpartition(keys, most - 1)[:most])
    table = sample.table.take(pa.array(chosen)).combine_chunks()
    return Sample(table, sample.rows[chosen]), keys[chosen]


ROWS = 65_536  # of 20 columns of doubles: 10 MB


class TableFile(ABC):
    """A table on disk.

    Attributes
    ----------
    path : Path
        The file.
    schema : pyarrow.Schema
        Names and types of its columns.
    n_rows : int or None
        How many rows it has, where that is known without reading it, or once `read` has.
    """

    def __init__(self, path: Path, schema: pa.Schema, n_rows: int | None) -> None:
        twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
        if twice:
            raise ValueError(f"{path} has several columns named {twice[0]!r}: rename all but one")
        self.path, self.schema, self.n_rows = path, schema, n_rows
        self._stamp = _stamp(path)

    @property
    def name(self) -> str:
        """What the file or folder is called, wherever it is."""
        return self.path.resolve().name if self.path.name in ("", "..") else self.path.name

    def batches(
        self, columns: Sequence[str] | None = None, rows: int = ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows in their order, ``rows`` at a time: memory does not grow with the file.

        Parameters
        ----------
        columns : sequence of str, optional
            The columns wanted, in this order; all of them by default.
        rows : int
            Rows of a batch; the last may have fewer.
        """
        names = self.schema.names if columns is None else list(columns)
        for name in names:
            find_column(name, self.schema.names, self.name)
        if not names:
            raise ValueError(f"at least one column of {self.name} must be named")
        if rows < 1:
            raise ValueError(f"rows must be at least 1, got {rows}")
        return prefetch(self.scan_named(names, rows))

    def as_written(self, to: Format) -> TableFile:
        """Return the rows with values as the file holds them, whatever they are parsed as.

        Parameters
        ----------
        to : Format
            Where they are to go: values of CSV stay text in CSV, and get types that keep all that
            is written in other formats.
        """
        return self

    def read(
        self, columns: Sequence[str] | None = None, *, most: int | None = None, seed: int = 0
    ) -> pa.Table:
        """Read the table into memory, or `draw` as many rows of it.

        Parameters
        ----------
        columns : sequence of str, optional
            The columns wanted, in this order; all of them by default.
        most : int, optional
            How many rows to draw, if there are more; all of them by default.
        seed : int
            Of the drawing.
        """
        if most is not None:
            return self.draw(columns, most=most, seed=seed).table
        return pa.Table.from_batches(self._counted(self.batches(columns)), self._selected(columns))

    def draw(self, columns: Sequence[str] | None = None, *, most: int, seed: int = 0) -> Sample:
        """Read rows drawn at random, or all of them if there are not more.

        They are drawn without replacement, each set of rows as likely as any other, and stay in
        the file's order. Which rows are drawn depends on the seed and the number of rows only, not
        on the format.

        Parameters
        ----------
        columns : sequence of str, optional
            The columns wanted, in this order; all of them by default.
        most : int
            How many rows to draw.
        seed : int
            Of the drawing.
        """
        batches = self._counted(self.batches(columns))
        return sample_rows(batches, self._selected(columns), most=most, seed=seed)

    def sample_note(self, n: int) -> list[str]:
        """Note that ``n`` rows are a sample, if `read` drew them from more."""
        if self.n_rows is None or n >= self.n_rows:
            return []
        return [f"A random sample of {n:,} of {self.n_rows:,} rows in {self.name} was taken."]

    def digest(self) -> str:
        """SHA-256 of the file's bytes."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def check_unchanged(self) -> None:
        """Refuse what was written to since it was opened: two passes read different rows."""
        if _stamp(self.path) != self._stamp:
            raise ValueError(changed(self.path))

    @abstractmethod
    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most so many rows, as the format's own reader gives them."""

    def _counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        n = 0
        for batch in batches:
            n += batch.num_rows
            yield batch
        self.n_rows = n

    def _selected(self, columns: Sequence[str] | None) -> pa.Schema:
        names = self.schema.names if columns is None else columns
        return pa.schema([self.schema.field(name) for name in names], self.schema.metadata)

    def scan_named(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield batches; errors name the file."""
        with naming_file(self.path):
            yield from self._scan(columns, rows)


def changed(path: Path) -> str:
    """Message that a table changed while it was read, with the remedy."""
    return f"{path} changed while it was read: wait until no program writes to it, and start again"


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of the last change."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Name the file, and the remedy, where its content cannot be read."""
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # the disk's fault, not the content's
            raise
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"{path} cannot be read ({reason}): it is cut off or damaged; copy or write it again"
        ) from error


def evenly(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Cut and join batches to so many rows each; the last may have fewer."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= rows:
            parts = _joined(waiting, rows)
            yield from (part for part in parts if len(part) == rows)
            waiting = [part for part in parts if len(part) < rows]
    yield from _joined(waiting, rows)


def _joined(batches: list[pa.RecordBatch], rows: int) -> list[pa.RecordBatch]:
    if len(batches) > 1:
        batches = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return [batch.slice(at, rows) for batch in batches for at in range(0, len(batch), rows)]


class ArrowTable(TableFile):
    """An Arrow file, mapped into memory: a batch of any size is read in parts.

    Text as polars writes it, which most of pyarrow's own functions do not take yet, is read as
    plain text.

    Parameters
    ----------
    path : Path
        The file.
    views : bool
        Whether views of text and bytes stay views.
    """

    def __init__(self, path: Path, views: bool = False) -> None:
        self._views = views
        with pa.memory_map(str(path)) as source:
            file = ipc.open_file(source)
            n_rows = sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
            super().__init__(path, self._read_as(file.schema), n_rows)

    def as_written(self, to: Format) -> TableFile:
        """Return the rows with their types as they are, where the format has them."""
        kept = ArrowTable(self.path, views=True)
        return kept if to is ARROW and not kept.schema.equals(self.schema) else self

    def _read_as(self, schema: pa.Schema) -> pa.Schema:
        if self._views:
            return schema
        fields = [field.with_type(_without_view(field.type)) for field in schema]
        return pa.schema(fields, schema.metadata)

    def _parts(self, file: ipc.RecordBatchFileReader, columns: list[str], rows: int) -> Any:
        for number in range(file.num_record_batches):
            batch = file.get_batch(number).select(columns)
            for start in range(0, len(batch), rows):
                part = batch.slice(start, rows)
                # Arrow maps a file as it is, and wrong offsets would end the program
                part.validate(full=True)
                yield part.cast(self._read_as(part.schema))

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self.path)) as source:
            yield from evenly(self._parts(ipc.open_file(source), columns, rows), rows)


def _without_view(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_view(kind.value_type), kind.ordered)
    if pa.types.is_list(kind):
        return pa.list_(_without_view(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_without_view(kind.value_type))
    return kind


class ArrowWriter(TableWriter):
    """Writes an Arrow file; categories may differ between batches."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = pa.OSFile(str(path), "wb")
        options = ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        self._writer = ipc.new_file(self._file, schema, options=options)
        self._known: dict[str, pa.Array] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        columns = [
            self._with_known(field.name, column) if pa.types.is_dictionary(field.type) else column
            for field, column in zip(batch.schema, batch.columns, strict=True)
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=batch.schema))

    def close(self) -> None:
        """Write the end of the file."""
        with self._file:
            self._writer.close()

    def _with_known(self, name: str, column: pa.Array) -> pa.Array:
        """Number the categories as before, new ones after them: the format requires it."""
        none = pa.array([], column.type.index_type)
        before = pa.DictionaryArray.from_arrays(none, self._known.get(name, column.dictionary))
        numbered = pa.chunked_array([before, column]).unify_dictionaries().chunk(1)
        self._known[name] = numbered.dictionary
        return numbered


ROW_GROUP = 131_072
BUFFER = 1 << 18


class ParquetTable(TableFile):
    """A Parquet file.

    Attributes
    ----------
    int96 : bool
        Whether its times have the old type INT96, all of them, as Spark and Impala write it.
    """

    def __init__(self, path: Path) -> None:
        with pq.ParquetFile(path) as file:
            leaves = [file.schema.column(i) for i in range(len(file.schema))]
            old = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
            self._unit = _int96_unit(path, old) if old else None
            self.int96 = bool(old) and all(
                leaf.path in old or leaf.logical_type.type != "TIMESTAMP" for leaf in leaves
            )
        with pq.ParquetFile(path, coerce_int96_timestamp_unit=self._unit) as file:
            super().__init__(path, file.schema_arrow, file.metadata.num_rows)

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        # Without a small buffer, row groups of any size are held whole; and with pre_buffer,
        # which is meant for slow networks, all of them
        with pq.ParquetFile(
            self.path,
            pre_buffer=False,
            buffer_size=BUFFER,
            coerce_int96_timestamp_unit=self._unit,
        ) as file:
            yield from file.iter_batches(rows, columns=columns)


def _int96_unit(path: Path, names: list[str]) -> str | None:
    """Return "us" where a time of the type INT96 lies beyond what nanoseconds hold.

    They are the default, and years after 2262 would be read as others, without an error.
    """
    with pq.ParquetFile(path) as fine, pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as us:
        for ones, others in zip(
            fine.iter_batches(columns=names), us.iter_batches(columns=names), strict=True
        ):
            for one, other in zip(ones.columns, others.columns, strict=True):
                if not one.cast(other.type, safe=False).equals(other):
                    return "us"
    return None


class ParquetWriter(TableWriter):
    """Writes row groups of one size, whatever the batches' sizes; times as INT96 on request."""

    def __init__(self, path: Path, schema: pa.Schema, int96: bool = False) -> None:
        # Measured: to try dictionaries on real numbers takes three quarters of the time of
        # writing, and zstd makes few distinct ones as small
        few = [field.name for field in schema if not pa.types.is_floating(field.type)]
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(
            self._file,
            schema,
            compression="zstd",
            use_dictionary=few,
            use_deprecated_int96_timestamps=int96,
        )
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._waiting.append(batch)
        if sum(map(len, self._waiting)) >= ROW_GROUP:
            table = pa.Table.from_batches(self._waiting, self._schema)
            whole = len(table) - len(table) % ROW_GROUP
            self._writer.write_table(table.slice(0, whole), row_group_size=ROW_GROUP)
            self._waiting = table.slice(whole).to_batches()

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        with self._file:
            try:
                if self._waiting:
                    self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
                self._writer.close()
            finally:
                self._writer.is_open = False  # else its destructor tries to write once more


def _open_csv(*given: Any) -> TableFile:
    from plcp.tables.csv import DelimitedTable

    return DelimitedTable(*given)


def _create_csv(
    file: Path, schema: pa.Schema, path: Path, csv: CsvOptions | None, after: Any, int96: bool
) -> TableWriter:
    from plcp.tables.csv import DelimitedWriter, Dialect

    return DelimitedWriter(file, schema, Dialect.of(path, csv), after)


PARQUET = Format(
    "Parquet", (".parquet", ".pq"), b"PAR1",
    lambda path, *_: ParquetTable(path),
    lambda file, schema, int96, **_: ParquetWriter(file, schema, int96),
)  # fmt: skip
CSV = Format("CSV", (".csv", ".tsv", ".csv.gz", ".tsv.gz"), b"", _open_csv, _create_csv)
ARROW = Format(
    "Arrow", (".arrow", ".feather", ".ipc"), b"ARROW1",
    lambda path, *_: ArrowTable(path),
    lambda file, schema, **_: ArrowWriter(file, schema),
)  # fmt: skip
FORMATS = (PARQUET, CSV, ARROW)
ENDINGS = ", ".join(ending for one in FORMATS for ending in one.endings)
GZIP, CONVERT = b"\x1f\x8b", "save it as CSV in UTF-8, or as Parquet"
# What to do with a file that begins so, and by its name should not
_REMEDIES = {
    **{one.start: f"it is {one.name}; rename it to {one.endings[0]}" for one in FORMATS},
    GZIP: "it is gzipped; rename it to .csv.gz if it is CSV inside",
    b"PK\x03\x04": f"it is an Excel file or a ZIP archive; {CONVERT}",
    b"\xff\xfe": f"it is text in UTF-16; {CONVERT}",
    b"\xfe\xff": f"it is text in UTF-16; {CONVERT}",
}


def check_input_table(path: str | Path) -> None:
    """Refuse what is no table by its name and first bytes, before anything heavy is imported."""
    if Path(path).is_dir():
        from plcp.tables.folders import list_parts

        list_parts(Path(path))
    else:
        check_content(check_input(path))


def open_table(
    path: str | Path,
    *,
    types: Mapping[str, pa.DataType] | None = None,
    parsed: Sequence[str] | None = None,
    csv: CsvOptions | None = None,
) -> TableFile:
    """Open a Parquet, CSV or Arrow file by the end of its name, or a folder of parts.

    Files of one format in a folder are one table, as Spark and Dask write it: part after part in
    the natural order of their names. Folders within it, ``key=value``, are a column.

    Parameters
    ----------
    path : str or Path
        The file or folder.
    types : mapping from str to pyarrow.DataType, optional
        How to read columns of a CSV file; the other formats have types of their own.
    parsed : sequence of str, optional
        Columns of a CSV file whose types are found out in a first pass over the whole file, all of
        them by default; others without a given type are read as text.
    csv : CsvOptions, optional
        How CSV files are written.
    """
    if not Path(path).is_dir():
        return _open_file(path, types or {}, parsed, csv)
    from plcp.tables.folders import FolderTable, list_parts

    parts = list_parts(Path(path))
    files = {name: _open_file(Path(path, name), types or {}, parsed, csv) for name in parts}
    return FolderTable(Path(path), files, types or {})


def _open_file(
    path: str | Path,
    types: Mapping[str, pa.DataType],
    parsed: Sequence[str] | None,
    csv: CsvOptions | None,
) -> TableFile:
    path = check_input(path)
    check_content(path)
    with naming_file(path):
        return format_of(path).open(path, types, parsed, csv)


@contextmanager
def create_table(
    path: str | Path,
    schema: pa.Schema,
    *,
    force: bool = False,
    csv: CsvOptions | None = None,
    after: DelimitedTable | None = None,
    int96: bool = False,
) -> Iterator[TableWriter]:
    """Give a writer of a table, which appears under its name when all is written.

    Parameters
    ----------
    path : str or Path
        The file; the end of its name gives the format.
    schema : pyarrow.Schema
        Names and types of the columns.
    force : bool
        Whether a file that is there may be replaced; it may be one that is being read.
    csv : CsvOptions, optional
        How a CSV file is written.
    after : DelimitedTable, optional
        A file whose records, byte for byte, come before the columns of a CSV file.
    int96 : bool
        Whether times in a Parquet file have the old type INT96.

    Examples
    --------
    >>> import tempfile
    >>> table = pa.table({"x": [1, 2]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with create_table(f"{folder}/x.csv", table.schema) as writer:
    ...         writer.write(table.to_batches()[0])
    ...     open_table(f"{folder}/x.csv").read().to_pydict()
    {'x': [1, 2]}
    """
    path = Path(path)
    kind = format_of(path)
    with write_atomically(path, force=force) as temporary:
        writer = kind.create(temporary, schema, path=path, csv=csv, after=after, int96=int96)
        try:
            yield writer
        except BaseException:
            with suppress(Exception):  # the first error is the one to report
                writer.close()
            raise
        writer.close()


def check_output_table(table: Path, out: Path, force: bool) -> None:
    """Refuse, before the work begins, a place where the rows of a table cannot go."""
    if table.is_dir():
        if table.resolve() in out.resolve().parents:
            raise ValueError(f"{out} would be a part of {table} itself: write elsewhere")
        if not out.suffix:
            from plcp.tables.folders import check_output_folder

            check_output_folder(out, force)
            return
    try:
        format_of(out)
    except ValueError as error:
        other = ", or name a folder, without an ending" if table.is_dir() else ""
        raise ValueError(f"{error}{other}") from None
    check_output(out, force)
