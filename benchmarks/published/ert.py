"""Section 4.2 of the paper on ERT (Braun et al. 2025): one simulated task, ten runs.

X is uniform on [-1, 1]⁸, the model perfect, and the noise normal with a deviation that follows the
first column. L1-ERT is measured by the authors' package with its default classifier, and beside
it what it estimates from below, which simulated data know. Results: published.json, "ert".

    pip install -e '.[rivals]' -c constraints.txt
    python -m benchmarks.published.ert [--runs 10]

A run that was stopped goes on, as that of benchmarks.published.cpcp does.
"""

import argparse
import time
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
from benchmarks.published import cpcp
from benchmarks.published.metrics import ALPHA
from benchmarks.shared import Records, kept_by_package, save
from covmetrics.ERT import ERT
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from plcp.thresholds import ThresholdRule

COLUMNS, N_CAL, N_TEST = 8, 3000, 1500
N_KNOWN = 100_000  # rows on which the true error is measured


def deviation(X: np.ndarray) -> np.ndarray:
    first = np.abs(X[:, 0])
    return 0.5 + first + first**2


class Oracle(ThresholdRule):
    """The true quantile of the score, given x."""

    def __init__(self, alpha: float = 0.1) -> None:
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> "Oracle":
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return norm.isf(self.alpha / 2) * deviation(X)


RULES = (  # of those that benchmarks.published.cpcp measures
    "Split", "PLCP", "PLCP, mean of rules", "PLCP, held-out", "PLCP, split", "PLCP, cross",
    "Algorithm 1, 20 groups", "rectified", "CPCP",
)  # fmt: skip


def rules(seed: int) -> dict[str, Any]:
    same = cpcp.rules(seed)
    return {"oracle": Oracle(ALPHA), **{name: same[name] for name in RULES}}


def of_run(seed: int) -> Records:
    rng = np.random.default_rng(seed)
    X, new, known = (rng.uniform(-1, 1, (n, COLUMNS)) for n in (N_CAL, N_TEST, N_KNOWN))
    scores, of_new = (np.abs(deviation(rows) * rng.normal(size=len(rows))) for rows in (X, new))
    best = deviation(known).mean() * norm.isf(ALPHA / 2)
    found = []
    for method, rule in rules(seed).items():
        start = time.perf_counter()
        rule.fit(X, scores)
        seconds = time.perf_counter() - start
        covered = of_new <= rule.predict(new)
        thresholds = rule.predict(known)
        gap = 2 * norm.cdf(thresholds / deviation(known)) - 1 - (1 - ALPHA)
        found.append(
            {
                "seed": seed,
                "method": method,
                "ert": float(ERT().evaluate(new, covered.astype(int), ALPHA)),
                "l1": float(np.abs(gap).mean()),
                "msce": float((gap**2).mean()),
                "coverage": float(covered.mean()),
                "size": float(thresholds.mean() / best),
                "seconds": seconds,
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = kept_by_package("published").cache(of_run)
    versions = {name: version(name) for name in ("covmetrics", "probmetrics")}
    records: Records = []
    for seed in range(given.runs):
        start = time.perf_counter()
        with threadpool_limits(1):
            records += [{**record, **versions} for record in kept(seed)]
        print(f"run {seed}: {time.perf_counter() - start:.0f} s", flush=True)
        save("published/published", "ert", records)


if __name__ == "__main__":
    main()
