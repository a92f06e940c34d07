"""Open and create tables: Parquet, CSV and Arrow files by the end of their names, and folders."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from plcp._files import check_input, check_output, write_atomically
from plcp.tables.csv import DelimitedTable, DelimitedWriter, Dialect
from plcp.tables.files import (
    ArrowTable,
    ArrowWriter,
    Format,
    ParquetTable,
    ParquetWriter,
    TableFile,
    TableWriter,
    check_content,
    format_of,
    naming_file,
)
from plcp.tables.folders import FolderTable, check_output_folder, list_parts
from plcp.tables.roles import CsvOptions


def check_input_table(path: str | Path) -> None:
    """Refuse what is no table by its name and first bytes, before anything heavy is imported."""
    if Path(path).is_dir():
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
    if Path(path).is_dir():
        files = {
            name: _open_file(Path(path, name), types or {}, parsed, csv)
            for name in list_parts(Path(path))
        }
        return FolderTable(Path(path), files, types or {})
    return _open_file(path, types or {}, parsed, csv)


def _open_file(
    path: str | Path,
    types: Mapping[str, pa.DataType],
    parsed: Sequence[str] | None,
    csv: CsvOptions | None,
) -> TableFile:
    path = check_input(path)
    kind = format_of(path)
    check_content(path)
    with naming_file(path):
        if kind is Format.PARQUET:
            return ParquetTable(path)
        if kind is Format.ARROW:
            return ArrowTable(path)
        return DelimitedTable(path, types, parsed, csv)


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
        writer = _writer(kind, temporary, schema, Dialect.of(path, csv), after, int96)
        try:
            yield writer
        except BaseException:
            with suppress(Exception):  # the first error is the one to report
                writer.close()
            raise
        writer.close()


def _writer(
    kind: Format,
    temporary: Path,
    schema: pa.Schema,
    dialect: Dialect,
    after: DelimitedTable | None,
    int96: bool,
) -> TableWriter:
    if kind is Format.PARQUET:
        return ParquetWriter(temporary, schema, int96)
    if kind is Format.ARROW:
        return ArrowWriter(temporary, schema)
    return DelimitedWriter(temporary, schema, dialect, after)


def check_output_table(table: Path, out: Path, force: bool) -> None:
    """Refuse, before the work begins, a place where the rows of a table cannot go."""
    if table.is_dir():
        if table.resolve() in out.resolve().parents:
            raise ValueError(f"{out} would be a part of {table} itself: write elsewhere")
        if not out.suffix:
            check_output_folder(out, force)
            return
    try:
        format_of(out)
    except ValueError as error:
        other = ", or name a folder, without an ending" if table.is_dir() else ""
        raise ValueError(f"{error}{other}") from None
    check_output(out, force)
