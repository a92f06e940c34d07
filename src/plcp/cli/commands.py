"""What each command takes and does; it imports what it needs once its arguments are checked."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from plcp import __version__
from plcp.cli import FAILED
from plcp.cli.console import (
    note,
    now,
    print_json,
    print_table,
    print_text,
    print_values,
    progress,
    reporting_errors,
    working,
)
from plcp.comparison.roster import ROSTER
from plcp.experiments.catalogue import ABOUT
from plcp.tables.roles import METHODS, ColumnOptions, CsvOptions, FeatureOptions

if TYPE_CHECKING:
    from plcp.tables import TabularModel

# A parameter whose type is a dataclass stands for an option per field: see `_options_of`
Model = Annotated[Path, typer.Argument(metavar="MODEL.plcp", help="What `calibrate` wrote.")]
Alpha = Annotated[
    float, typer.Option(help="Miscoverage rate: 0.1 gives sets that cover 90 % of rows.")
]
Alphas = Annotated[
    list[float] | None,
    typer.Option(
        "--alpha",
        show_default="0.1",
        help="Miscoverage rate: 0.1 gives sets that cover 90 % of rows. Given several times, "
        "rows get a set for each, and the groups are those of the first.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns to group by: sex,race,age:5 (age in five groups of equal size).",
    ),
]
Confidence = Annotated[float, typer.Option(help="Probability with which intervals hold.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Rows = Annotated[
    int,
    typer.Option(min=1, help="Hold at most so many rows in memory: of more, a random sample."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")]


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Where the plot goes.")] = Path("demo.png"),
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare Split with PLCP on generated data: a table and a plot.

    Example: plcp demo --out demo.png
    """
    from plcp._files import check_output

    check_output(out, force=True)
    from plcp.cli._demo import format_table, plot_demo, run_demo, to_dict

    if not as_json:
        print("The paper's synthetic task: 100 covariates, noise that grows with ten of them.")
        print("A linear model, 10,000 calibration rows, target coverage 0.9.")
        print("No method is given these ten.\n", flush=True)
    outcomes = run_demo(seed=seed)
    if as_json:
        print_json(to_dict(outcomes))
    else:
        print(format_table(outcomes))
    try:
        plot_demo(outcomes, out)
    except ImportError:  # the table is what matters
        note("no plot: pip install 'plcp[plot]'")
    else:
        note(f"plot saved to {out}")


MOST_TYPICAL = 2  # differences in a table; plcp explain has more
WHAT_IT_IS = (
    "a rule that holds for at least 80 % of the group, and whose rows are at least 80 % in it; "
    "otherwise, its largest differences from the other groups: plcp explain has more."
)


