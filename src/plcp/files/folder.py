"""A folder of parts that is one table."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from plcp.files.common_schema import common_schema
from plcp.files.folder_values import folder_values
from plcp.files.table import TableFile, evenly


class Part(TableFile):
    """One part of a table, with the columns and types that the whole table has.

    Attributes
    ----------
    inside : Path
        Its path within the folder.
    own : pyarrow.Schema
        The columns that stand in the file itself, in the table's types.
    """

    def __init__(
        self, file: TableFile, inside: Path, own: pa.Schema, around: Mapping[str, pa.Scalar]
    ) -> None:
        added = [pa.field(column, value.type) for column, value in around.items()]
        super().__init__(file.path, pa.schema([*own, *added], own.metadata), file.n_rows)
        self.inside, self.own = inside, own.with_metadata(file.schema.metadata)
        self._file, self._around = file, around

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        wanted = [name for name in columns if name not in self._around]
        schema = pa.schema([self.schema.field(name) for name in columns], self.schema.metadata)
        # without a column nobody knows how many rows there are
        for batch in self._file._scan(wanted or self.own.names[:1], rows):
            if len(batch):
                values = [self._values(batch, name) for name in columns]
                yield pa.RecordBatch.from_arrays(values, schema=schema)

    def _values(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        if name in self._around:
            return pa.repeat(self._around[name], len(batch))
        column, kind = batch.column(name), self.schema.field(name).type
        if column.type == kind:
            return column
        if pa.types.is_null(column.type):
            return pa.nulls(len(column), kind)
        try:
            return column.cast(kind)
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"{self.path}: column {name!r} holds {column.type}, other parts {kind}, which "
                f"cannot hold all of its values ({error}): write it in one type in all parts"
            ) from error


class FolderTable(TableFile):
    """A table in parts: the rows of the first, then those of the next.

    Parameters
    ----------
    path : Path
        The folder.
    files : mapping from Path to TableFile
        The parts by their paths within it, in their order.
    types : mapping from str to pyarrow.DataType
        How to read values in the names of folders.

    Attributes
    ----------
    parts : list of Part
        The parts, all with the same columns.
    """

    def __init__(
        self,
        path: Path,
        files: Mapping[Path, TableFile],
        types: Mapping[str, pa.DataType],
    ) -> None:
        own = common_schema([*files.values()])
        around = folder_values([*files], types)
        _check_once(path, own.names, [*around[0]])
        self.parts = [
            Part(file, name, own, values)
            for (name, file), values in zip(files.items(), around, strict=True)
        ]
        counts = [file.n_rows for file in files.values()]
        known = [count for count in counts if count is not None]
        n_rows = sum(known) if len(known) == len(counts) else None
        super().__init__(path, self.parts[0].schema, n_rows)

    def digest(self) -> str:
        """SHA-256 of what ``sha256sum`` prints of the parts, in their order."""
        lines = (f"{part.digest()}  {part.inside.as_posix()}\n" for part in self.parts)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def check_unchanged(self) -> None:
        """Refuse parts that somebody has written to since they were opened."""
        for part in self.parts:
            part.check_unchanged()

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        batches = (batch for part in self.parts for batch in part._told(part._scan(columns, rows)))
        yield from evenly(batches, rows)


def _check_once(path: Path, own: Sequence[str], around: Sequence[str]) -> None:
    for name in around:
        if name in own:
            raise ValueError(
                f"column {name!r} of {path} stands in the names of its folders and in the parts "
                "too: drop it from the parts, or put them into one folder"
            )
