"""What the metrics cost, as ratios measured in one run; kept in results/metrics.json.

python benchmarks/metrics.py [coverage ert hsic]
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier

from plcp.datasets import ScoreTask, make_nonlinear
from plcp.metrics import coverage_by_group, ert
from plcp.metrics.ert import excess_risk
from plcp.metrics.foretelling import default_classifier, foretell_coverage
from plcp.quantiles import conformal_quantile
from plcp.metrics.kernel_sums import box_sums, direct_sums, kernel_error
from records import save
from speed import best_time

ROWS, GROUPS = 1_000_000, 20


def coverage_table() -> dict[str, float]:
    """A million rows in twenty groups: the whole table beside bare means of the same rows.

    Seconds, and ratios to: one mean of as many floats, one mean of the booleans, the means of
    groups already taken apart, and a mean and a comparison for each group.
    """
    rng = np.random.default_rng(0)
    covered, size = rng.random(ROWS) < 0.9, rng.exponential(size=ROWS)
    labels = rng.integers(0, GROUPS, ROWS)
    parts = [covered[labels == group] for group in range(GROUPS)]
    means: dict[str, Callable[[], Any]] = {
        "mean_of_floats": lambda: np.mean(size),
        "mean_of_booleans": lambda: np.mean(covered),
        "mean_of_each_part": lambda: [np.mean(part) for part in parts],
        "mean_of_each_group": lambda: [np.mean(covered[labels == g]) for g in range(GROUPS)],
    }
    seconds = best_time(lambda: coverage_by_group(covered, size, labels, alpha=0.1), repeats=50)
    ratios = {f"in_{name}": seconds / best_time(mean, repeats=50) for name, mean in means.items()}
    masks = rng.random((ROWS, GROUPS)) < 0.3
    names = np.array([f"group {i}" for i in range(GROUPS)])[labels]
    return {
        "seconds": seconds,
        **ratios,
        "seconds_overlapping": best_time(lambda: coverage_by_group(covered, size, masks)),
        "seconds_text_labels": best_time(lambda: coverage_by_group(covered, size, names)),
    }


def ert_beside_covmetrics() -> dict[str, Any]:
    """ERT on 50,000 × 20 beside covmetrics with the same classifier, where the truth is known.

    For a threshold that is right on average, and for one that is right for each x. covmetrics cuts
    rows into five folds that teach each other; we test each of five blocks by those before it.
    """
    task = make_nonlinear(50_000, random_state=0)
    rules = {
        "marginal": np.full(50_000, conformal_quantile(task.scores, 0.1)),
        "conditional": norm.isf(0.05) * task.sigma,
    }
    return {
        f"{name} {kind}": one_ert(task, q, kind)
        for name, q in rules.items()
        for kind in ("L1", "L2")
    }


def one_ert(task: ScoreTask, q: np.ndarray, kind: str) -> dict[str, Any]:
    """Seconds and values of both; ``formula_difference`` is theirs less ours, given the same p."""
    from covmetrics.ERT import ERT, evaluate_with_predictions
    from covmetrics.losses import L1_miscoverage, brier_score

    loss = {"L1": L1_miscoverage, "L2": brier_score}[kind]
    covered = task.scores <= q
    theirs = ERT(HistGradientBoostingClassifier, **default_classifier(0).get_params())
    seconds = best_time(lambda: ert(task.X, covered, 0.1, norm=kind))
    their_seconds = best_time(lambda: theirs.evaluate(task.X, covered * 1, 0.1, loss=loss))
    rows, p = told = foretell_coverage(task.X, covered)
    ours = excess_risk(told, covered, 0.1, kind)
    same = evaluate_with_predictions(p, covered[rows] * 1.0, 0.1, loss)
    error = np.abs(task.conditional_coverage(q) - 0.9)
    return {
        "truth": float(np.mean(error ** int(kind[1]))),
        "estimate": ours.estimate,
        "interval": [ours.low, ours.high],
        "covmetrics": theirs.evaluate(task.X, covered * 1, 0.1, loss=loss),
        "formula_difference": abs(float(same) - ours.estimate),
        "seconds": seconds,
        "covmetrics_seconds": their_seconds,
        "ratio": seconds / their_seconds,
    }


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "coverage": coverage_table,
    "hsic": dependence,
    "ert": ert_beside_covmetrics,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    for part in parser.parse_args().parts:
        results = PARTS[part]()
        print(part, results, flush=True)
        save("metrics", part, results)


if __name__ == "__main__":
    main()
