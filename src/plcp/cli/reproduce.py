"""``plcp reproduce``: an experiment of the paper."""

import os
from pathlib import Path
from typing import Annotated

import typer

from plcp.cli.options import Json, Seed
from plcp.cli.telling import print_json, telling
from plcp.experiments.catalogue import ABOUT

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
            callback=_jobs, help="Trials at once, -1 for one a core; results are the same."
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
    """Run an experiment of the paper: figure, table, and what they say.

    Finished trials are kept: the same command, given again, goes on where it was stopped.

    Example: plcp reproduce toy --quick
    """
    with telling("stopped; finished trials are kept, the same command goes on"):
        from plcp.experiments import reproduce as run
        from plcp.experiments.page import to_text

        done = run(name, trials, seed, jobs, data_dir, out, quick, verbose=True)
        if as_json:
            print_json({"records": done.records, "files": [str(path) for path in done.files]})
        else:
            print(to_text(done.report))
            print("\n" + "\n".join(f"wrote {path}" for path in done.files))
