"""A table on disk gets its sets, and goes to disk again: one file, or part by part."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from plcp.files import (
    FolderTable,
    TableFile,
    check_output,
    check_output_folder,
    create_table,
    format_of,
    write_folder_atomically,
)
from plcp.files.ahead import ahead
from plcp.tabular.applying import Applier


def check_served(table: Path, out: Path, force: bool) -> None:
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


def serve(
    applier: Applier,
    table: TableFile,
    out: Path,
    *,
    force: bool = False,
    advance: Callable[[int], None] = lambda rows: None,
) -> int:
    """Write the rows of a table with their sets, and return how many there are.

    A folder of parts becomes a folder with a part for each, of the same names, if the name of
    ``out`` has no ending; else all rows go to one file. Nothing is there before all is written,
    and no more than a few batches are in memory.

    Parameters
    ----------
    applier : Applier
        What adds the sets.
    table : TableFile
        The rows.
    out : Path
        Where they go.
    force : bool, default=False
        Whether what is there may be replaced; it may be the table itself.
    advance : callable
        Told how many rows more are written, whenever some are.
    """
    check_served(table.path, out, force)
    if not isinstance(table, FolderTable) or out.suffix:
        return _serve(applier, table, table.schema, out, force, advance)
    rows = 0
    with write_folder_atomically(out, force=force) as folder:
        for part in table.parts:
            path = folder / part.inside
            path.parent.mkdir(parents=True, exist_ok=True)
            rows += _serve(applier, part, part.own, path, force, advance)
    return rows


def _serve(
    applier: Applier,
    table: TableFile,
    kept: pa.Schema,
    out: Path,
    force: bool,
    advance: Callable[[int], None],
) -> int:
    """Write one file: the columns ``kept`` of a table, and the new ones."""
    given = applier.schema(table.schema, str(table.path))
    added = [field for field in given if field.name not in table.schema.names]
    schema, rows = pa.schema([*kept, *added], kept.metadata), 0
    with create_table(out, schema, force=force) as writer:
        # the next batch is made while this one is written
        for batch in ahead(map(applier.apply, table.batches())):
            writer.write(batch.select(schema.names))
            rows += len(batch)
            advance(len(batch))
    return rows
