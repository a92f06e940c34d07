"""Split beside PLCP on the paper's synthetic task: the first thing to run."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from plcp.conformal import ConformalRegressor
from plcp.datasets import make_synthetic
from plcp.metrics import GroupCoverage, coverage_by_group, msce
from plcp.thresholds import PLCP, Guarantee, SplitConformal, ThresholdRule

ALPHA = 0.1
FIFTHS = ("quietest fifth", "second", "third", "fourth", "noisiest fifth")


class Outcome(NamedTuple):
    """What one rule reached on the test rows."""

    name: str
    table: GroupCoverage
    coverage: float
    length: float
    msce: float
    guarantee: Guarantee


def run_demo(
    n_train: int = 20_000, n_cal: int = 10_000, n_test: int = 100_000, seed: int = 0
) -> list[Outcome]:
    """Train a linear model, calibrate it twice, and measure both on fifths of the true noise."""
    train, cal, test = (
        make_synthetic(n, random_state=seed + i) for i, n in enumerate((n_train, n_cal, n_test))
    )
    model = FrozenEstimator(LinearRegression().fit(train.X, train.y))
    edges = np.quantile(test.sigma, np.arange(1, 5) / 5)
    fifths = np.searchsorted(edges, test.sigma)
    rules: dict[str, ThresholdRule] = {
        "Split": SplitConformal(ALPHA),
        "PLCP": PLCP(alpha=ALPHA, random_state=seed),
    }
    outcomes = []
    for name, rule in rules.items():
        conformal = ConformalRegressor(model, threshold=rule).fit(cal.X, cal.y)
        sets = conformal.predict_set(test.X)
        covered, q = sets.contains(test.y), sets.size / 2
        outcomes.append(
            Outcome(
                name,
                coverage_by_group(covered, fifths, sets.size),
                float(covered.mean()),
                float(sets.size.mean()),
                float(msce(test.conditional_coverage(q, model.predict(test.X)), ALPHA)),
                conformal.guarantee_,
            )
        )
    return outcomes


def format_table(outcomes: list[Outcome]) -> str:
    """Coverage and length by fifth of the noise, one line each, and what holds."""
    names = "".join(f"{outcome.name:>20s}" for outcome in outcomes)
    lines = [
        f"{'coverage (length) of':24s}{names}",
        *(
            f"{label:24s}"
            + "".join(f"{o.table.coverage[i]:12.3f} ({o.table.size[i]:5.2f})" for o in outcomes)
            for i, label in enumerate(FIFTHS)
        ),
        f"{'all':24s}" + "".join(f"{o.coverage:12.3f} ({o.length:5.2f})" for o in outcomes),
        f"{'MSCE x 10^4':24s}" + "".join(f"{o.msce * 1e4:20.2f}" for o in outcomes),
        "",
        *(f"{o.name}: {o.guarantee}" for o in outcomes),
    ]
    return "\n".join(lines)


def to_dict(outcomes: list[Outcome]) -> dict[str, Any]:
    """Return plain Python values, one entry per rule."""
    return {
        o.name: {**o._asdict(), "table": o.table.to_dict(), "guarantee": o.guarantee.to_dict()}
        for o in outcomes
    }


def plot_demo(outcomes: list[Outcome], path: Path) -> None:
    """Draw coverage and length by fifth of the noise, one line per rule."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for outcome, color in zip(outcomes, ("#9a9a9a", "#1f6fb4"), strict=True):
        for axes, values in ((left, outcome.table.coverage), (right, outcome.table.size)):
            axes.plot(range(len(values)), values, "o-", color=color, label=outcome.name)
            axes.set_xticks(range(len(values)), ["quietest", "2", "3", "4", "noisiest"])
            axes.spines[["top", "right"]].set_visible(False)
    left.axhline(1 - ALPHA, color="black", linewidth=0.8, linestyle="--")
    left.set(title="coverage by true noise", ylim=(0.7, 1.0))
    right.set(title="mean interval length", ylim=(0, None))
    left.legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=150)
