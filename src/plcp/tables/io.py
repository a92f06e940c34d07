"""Work done in advance, in a thread."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from plcp._files import find_column

Item = TypeVar("Item")


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Make the next item in a thread while the caller works on this one; none may be None.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1) as worker:
        coming = worker.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = worker.submit(next, items, None)
            yield item


class Format(StrEnum):
    """A format of tables."""

    PARQUET = "Parquet"
    CSV = "CSV"
    ARROW = "Arrow"


ENDINGS = {
    Format.PARQUET: (".parquet", ".pq"),
    Format.CSV: (".csv", ".tsv", ".csv.gz", ".tsv.gz"),
    Format.ARROW: (".arrow", ".feather", ".ipc"),
}
# What stands at the beginning of files that are no plain text
_BEGINNINGS = {
    b"PAR1": ("a Parquet file", ".parquet"),
    b"ARROW1": ("an Arrow file", ".arrow"),
    b"\x1f\x8b": ("gzipped", ".csv.gz if it is CSV inside"),
    b"PK\x03\x04": ("an Excel file or a ZIP archive", ""),
    b"\xff\xfe": ("text in UTF-16", ""),
    b"\xfe\xff": ("text in UTF-16", ""),
}
_EXPECTED = {Format.PARQUET: b"PAR1", Format.ARROW: b"ARROW1"}


def format_of(path: str | Path) -> Format:
    """Format that a file's name promises.

    Examples
    --------
    >>> print(format_of("new.csv.gz"))
    CSV
    """
    name = Path(path).name.lower()
    for kind, endings in ENDINGS.items():
        if name.endswith(endings):
            return kind
    raise ValueError(
        f"{path}: the format of a table is told by the end of its name: .parquet, .csv (also .tsv, "
        ".csv.gz) or .arrow (also .feather); save it as one of these"
    )


def check_content(path: Path) -> None:
    """Refuse a file that does not begin as its name promises."""
    kind = format_of(path)
    with path.open("rb") as file:
        head = file.read(1024)
    if not head:
        raise ValueError(f"{path} is empty (0 bytes): it was perhaps not written to its end")
    expected = b"\x1f\x8b" if path.suffix.lower() == ".gz" else _EXPECTED.get(kind, b"")
    found = next((start for start in _BEGINNINGS if head.startswith(start)), b"")
    if found != expected:
        raise ValueError(f"{path} is not what its name says: {_remedy(head, found)}")


def _remedy(head: bytes, found: bytes) -> str:
    if found:
        what, ending = _BEGINNINGS[found]
        todo = f"rename it to {ending}" if ending else "save it as CSV in UTF-8, or as Parquet"
        return f"it is {what}; {todo}"
    if _is_text(head):
        return "it is text; rename it to .csv if it is a table with commas"
    return "it is damaged, or of another format; write it again as Parquet, CSV or Arrow"


def _is_text(head: bytes) -> bool:
    try:
        head[:-4].decode()  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return b"\0" not in head


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
            raise ValueError(f"at least one column of {self.name} must be asked for")
        if rows < 1:
            raise ValueError(f"rows must be at least 1, got {rows}")
        return ahead(self._told(self._scan(names, rows)))

    def as_written(self, to: Format) -> "TableFile":
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
        """Read rows drawn at random, or all of them if there are not more than asked for.

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
        """Say that ``n`` rows are a sample, if `read` drew them from more."""
        if self.n_rows is None or n >= self.n_rows:
            return []
        return [f"A random sample of {n:,} of {self.n_rows:,} rows in {self.name} was taken."]

    def digest(self) -> str:
        """SHA-256 of the file's bytes."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def check_unchanged(self) -> None:
        """Refuse what somebody has written to since it was opened: two passes saw other rows."""
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

    def _told(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with damage_told(self.path):
            yield from batches


def changed(path: Path) -> str:
    """Say that a table changed while it was read, and what to do."""
    return f"{path} changed while it was read: wait until nobody writes to it, and start again"


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of the last change."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
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