def calibrate(
    *,
    cal: Annotated[
        Path,
        typer.Argument(
            metavar="CAL",
            help="Calibration rows: Parquet, CSV or Arrow, or a folder of such parts.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file, NAME.plcp.")],
    columns: ColumnOptions,
    sensitive: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Columns to compare the learned groups with."),
    ] = None,
    alpha: Alphas = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Cover 1 - alpha for this share of calibration sets, as 0.95 (default: on "
            "average over them); for the methods "
            + ", ".join(name for name, one in METHODS.items() if one.takes_confidence)
            + ".",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            autocompletion=lambda: list(METHODS),
            help=", ".join(f"{name} ({one.help})" for name, one in METHODS.items()) + ".",
        ),
    ] = "plcp",
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Columns of groups, for methods that take them."),
    ] = None,
    groups: Annotated[
        int | None, typer.Option(min=1, help="Number of learned groups (default: by the rows).")
    ] = None,
    label_conditional: Annotated[
        bool,
        typer.Option(
            "--label-conditional",
            help="Cover each label, not only all on average: thresholds of its own for each.",
        ),
    ] = False,
    seed: Seed = 0,
    rows: Annotated[
        int,
        typer.Option(
            min=1,
            help="Hold at most so many rows in memory: of more, a random sample learns the groups "
            "and all give the thresholds.",
        ),
    ] = 1_000_000,
    csv: CsvOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Learn thresholds from a table of predictions and outcomes, and write them to a file.

    The table may be larger than memory: of more than --rows rows a sample learns the groups, and
    all give the thresholds; of weighted tables, by methods that need all rows at once, and with
    --label-conditional, the sample alone is used.

    Example: plcp calibrate cal.parquet --target income --prediction predicted -o income.plcp
    """
    from plcp._files import check_output, match_columns
    from plcp._options import check_option, check_rate, check_share
    from plcp.tables import choose_roles
    from plcp.tables.io import check_input_table, open_table

    check_output(out, force, ending=".plcp")
    check_input_table(cal)
    check_option("method", method, tuple(METHODS))
    for one in alpha or ():
        check_rate(one)
    if confidence is not None:
        check_share("confidence", confidence)
    table = open_table(cal, csv=csv)
    names = table.schema.names
    roles = choose_roles(names, where=str(cal), **vars(columns))
    grouped_by = match_columns(by, names, str(cal)) if by else []
    compared = match_columns(sensitive, names, str(cal)) if sensitive else []
    from plcp.tables import calibrate_file as learn, describe_features, save_model

    with working("learning"):
        model = learn(
            table,
            roles,
            most=rows,
            method=method,
            alpha=0.1 if not alpha else alpha[0] if len(alpha) == 1 else alpha,
            confidence=confidence,
            by=grouped_by,
            groups=groups,
            label_conditional=label_conditional,
            seed=seed,
            sensitive=compared,
            about={"file": table.name, "digest": table.digest(), "made_at": now()},
        )
        save_model(model, out, force=force)
    note(*model.notes)
    if as_json:
        print_json(
            {
                "out": str(out),
                "method": model.method,
                "alpha": model.alpha,
                "alphas": model.alphas,
                "guarantee": model.guarantee.to_dict(),
                "groups": model.groups_table(),
                "columns": describe_features(model),
                "about": dict(model.about),
                "notes": list(model.notes),
            }
        )
    else:
        _print(model, out)


def _what_it_is(group: dict[str, Any]) -> str:
    """Rule of a group, or else what is typical of it, or its name."""
    if group["rule"] is None:
        return group["name"] or ""
    return group["rule"] or "; ".join(["no short rule", *group["typical"][:MOST_TYPICAL]])


def _print(model: TabularModel, out: Path) -> None:
    from plcp.evaluation.formatting import number
    from plcp.tables import describe_features

    columns: dict[tuple[str, str], list[str]] = {}
    for one in describe_features(model):
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
                _what_it_is(one),
            )
            for one in model.groups_table()
        ],
    )
    remarks = {}
    if model.method == "plcp":
        remarks["Threshold"] = "of the median row, where it varies within a group."
    if model.explanation is not None:
        from plcp.explain.explanation import what_was_considered

        words = model.explanation
        remarks["What it is"] = WHAT_IT_IS
        if screened := what_was_considered(words["n_columns"], words["n_considered"]):
            remarks["Columns"] = screened
    if model.others:
        further = ", ".join(f"{alpha:g}" for alpha in model.alphas[1:])
        remarks["Alpha"] = f"{model.alpha:g}; rows get sets for {further} too."
    print_values({**remarks, "Guarantee": str(model.guarantee), "Wrote": str(out)})


def apply(
    *,
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
    csv: CsvOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Add prediction sets to a table: lower and upper (or set), group and threshold.

    All rows and columns are kept as they are, in their order, from CSV to CSV byte for byte; the
    table is never whole in memory. A folder of parts gives a folder of parts with the same names,
    or one file if the name of --out has an ending.

    Example: plcp apply income.plcp new.parquet -o new_with_sets.parquet
    """
    from plcp.tables.io import check_output_table, open_table

    _check_inputs(model, new)
    check_output_table(new, out, force)
    from plcp.tables import Applier, load_model, serve

    applier = Applier(load_model(model), prefix)
    known = applier.model
    table = open_table(new, types=known.column_types, parsed=known.needed, csv=csv)
    schema = applier.schema(table.schema, str(new))
    with progress(table.n_rows) as advance:
        rows = serve(applier, table, out, force=force, csv=csv, advance=advance)
    notes = applier.notes()
    note(*notes)
    if as_json:
        added = [name for name in schema.names if name not in table.schema.names]
        print_json({"rows": rows, "added": added, "out": str(out), "notes": notes})
    else:
        print_text(f"wrote {out}: {rows:,} row{'' if rows == 1 else 's'}")


def _check_inputs(model: Path, table: Path) -> None:
    from plcp._files import check_input
    from plcp.tables.io import check_input_table

    if table.suffix.lower() == ".plcp":
        raise ValueError(f"{table} is a model, not a table: name the model first, then the table")
    check_input(model)
    check_input_table(table)


