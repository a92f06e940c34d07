"""The commands by name; each is imported with nothing heavy, and imports what it needs when run."""

from typing import Annotated

import typer

from plcp import __version__
from plcp.cli.apply import apply
from plcp.cli.audit import audit
from plcp.cli.calibrate import calibrate
from plcp.cli.demo import demo
from plcp.cli.explain import explain
from plcp.cli.report import report
from plcp.cli.reproduce import reproduce
from plcp.experiments.catalogue import ABOUT

app = typer.Typer(
    help="Prediction sets that hold for each kind of input, not only on average.",
    epilog="Exit codes: 0 done, 1 a check failed (audit --fail-under), 2 wrong options or input, "
    "3 could not be done (disk, memory, a missing package), 130 stopped, 141 its output was no "
    "longer read.",
    pretty_exceptions_enable=False,  # a traceback is for whoever mends plcp, as plain text
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


WORK, LOOK, TRY = "From a table to sets", "Where sets fail", "See it work"
app.command(rich_help_panel=WORK)(calibrate)
app.command(rich_help_panel=WORK)(apply)
app.command(rich_help_panel=LOOK)(audit)
app.command(rich_help_panel=LOOK)(report)
app.command(rich_help_panel=LOOK)(explain)
app.command(rich_help_panel=TRY)(demo)
app.command(
    rich_help_panel=TRY, epilog="\n\n".join(f"{name}: {what}" for name, what in ABOUT.items())
)(reproduce)
