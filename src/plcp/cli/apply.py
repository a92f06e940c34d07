"""``plcp apply``: sets as new columns of a table."""

from pathlib import Path
from typing import Annotated

import typer

from plcp.cli.options import Force, Json, Model
from plcp.cli.telling import note, print_json, progress, telling


def apply(
    model: Model,
    new: Annotated[
        Path,
        typer.Argument(
            metavar="NEW", help="Rows to serve: Parquet, CSV or Arrow, or a folder of such parts."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the rows go, with their sets.")],
    prefix: Annotated[
        str, typer.Option(help="Put before the names of the new columns, where names clash.")
    ] = "",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Add prediction sets to a table: lower and upper (or set), group and threshold.

    Row order and all columns are kept; the table is never whole in memory. A folder of parts gives
    a folder of parts with the same names, or one file if the name of --out has an ending.

    Example: plcp apply income.plcp new.parquet -o new_with_sets.parquet
    """
    with telling():
        from plcp.files import open_table
        from plcp.tabular import Applier, check_served, load_model, serve

        check_served(new, out, force)
        applier = Applier(load_model(model), prefix)
        table = open_table(new, types=applier.model.column_types)
        schema = applier.schema(table.schema, str(new))
        with progress(table.n_rows) as advance:
            rows = serve(applier, table, out, force=force, advance=advance)
        notes = applier.notes()
        note(*notes)
        if as_json:
            added = [name for name in schema.names if name not in table.schema.names]
            print_json({"rows": rows, "added": added, "out": str(out), "notes": notes})
        else:
            print(f"wrote {out}: {rows:,} row{'' if rows == 1 else 's'}")