def audit(
    *,
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
        str | None, typer.Option(help="Column of whether the set held the outcome.")
    ] = None,
    size: Annotated[str | None, typer.Option(help="Column of sizes, beside --covered.")] = None,
    by: By = None,
    chosen: FeatureOptions,
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
    csv: CsvOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find where prediction sets fail, whichever library made them.

    Measures coverage by the columns of --by, and learns on one half of the rows which kinds of rows
    are missed most, measured on the other half.

    Example: plcp audit sets.csv --target y --lower lo --upper hi --by sex,age:5 -o audit.html
    """
    from plcp._files import check_output, find_column, match_columns
    from plcp._options import check_rate, check_share
    from plcp.evaluation import parse_by
    from plcp.evaluation.roles import audited_columns
    from plcp.tables.io import check_input_table, open_table

    if out is not None:
        check_output(out, force, ending=".html")
    check_input_table(data)
    check_rate(alpha)
    check_share("confidence", confidence)
    if fail_under is not None:
        check_share("fail_under", fail_under)
    grouped_by = parse_by(by) if by else ()
    table = open_table(data, csv=csv)
    names = table.schema.names
    columns = {
        "target": target, "lower": lower, "upper": upper, "sets": sets, "covered": covered,
        "size": size,
    }  # fmt: skip
    given = {**columns, "by": by, **vars(chosen), "fail_under": fail_under}
    audited_columns(names, str(data), **columns)
    for item in grouped_by:
        find_column(item.column, names, str(data))
    features, exclude, categories = (
        match_columns(text, names, str(data)) if text else None for text in vars(chosen).values()
    )
    from plcp.evaluation import audit as audit_table
    from plcp.storage.files import core_versions
    from plcp.tables import codes_as_text

    with working("auditing"):
        taken = table.read(most=rows, seed=seed)
        found = audit_table(
            codes_as_text(taken, categories or ()),
            **columns,
            by=grouped_by,
            features=features,
            exclude=exclude or (),
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
                "options": ", ".join(
                    f"{name} {value}" for name, value in given.items() if value is not None
                ),
                "versions": ", ".join(" ".join(one) for one in core_versions().items()),
            },
        )
        if out is not None:
            found.to_html(out, force=force)
    if warning := found.headline["warning"]:
        note(warning)
    if as_json:
        print_json(found.to_dict())
    else:
        print_text(found.to_text())
        if out is not None:
            print_text(f"\nwrote {out}")
    if fail_under is not None:
        broken = found.violations(fail_under)
        note(*broken)
        if broken:
            raise typer.Exit(FAILED)


def compare(
    *,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="Rows with outcomes and predictions of a model that has not seen them, or a "
            "folder of parts.",
        ),
    ],
    target: Annotated[str, typer.Option(help="Column of outcomes.")],
    prediction: Annotated[str | None, typer.Option(help="Column of predicted numbers.")] = None,
    lower: Annotated[
        str | None, typer.Option(help="Column of a lower quantile, as for CQR.")
    ] = None,
    upper: Annotated[
        str | None, typer.Option(help="Column of an upper quantile, as for CQR.")
    ] = None,
    probabilities: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Columns of class probabilities: 'p_*'."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns of groups that you care about: sex,race,age:5 (age in five groups of "
            "equal size). Methods that need groups take part if they are named.",
        ),
    ] = None,
    chosen: FeatureOptions,
    methods: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Methods to compare: all, or names with commas between them, of "
            + ", ".join(name for name, one in ROSTER.items() if "model" not in one.needs)
            + ".",
        ),
    ] = "all",
    alpha: Alpha = 0.1,
    cv: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    confidence: Confidence = 0.95,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Draw a picture, .png.")] = None,
    seed: Seed = 0,
    rows: Rows = 10_000,
    csv: CsvOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare all methods on the same rows, and recommend one, with its reason.

    Each fold of rows gets sets calibrated on the others, by every method; MAPIE and crepes take
    part where they are installed. Conditional error, worst group, size and time have paired
    intervals for their differences.

    Example: plcp compare cal.parquet --target income --prediction predicted --by sex -o methods.png
    """
    from importlib.util import find_spec

    from plcp._files import check_output, find_column, write_atomically
    from plcp._options import check_rate, check_share
    from plcp.comparison.roster import check_names
    from plcp.evaluation import parse_by
    from plcp.tables import choose_roles
    from plcp.tables.io import check_input_table, open_table

    if out is not None:
        check_output(out, force, ending=".png")
        if find_spec("matplotlib") is None:
            raise ImportError("a picture needs matplotlib: pip install 'plcp[plot]'")
    check_input_table(data)
    check_rate(alpha)
    check_share("confidence", confidence)
    names = [name.strip() for name in methods.split(",") if name.strip()]
    wanted = "all" if names == ["all"] else check_names(names)
    grouped_by = parse_by(by) if by else ()
    table = open_table(data, csv=csv)
    roles = choose_roles(
        table.schema.names,
        where=str(data),
        target=target,
        prediction=prediction,
        lower=lower,
        upper=upper,
        probabilities=probabilities,
        **vars(chosen),
    )
    for item in grouped_by:
        find_column(item.column, table.schema.names, str(data))
    from plcp.comparison import compare_table

    has_bar = sys.stderr.isatty() and find_spec("tqdm") is not None
    with nullcontext() if has_bar else working("comparing"):
        taken = table.read(most=rows, seed=seed)
        found = compare_table(
            taken,
            roles,
            by=grouped_by,
            notes=table.sample_note(len(taken)),
            methods=wanted,
            alpha=alpha,
            cv=cv,
            confidence=confidence,
            max_rows=rows,
            random_state=seed,
            verbose=has_bar,
        )
        if out is not None:
            with write_atomically(out, force=force) as path:
                found.plot().figure_.savefig(path, dpi=150, format="png")
    if as_json:
        print_json(found.to_dict())
    else:
        print_text(f"{found}\n\n{_next_step(found.recommended)}")
        if out is not None:
            print_text(f"wrote {out}")


