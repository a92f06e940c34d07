"""Output of commands: results on stdout, all else on stderr, a user's mistake in one line."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import typer

from plcp._files import printable
from plcp.cli import CUT_SHORT, STOPPED, UNABLE, WRONG

if TYPE_CHECKING:
    from rich.console import Console


TEXTS = ("column", "group", "kind", "rule", "what it is", "verdict")  # columns that hold text
# the machine's limits; all other errors of files are about the path that was given
MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.EROFS, errno.ENOMEM)


@contextmanager
def reporting_errors(when_stopped: str = "stopped; nothing was written") -> Iterator[None]:
    """Turn what goes wrong into one line and an exit code, and a polite end into Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal knows Greek
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: note(str(message))
            yield
            print(end="", flush=True)  # a closed pipe raises here
    except typer.Exit:  # a RuntimeError of typer's own
        raise
    except KeyboardInterrupt:
        print(file=sys.stderr)  # after what the terminal shows of Ctrl-C
        _end(when_stopped, STOPPED)
    except (ValueError, RuntimeError) as error:
        _end(str(error), WRONG)
    except MemoryError as error:
        _end(f"not enough memory: {error}; give fewer rows (--rows) or columns", UNABLE)
    except ImportError as error:
        has_remedy = error.name is None or "pip install" in str(error)
        text = f"{error.name} is not installed: pip install 'plcp[cli]'"
        _end(str(error) if has_remedy else text, UNABLE)
    except BrokenPipeError:
        # what is still in the buffer of stdout has no reader: Python would complain when it ends
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        raise typer.Exit(CUT_SHORT) from None
    except OSError as error:
        _end(str(error), UNABLE if error.errno in MACHINE else WRONG)
    finally:
        signal.signal(signal.SIGTERM, before)


def note(*texts: str) -> None:
    """Write sentences to stderr, one per line."""
    for text in texts:
        on_one_line = text.replace("\r", " ").replace("\n", " ")
        print(f"plcp: {printable(on_one_line)}", file=sys.stderr)


def print_text(text: str) -> None:
    """Print lines in which names of columns and values cannot steer the terminal."""
    print(printable(text))


def print_json(values: Any) -> None:
    """Print strict JSON, in which infinity is the text "inf" and what is no number is null."""
    text = json.dumps(_strict(values), indent=2, allow_nan=False, ensure_ascii=False)
    # what could steer a terminal is escaped as in ASCII
    print(re.sub(r"[^\n]", lambda c: c[0] if c[0].isprintable() else json.dumps(c[0])[1:-1], text))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: columns of text to the left and folded, columns of numbers to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        if column in TEXTS:
            table.add_column(Text(column), overflow="fold")
        else:
            table.add_column(Text(column), justify="right", no_wrap=True)
    for row in rows:
        # Text: data is never read as markup
        table.add_row(*(Text(printable(cell)) for cell in row))
    console().print(table)


def print_values(values: Mapping[str, str]) -> None:
    """Print named values, one per line."""
    from rich.text import Text

    for name, value in values.items():
        console().print(Text(f"{name}: ", style="bold").append(printable(value), style="not bold"))


def console(*, stderr: bool = False) -> Console:
    """Return the terminal, which is 100 columns wide where it is none."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich itself would end the program, with the code of a failed check

    stream = sys.stderr if stderr else sys.stdout
    return Terminal(file=stream, width=None if stream.isatty() else 100, highlight=False)


def now() -> str:
    """Return the time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that work goes on, if stderr is a terminal."""
    if sys.stderr.isatty():
        with console(stderr=True).status(what):
            yield
    else:
        yield


@contextmanager
def progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """Show how many rows are done, if stderr is a terminal; yields a function that adds rows."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    shown = sys.stderr.isatty()
    with Progress(*columns, console=console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task("rows", total=total)
        yield lambda rows: bar.advance(task, rows)


def _strict(value: Any) -> Any:
    """Plain values that JSON can hold."""
    if isinstance(value, Mapping):
        return {name: _strict(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _end(text: str, code: int) -> None:
    note(text)
    raise typer.Exit(code) from None
