"""Tables opened and created by their paths."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from plcp.files.arrow import ArrowTable, ArrowWriter
from plcp.files.atomic import write_atomically
from plcp.files.delimited import DelimitedTable, DelimitedWriter
from plcp.files.folder import FolderTable
from plcp.files.formats import Format, check_content, format_of
from plcp.files.inputs import check_input
from plcp.files.parquet import ParquetTable, ParquetWriter
from plcp.files.parts import list_parts
from plcp.files.table import TableFile, damage_told
from plcp.files.writer import TableWriter


def open_table(
    path: str | Path,
    *,
    types: Mapping[str, pa.DataType] | None = None,
    text_otherwise: bool = False,
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
    text_otherwise : bool
        Whether the other columns of a CSV file are read as text, as they are written: ``007``
        stays so. By default their types are found out in a first pass over the whole file.
    """
    if Path(path).is_dir():
        files = {
            name: _open_file(Path(path, name), types or {}, text_otherwise)
            for name in list_parts(Path(path))
        }
        return FolderTable(Path(path), files, types or {})
    return _open_file(path, types or {}, text_otherwise)


def _open_file(
    path: str | Path, types: Mapping[str, pa.DataType], text_otherwise: bool
) -> TableFile:
    path = check_input(path)
    kind = format_of(path)
    check_content(path)
    with damage_told(path):
        if kind is Format.PARQUET:
            return ParquetTable(path)
        if kind is Format.ARROW:
            return ArrowTable(path)
        return DelimitedTable(path, types, text_otherwise)


@contextmanager
def create_table(
    path: str | Path, schema: pa.Schema, *, force: bool = False
) -> Iterator[TableWriter]:
    """Give a writer of a table, which appears under its name when all is written.

    Parameters
    ----------
    path : str or Path
        The file; the end of its name tells the format.
    schema : pyarrow.Schema
        Names and types of the columns.
    force : bool
        Whether a file that is there may be replaced; it may be one that is being read.

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
        writer = _writer(kind, temporary, schema, path)
        try:
            yield writer
        except BaseException:
            with suppress(Exception):  # the first error is the one to tell
                writer.close()
            raise
        writer.close()


def _writer(kind: Format, temporary: Path, schema: pa.Schema, path: Path) -> TableWriter:
    if kind is Format.PARQUET:
        return ParquetWriter(temporary, schema)
    if kind is Format.ARROW:
        return ArrowWriter(temporary, schema)
    return DelimitedWriter(temporary, schema, like=path)
