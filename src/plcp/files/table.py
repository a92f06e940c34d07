"""A table on disk that is read in batches, whatever its format."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from plcp.files.ahead import ahead
from plcp.files.names import find_column
from plcp.files.sampling import Sample, sample_rows

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
