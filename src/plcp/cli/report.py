"""``plcp report``: a page about a model on test rows."""

from pathlib import Path
from typing import Annotated

import typer

from plcp.cli.options import By, Confidence, Force, Json, Model, Rows, Seed
from plcp.cli.telling import note, now, print_json, telling, working


def report(
    model: Model,
    test: Annotated[
        Path,
        typer.Argument(
            metavar="TEST",
            help="Rows with outcomes that nobody calibrated on, or a folder of parts.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page, .html.")],
    by: By = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    rows: Rows = 1_000_000,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a page about a model: what holds, where it is worst, Split beside it.

    Example: plcp report income.plcp test.parquet --by sex,age:5 -o report.html
    """
    with telling():
        from plcp.audit import parse_by, to_text
        from plcp.files import check_output, open_table
        from plcp.report import summarise_model, write_page
        from plcp.tabular import load_model

        check_output(out, force, ending=".html")
        loaded = load_model(model)
        table = open_table(test, types=loaded.column_types)
        with working("measuring"):
            taken = table.read(most=rows, seed=seed)
            summary = summarise_model(
                loaded,
                taken,
                by=parse_by(by) if by else (),
                confidence=confidence,
                digest=table.digest(),
                provenance={"test file": table.name, "made at": now()},
                notes=table.sample_note(len(taken)),
                where=str(test),
            )
            write_page(summary, out, force=force)
        if warning := summary["headline"]["warning"]:
            note(warning)
        if as_json:
            print_json(summary)
        else:
            print(f"{to_text(summary)}\n\nwrote {out}")
