"""What the metrics cost, as ratios measured in one run; kept in results/metrics.json.

python -m benchmarks.speed.metrics [coverage ert hsic]
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.shared import best_time, save, timed
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier

from plcp.datasets import ScoreTask, make_nonlinear
from plcp.metrics import coverage_by_group, ert
from plcp.metrics.dependence import box_sums, direct_sums, kernel_error
from plcp.metrics.ert import default_classifier, predict_coverage
from plcp.quantiles import conformal_quantile

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
    seconds = best_time(lambda: coverage_by_group(covered, labels, size, alpha=0.1), repeats=50)
    ratios = {f"in_{name}": seconds / best_time(mean, repeats=50) for name, mean in means.items()}
    masks = rng.random((ROWS, GROUPS)) < 0.3
    names = np.array([f"group {i}" for i in range(GROUPS)])[labels]
    return {
        "seconds": seconds,
        **ratios,
        "seconds_overlapping": best_time(lambda: coverage_by_group(covered, masks, size)),
        "seconds_text_labels": best_time(lambda: coverage_by_group(covered, names, size)),
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
    ours, seconds = timed(lambda: ert(task.X, covered, 0.1, norm=kind))
    value, their_seconds = timed(lambda: theirs.evaluate(task.X, covered * 1, 0.1, loss=loss))
    rows, p = predict_coverage(task.X, covered)
    same = evaluate_with_predictions(p, covered[rows] * 1.0, 0.1, loss)
    error = np.abs(task.conditional_coverage(q) - 0.9)
    return {
        "truth": float(np.mean(error ** int(kind[1]))),
        "estimate": ours.estimate,
        "interval": [ours.low, ours.high],
        "covmetrics": value,
        "formula_difference": abs(float(same) - ours.estimate),
        "seconds": seconds,
        "covmetrics_seconds": their_seconds,
        "ratio": seconds / their_seconds,
    }


# sizes of a million sets, all distinct: in units of the noise, and in dollars
SIZES = {"units": "rng.gamma(2, 1, n)", "dollars": "rng.gamma(2, 50_000, n)"}


def hsic_of_a_million(sizes: str) -> dict[str, float]:
    """Seconds of one call, and peak memory of a fresh process beyond what it held before."""
    code = (
        "import json, re, time, numpy as np\n"
        "from plcp.metrics import hsic\n"
        "def held(key):\n"
        "    status = open('/proc/self/status').read()\n"
        "    return int(re.search(key + r':\\s+(\\d+)', status)[1]) / 1024\n"
        "hsic([True, False], [1, 2])\n"
        f"n, rng = {ROWS}, np.random.default_rng(0)\n"
        f"size, covered = {sizes}, rng.random(n) < 0.9\n"
        "before, start = held('VmRSS'), time.perf_counter()\n"
        "hsic(covered, size)\n"
        "seconds = time.perf_counter() - start\n"
        "print(json.dumps({'seconds': seconds, 'peak_mib': held('VmHWM') - before}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def error_of_boxes(sizes: str, n: int = 20_000) -> float:
    """Largest error of a kernel sum by boxes, over the sum of absolute weights."""
    rng = np.random.default_rng(0)
    points = np.unique(eval(sizes, {"rng": rng, "n": n}))
    weights = rng.choice([-9.0, 1.0], (len(points), 1), p=[0.1, 0.9])
    error = box_sums(points, weights, 1) - direct_sums(points, weights, 1)
    return float(np.abs(error).max() / np.abs(weights).sum())


def dependence() -> dict[str, Any]:
    """HSIC of a million distinct sizes, and its error where all pairs can be summed."""
    results: dict[str, Any] = {
        name: {**hsic_of_a_million(sizes), "error": error_of_boxes(sizes)}
        for name, sizes in SIZES.items()
    }
    return {**results, "error_bound": kernel_error()}


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
        save("speed/metrics", part, results)


if __name__ == "__main__":
    main()
