"""The command ``plcp``."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

MOST_JOBS = 4  # by default: a trial may take a gigabyte


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code is 0 if it worked."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.version:
        from plcp import __version__

        print(__version__)
        return 0
    if options.command is None:
        parser.print_help()
        return 0
    return options.run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="plcp", description="Prediction sets that hold for each kind of input."
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    commands = parser.add_subparsers(dest="command")
    _add_demo(commands)
    _add_reproduce(commands)
    return parser


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser("demo", help="Split beside PLCP on generated data: table and plot")
    demo.add_argument("--out", type=Path, default=Path("demo.png"), help="where the plot goes")
    demo.add_argument("--seed", type=int, default=0)
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    """Print the table at once; a plot without matplotlib is said to be missing, not a failure."""
    from plcp.demo import format_table, plot_demo, run_demo

    print("The paper's synthetic task: 100 covariates, noise that grows with ten of them.")
    print("A linear model, 10,000 calibration rows, target coverage 0.9. Nobody says which ten.\n")
    outcomes = run_demo(seed=options.seed)
    print(format_table(outcomes))
    try:
        plot_demo(outcomes, options.out)
    except ImportError:
        print("\nno plot: pip install 'plcp[plot]'", file=sys.stderr)
    else:
        print(f"\nplot saved to {options.out}")
    return 0


def _add_reproduce(commands: Any) -> None:
    from plcp.experiments.catalogue import ABOUT, NAMES

    command = commands.add_parser(
        "reproduce",
        help="an experiment of the paper: figure, table, and what they say",
        description="Run an experiment of the paper beside the default of this library. Finished\n"
        "trials are kept: the same command, given again, goes on where it was stopped.",
        epilog="names:\n" + "\n".join(f"  {name:<20}  {what}" for name, what in ABOUT.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "name",
        type=lambda text: text.replace("_", "-"),
        choices=NAMES,
        metavar="NAME",
        help="which one: see below",
    )
    command.add_argument(
        "--trials",
        type=_count,
        help="how many (default: 100 for synthetic, as in the paper, 5 or 20 else; 2 if quick)",
    )
    command.add_argument("--seed", type=_seed, default=0, help="of the first trial (default 0)")
    command.add_argument(
        "--jobs",
        type=_jobs,
        default=min(MOST_JOBS, os.cpu_count() or 1),
        help="trials at once, -1 for one a core (default %(default)s); results do not depend on it",
    )
    command.add_argument(
        "--data-dir",
        type=Path,
        help="where data files lie (default: PLCP_DATA, else the user's cache)",
    )
    command.add_argument(
        "--out", type=Path, default=Path("results"), help="where results go (default ./results)"
    )
    command.add_argument(
        "--quick", action="store_true", help="small settings, to see that it works in a minute"
    )
    command.set_defaults(run=_reproduce)


def _reproduce(options: argparse.Namespace) -> int:
    """Print what came of it; what is missing or cannot be written is said in one line."""
    from plcp.experiments import reproduce
    from plcp.experiments.page import to_text

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not every terminal knows Greek
    try:
        with _stopped_in_order():
            done = reproduce(
                options.name,
                options.trials,
                options.seed,
                options.jobs,
                options.data_dir,
                options.out,
                options.quick,
                verbose=True,
            )
    except (OSError, ImportError, RuntimeError, ValueError) as error:
        print(f"plcp: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\nplcp: stopped; finished trials are kept, the same command goes on", file=sys.stderr
        )
        return 130
    print(to_text(done.report))
    print("\n" + "\n".join(f"wrote {path}" for path in done.files))
    return 0


@contextmanager
def _stopped_in_order() -> Iterator[None]:
    """Let a polite end be as Ctrl-C is: else workers would live on, and work for nobody."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _count(text: str) -> int:
    return _whole(text, least=1)


def _seed(text: str) -> int:
    return _whole(text, least=0)


def _jobs(text: str) -> int:
    return -1 if text == "-1" else _whole(text, least=1)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} up")
    return value
