"""``plcp calibrate``: thresholds from a table of predictions and outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plcp.cli.options import Alpha, Categories, Exclude, Features, Force, Json, Seed
from plcp.cli.telling import (
    note,
    now,
    print_json,
    print_table,
    print_values,
    telling,
    working,
)

if TYPE_CHECKING:
    from plcp.tabular import TabularModel

METHODS = ("plcp", "plcp-split", "split", "rectified", "mondrian", "batch-gcp")


def calibrate(
    cal: Annotated[
        Path,
        typer.Argument(
            metavar="CAL",
            help="Calibration rows: Parquet, CSV or Arrow, or a folder of such parts.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file, NAME.plcp.")],
    target: Annotated[str | None, typer.Option(help="Column of outcomes.")] = None,
    prediction: Annotated[str | None, typer.Option(help="Column of predicted numbers.")] = None,
    lower: Annotated[str | None, typer.Option(help="Column of a lower quantile (CQR).")] = None,
    upper: Annotated[str | None, typer.Option(help="Column of an upper quantile (CQR).")] = None,
    probabilities: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="Columns of class probabilities: 'p_*'.")
    ] = None,
    score: Annotated[str | None, typer.Option(help="Column of scores made elsewhere.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of weights of the rows.")] = None,
    features: Features = None,
    exclude: Exclude = None,
    categories: Categories = None,
    sensitive: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Columns to compare the learned groups with."),
    ] = None,
    alpha: Alpha = 0.1,
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            autocompletion=lambda: list(METHODS),
            help="plcp (learned groups), plcp-split (the same, exact in each group), split, "
            "rectified, mondrian or batch-gcp (groups named by --by).",
        ),
    ] = "plcp",
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Columns of known groups: mondrian, batch-gcp."),
    ] = None,
    groups: Annotated[
        int | None, typer.Option(min=1, help="Number of learned groups (default: by the rows).")
    ] = None,
    seed: Seed = 0,
    rows: Annotated[
        int,
        typer.Option(
            min=1,
            help="Hold at most so many rows in memory: of more, a random sample teaches the groups "
            "and all give the thresholds.",
        ),
    ] = 1_000_000,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Learn thresholds from a table of predictions and outcomes, and write them to a file.

    The table may be larger than memory: of more than --rows rows a sample teaches the groups, and
    all give the thresholds; rectified, batch-gcp and weighted tables make do with the sample.

    Example: plcp calibrate cal.parquet --target income --prediction predicted -o income.plcp
    """
    with telling():
        from plcp.files import check_output, match_columns, open_table
        from plcp.tabular import calibrate_file as learn
        from plcp.tabular import choose_roles, save_model

        check_output(out, force, ending=".plcp")
        table = open_table(cal)
        names = table.schema.names
        roles = choose_roles(
            names,
            target=target,
            prediction=prediction,
            lower=lower,
            upper=upper,
            probabilities=probabilities,
            score=score,
            weight=weight,
            features=features,
            exclude=exclude,
            categories=categories,
            where=str(cal),
        )
        columns = match_columns(by, names, str(cal)) if by else []
        compared = match_columns(sensitive, names, str(cal)) if sensitive else []
        with working("learning"):
            model = learn(
                table,
                roles,
                most=rows,
                method=method,
                alpha=alpha,
                by=columns,
                groups=groups,
                seed=seed,
                sensitive=compared,
                about={"file": table.name, "digest": table.digest(), "made_at": now()},
            )
            save_model(model, out, force=force)
        note(*model.notes)
        if as_json:
            print_json({"out": str(out), **_told(model)})
        else:
            _print(model, out)


def _told(model: TabularModel) -> dict[str, Any]:
    """All that the command prints, as plain values."""
    from plcp.tabular import describe_features

    return {
        "method": model.method,
        "alpha": model.alpha,
        "guarantee": model.guarantee,
        "groups": model.groups_table(),
        "columns": describe_features(model),
        "about": dict(model.about),
        "notes": list(model.notes),
    }


def _print(model: TabularModel, out: Path) -> None:
    from plcp.audit.words import number

    told = _told(model)
    columns: dict[tuple[str, str], list[str]] = {}
    for one in told["columns"]:
        values = "" if one["values"] is None else f" ({one['values']:,} values)"
        columns.setdefault((one["kind"], one["rule"]), []).append(one["column"] + values)
    if columns:
        print_table(
            "Columns",
            ("kind", "rule", "column"),
            [(*how, ", ".join(names)) for how, names in columns.items()],
        )
    print_table(
        "Groups",
        ("group", "weight" if model.roles.weight else "rows", "share", "threshold", "what it is"),
        [
            (
                str(one["group"]),
                f"{one['size']:,.0f}",
                f"{100 * one['share']:.1f} %",
                "" if one["threshold"] is None else number(one["threshold"]),
                one["rule"] or one["name"] or "",
            )
            for one in told["groups"]
        ],
    )
    if model.method == "plcp":
        print_values({"Threshold": "of the median row, where it varies within a group."})
    if any(one["rule"] for one in told["groups"]):
        print_values({"What it is": "in words that may fit in part: plcp explain says how well."})
    print_values({"Guarantee": model.guarantee, "Wrote": str(out)})
