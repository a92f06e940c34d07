"""The command ``plcp``."""

import argparse
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code is 0 if it worked."""
    parser = argparse.ArgumentParser(
        prog="plcp", description="Prediction sets that hold for each kind of input."
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    commands = parser.add_subparsers(dest="command")
    demo = commands.add_parser("demo", help="Split beside PLCP on generated data: table and plot")
    demo.add_argument("--out", type=Path, default=Path("demo.png"), help="where the plot goes")
    demo.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.version:
        from plcp import __version__

        print(__version__)
    elif options.command == "demo":
        _demo(options.out, options.seed)
    else:
        parser.print_help()
    return 0


def _demo(out: Path, seed: int) -> None:
    """Print the table at once; a plot without matplotlib is said to be missing, not a failure."""
    from plcp.demo import format_table, plot_demo, run_demo

    print("The paper's synthetic task: 100 covariates, noise that grows with ten of them.")
    print("A linear model, 10,000 calibration rows, target coverage 0.9. Nobody says which ten.\n")
    outcomes = run_demo(seed=seed)
    print(format_table(outcomes))
    try:
        plot_demo(outcomes, out)
    except ImportError:
        print("\nno plot: pip install 'plcp[plot]'", file=sys.stderr)
    else:
        print(f"\nplot saved to {out}")
