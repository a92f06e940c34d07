"""``plcp demo``: Split beside PLCP on generated data."""

from pathlib import Path
from typing import Annotated

import typer

from plcp.cli.options import Json, Seed
from plcp.cli.telling import note, print_json, telling


def demo(
    out: Annotated[Path, typer.Option(help="Where the plot goes.")] = Path("demo.png"),
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare Split with PLCP on generated data: a table and a plot.

    Example: plcp demo --out demo.png
    """
    with telling():
        from plcp.demo import format_table, plot_demo, run_demo, to_dict

        if not as_json:
            print("The paper's synthetic task: 100 covariates, noise that grows with ten of them.")
            print("A linear model, 10,000 calibration rows, target coverage 0.9.")
            print("Nobody says which ten.\n", flush=True)
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
