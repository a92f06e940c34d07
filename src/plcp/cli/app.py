"""The commands by name; each imports what it needs when run, once its arguments are checked."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from plcp import __version__
from plcp.cli.commands import apply, audit, calibrate, demo, explain, report, reproduce
from plcp.cli.console import reporting_errors
from plcp.experiments.catalogue import ABOUT


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


def _unwrapped(text: str | None) -> str:
    """Return paragraphs of one line each, which the terminal wraps to its own width."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


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


WORK, MEASURE, TRY = "From a table to sets", "Where sets fail", "See it work"
PANELS: dict[Callable[..., None], str] = {
    calibrate: WORK, apply: WORK, audit: MEASURE, report: MEASURE, explain: MEASURE, demo: TRY,
    reproduce: TRY,
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
        help=_unwrapped(command.__doc__),
        rich_help_panel=panel,
        epilog=EXPERIMENTS if command is reproduce else None,
    )(_runnable(command))
