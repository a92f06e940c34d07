"""``plcp audit``: where the sets of any library fail."""

from pathlib import Path
from typing import Annotated

import typer

from plcp.cli import FAILED
from plcp.cli.options import (
    Alpha,
    By,
    Categories,
    Confidence,
    Exclude,
    Features,
    Force,
    Json,
    Rows,
    Seed,
)
from plcp.cli.telling import note, now, print_json, telling, working


def audit(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Rows with sets and outcomes, or a folder of parts."),
    ],
    target: Annotated[str | None, typer.Option(help="Column of outcomes.")] = None,
    lower: Annotated[str | None, typer.Option(help="Column of lower ends.")] = None,
    upper: Annotated[str | None, typer.Option(help="Column of upper ends.")] = None,
    sets: Annotated[
        str | None, typer.Option("--set", help="Column of label sets: lists, or text as a|b|c.")
    ] = None,
    covered: Annotated[
        str | None, typer.Option(help="Column that says whether the set held the outcome.")
    ] = None,
    size: Annotated[str | None, typer.Option(help="Column of sizes, beside --covered.")] = None,
    by: By = None,
    features: Features = None,
    exclude: Exclude = None,
    categories: Categories = None,
    alpha: Alpha = 0.1,
    confidence: Confidence = 0.95,
    fail_under: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Exit with 1 if the coverage of all or of a group is below this, beyond chance.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a page, .html.")] = None,
    seed: Seed = 0,
    rows: Rows = 2_000_000,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find where prediction sets fail, whichever library made them.

    Looks at the columns named by --by, and learns on one half of the rows which kinds of them are
    missed most, measured on the other half.

    Example: plcp audit sets.csv --target y --lower lo --upper hi --by sex,age:5 -o audit.html
    """
    with telling():
        from plcp.audit import audit as look
        from plcp.audit import to_text, violations
        from plcp.certificate.surroundings import core_versions
        from plcp.files import check_output, match_columns, open_table
        from plcp.report import write_page
        from plcp.tabular import codes_as_text

        if out is not None:
            check_output(out, force, ending=".html")
        table = open_table(data)
        names = table.schema.names
        columns = {
            "target": target, "lower": lower, "upper": upper, "sets": sets, "covered": covered,
            "size": size,
        }  # fmt: skip
        with working("auditing"):
            taken = table.read(most=rows, seed=seed)
            codes = match_columns(categories, names, str(data)) if categories else ()
            summary = look(
                codes_as_text(taken, codes),
                **columns,
                by=by or (),
                features=match_columns(features, names, str(data)) if features else None,
                exclude=match_columns(exclude, names, str(data)) if exclude else (),
                alpha=alpha,
                confidence=confidence,
                seed=seed,
                title=f"Audit of {table.name}",
                notes=table.sample_note(len(taken)),
                provenance={
                    "file": table.name,
                    "SHA-256 of the file": table.digest(),
                    "made at": now(),
                    "seed": seed,
                    "options": _told(
                        **columns,
                        by=by,
                        features=features,
                        exclude=exclude,
                        categories=categories,
                        fail_under=fail_under,
                    ),
                    "versions": ", ".join(" ".join(one) for one in core_versions().items()),
                },
            )
            if out is not None:
                write_page(summary, out, force=force)
        if warning := summary["headline"]["warning"]:
            note(warning)
        if as_json:
            print_json(summary)
        else:
            print(to_text(summary))
            if out is not None:
                print(f"\nwrote {out}")
        if fail_under is not None:
            broken = violations(summary, fail_under)
            note(*broken)
            if broken:
                raise typer.Exit(FAILED)


def _told(**options: str | float | None) -> str:
    """Options that were given, in one line."""
    return ", ".join(f"{name} {value}" for name, value in options.items() if value is not None)
