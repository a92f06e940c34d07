"""``plcp apply``: sets as new columns of a table."""

from pathlib import Path
from typing import Annotated

import typer

from plcp.cli.options import Force, Json, Model
from plcp.cli.telling import note, print_json, progress, telling


def apply(
    model: Model,
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="Rows to serve: Parquet, CSV or Arrow.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the rows go, with their sets.")],
    prefix: Annotated[
        str, typer.Option(help="Put before the names of the new columns, where names clash.")
    ] = "",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Add prediction sets to a table: lower and upper (or set), group and threshold.

    Row order and all columns are kept; the table is never whole in memory.

    Example: plcp apply income.plcp new.parquet -o new_with_sets.parquet
    """
    with telling():
        from plcp.files import check_output, create_table, format_of, open_table
        from plcp.files.ahead import ahead
        from plcp.tabular import Applier, load_model

        format_of(out)
        check_output(out, force)
        applier = Applier(load_model(model), prefix)
        table = open_table(new, types=applier.model.column_types)
        schema, rows = applier.schema(table.schema, str(new)), 0
        with create_table(out, schema, force=force) as writer:
            applied = ahead(map(applier.apply, table.batches()))  # while the last one is written
            for batch in progress(applied, table.n_rows):
                writer.write(batch)
                rows += batch.num_rows
        notes = applier.notes()
        note(*notes)
        if as_json:
            added = [name for name in schema.names if name not in table.schema.names]
            print_json({"rows": rows, "added": added, "out": str(out), "notes": notes})
        else:
            print(f"wrote {out}: {rows:,} row{'' if rows == 1 else 's'}")