def _next_step(method: str) -> str:
    if method in METHODS:
        return f"Next: plcp calibrate --method {method}, with the same table and columns"
    return f"plcp calibrate has no method {method}: use it from Python"


def report(
    *,
    model: Model,
    test: Annotated[
        Path,
        typer.Argument(
            metavar="TEST",
            help="Rows with outcomes, not those of calibration, or a folder of parts.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page, .html.")],
    by: By = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    rows: Rows = 1_000_000,
    csv: CsvOptions,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a page about a model: the groups that Split fails, beside the model, and what holds.

    Example: plcp report income.plcp test.parquet --by sex,age:5 -o report.html
    """
    from plcp._files import check_output
    from plcp._options import check_share
    from plcp.evaluation import parse_by
    from plcp.tables.io import open_table

    check_output(out, force, ending=".html")
    _check_inputs(model, test)
    check_share("confidence", confidence)
    columns = parse_by(by) if by else ()
    from plcp.tables import load_model
    from plcp.tables.report import summarise_model

    loaded = load_model(model)
    table = open_table(test, types=loaded.column_types, csv=csv)
    with working("measuring"):
        taken = table.read(most=rows, seed=seed)
        found = summarise_model(
            loaded,
            taken,
            by=columns,
            confidence=confidence,
            digest=table.digest(),
            provenance={"test file": table.name, "made at": now()},
            notes=table.sample_note(len(taken)),
            where=str(test),
        )
        found.to_html(out, force=force)
    if warning := found.headline["warning"]:
        note(warning)
    if as_json:
        print_json(found.to_dict())
    else:
        print_text(f"{found.to_text()}\n\nwrote {out}")


def explain(model: Model, as_json: Json = False) -> None:
    """Describe the learned groups of a model as rules on the columns of the data.

    Example: plcp explain income.plcp
    """
    from plcp._files import check_input

    check_input(model)
    from plcp.explain import Explanation
    from plcp.tables import load_manifest

    manifest = load_manifest(model)
    explanation = manifest["explanation"]
    if explanation is None:
        why = f"the method {manifest['method']} learns none"
        if manifest["about"]["options"].get("label_conditional"):
            why = "each label has thresholds of its own"
        raise ValueError(f"{model} has no groups to explain: {why}")
    if as_json:
        print_json(explanation)
    else:
        print_text(Explanation.from_dict(explanation).to_text())


MOST_JOBS = 4  # by default: a trial may take a gigabyte


def _name(text: str) -> str:
    name = text.replace("_", "-")
    if name not in ABOUT:
        raise typer.BadParameter(
            f"no experiment is called {text!r}: take one of {', '.join(ABOUT)}"
        )
    return name


def _jobs(count: int) -> int:
    if count < 1 and count != -1:
        raise typer.BadParameter(f"{count} is neither -1 nor a whole number from 1 up")
    return count


def reproduce(
    *,
    name: Annotated[
        str,
        typer.Argument(
            callback=_name,
            metavar="NAME",
            help="Which one: see below.",
            autocompletion=lambda: [*ABOUT],
        ),
    ],
    trials: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many (100 for synthetic, as in the paper, 5 or 20 else; 2 if quick)."
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Annotated[
        int,
        typer.Option(
            callback=_jobs,
            show_default=f"one per core, at most {MOST_JOBS}",
            help="Trials at once, -1 for one per core; results are the same.",
        ),
    ] = min(MOST_JOBS, os.cpu_count() or 1),
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Where data files lie (default: PLCP_DATA, else the user's cache)."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results go.")] = Path("results"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Small settings, to see that it works in a minute.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment of the paper: figure, table, and what they show.

    Finished trials are kept: the same command, given again, goes on where it was stopped.

    Example: plcp reproduce toy --quick
    """
    from plcp.experiments import reproduce as run
    from plcp.experiments.report import to_text

    done = run(name, trials, seed, jobs, data_dir, out, quick, verbose=True)
    if as_json:
        print_json({"records": done.records, "files": [str(path) for path in done.files]})
    else:
        print_text(to_text(done.report))
        print_text("\n" + "\n".join(f"wrote {path}" for path in done.files))


class _PlainFlags:
    """Shows a flag by its name alone: ``--force`` takes no value."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_PlainFlags, TyperCommand):
    pass


class _Commands(_PlainFlags, TyperGroup):
    pass


app = typer.Typer(
    cls=_Commands,
    help="Prediction sets that hold for each kind of input, not only on average.",
    epilog="Exit codes: 0 done, 1 a check failed (audit --fail-under), 2 wrong options or input, "
    "3 could not be done (disk, memory, a missing package), 130 stopped, 141 its output was no "
    "longer read.",
    pretty_exceptions_enable=False,  # a traceback is for developers, as plain text
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def doctor(*, as_json: Json = False) -> None:
    """Print versions, extras, threads and a self-test of coverage, for a report of a bug.

    Example: plcp doctor
    """
    from plcp.cli._doctor import examine

    with working("Testing"):
        found = examine()
    test = found["self-test"]
    if as_json:
        print_json(found)
    else:
        print_values({name: found[name] for name in ("plcp", "python", "platform")})
        print_values({"core": _versions(found["core"])})
        print_values({f"plcp[{name}]": _versions(own) for name, own in found["extras"].items()})
        print_values({"threads": ", ".join(f"{k} {n}" for k, n in found["threads"].items())})
        low, high = test["expected between"]
        covered = f"coverage {test['coverage']:.4f}, expected between {low:.4f} and {high:.4f}"
        print_values({"self-test": f"{'passed' if test['passed'] else 'FAILED'}: {covered}"})
    if not test["passed"]:
        raise typer.Exit(FAILED)


def _versions(packages: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {own or 'not installed'}" for name, own in packages.items())


WORK, MEASURE, TRY = "From a table to sets", "Where sets fail", "See it work"
PANELS: dict[Callable[..., None], str] = {
    calibrate: WORK, apply: WORK, compare: WORK, audit: MEASURE, report: MEASURE, explain: MEASURE,
    demo: TRY, reproduce: TRY, doctor: TRY,
}  # fmt: skip
EXPERIMENTS = "\n\n".join(f"{name}: {what}" for name, what in ABOUT.items())
RESUMABLE = "stopped; finished trials are kept, the same command goes on"


def _runnable(command: Callable[..., None]) -> Callable[..., None]:
    """Return what typer runs: options for the fields of dataclasses, errors in one line."""
    signature = inspect.signature(command, eval_str=True)
    given = {name: one.annotation for name, one in signature.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in given.items() if is_dataclass(kind)}
    stopped = {"when_stopped": RESUMABLE} if command is reproduce else {}

    def run(**values: Any) -> None:
        with reporting_errors(**stopped):
            for name, group in groups.items():
                values[name] = group(**{one.name: values.pop(one.name) for one in fields(group)})
            command(**values)

    def parameters() -> Iterator[inspect.Parameter]:
        for name, parameter in signature.parameters.items():
            yield from _options_of(groups[name]) if name in groups else (parameter,)

    run.__name__ = command.__name__
    run.__signature__ = signature.replace(parameters=[*parameters()])  # type: ignore[attr-defined]
    return run


def _options_of(group: Any) -> Iterator[inspect.Parameter]:
    """Yield a parameter per field of a dataclass, whose metadata hold its help."""
    for one in fields(group):
        flag = [f"--{one.name.replace('_', '-')}"] if one.type is bool else []
        option = typer.Option(*flag, **one.metadata)
        yield inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=one.default,
            annotation=Annotated[one.type, option],
        )


for command, panel in PANELS.items():
    app.command(
        cls=_Command,
        # paragraphs of one line each, which the terminal wraps to its own width
        help=re.sub(r"(?<!\n)\n(?!\n) *", " ", inspect.getdoc(command) or ""),
        rich_help_panel=panel,
        epilog=EXPERIMENTS if command is reproduce else None,
    )(_runnable(command))
