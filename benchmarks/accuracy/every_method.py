"""One table of every method: the paper's task, real sets and the census, the same rows for all."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accuracy.conditional import predictor, real_parts
from benchmarks.accuracy.contenders import ALPHA, LEAST, Split, boosted, contenders, fit, predict
from benchmarks.accuracy.data import REAL_SETS
from benchmarks.shared import timed
from covmetrics.ERT import ERT
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier

from plcp import PLCP, SplitConformal
from plcp.datasets import make_synthetic
from plcp.exceptions import InfiniteThresholdWarning
from plcp.metrics import msce
from plcp.partitions import CollapseWarning

N_SYNTHETIC, N_TEST = 10_000, 10_000
FOLDINGS = 4  # one folding of the classifier alone moves an estimate by a tenth


def reference_ert(X: Any, covered: np.ndarray) -> float:
    """ERT of the reference implementation, in L1, with boosted trees."""
    model = {"max_iter": 100, "max_leaf_nodes": 15, "learning_rate": 0.05, "random_state": 0}
    metric = ERT(HistGradientBoostingClassifier, **model)
    values = [
        metric.evaluate(X, covered.astype(int), ALPHA, random_state=seed)
        for seed in range(FOLDINGS)
    ]
    return float(np.mean(values))


def judged(split: Split, covered: np.ndarray) -> dict[str, float]:
    """Coverage, and the worst of all groups, for methods that are given groups."""
    big = split.test.groups.sum(axis=0) >= LEAST
    members = split.test.groups[:, big]
    by_group = covered.astype(float) @ members / members.sum(axis=0)
    return {
        "coverage": float(covered.mean()),
        "worst_gap": float(np.abs(by_group - (1 - ALPHA)).max()),
        "lowest_group": float(by_group.min()),
    }


def mean_length(q: np.ndarray, scores: np.ndarray) -> float:
    """Mean length of intervals, an infinite threshold counted as the largest score known."""
    return float(2 * np.clip(q, 0.0, scores.max()).mean())


def measured(
    seed: int, split: Split, s_cal: np.ndarray, s_test: np.ndarray
) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Thresholds of every rule on the same scores, with what they cost and whom they cover."""
    for name, (rule, sees) in contenders(seed).items():
        _, fit_time = timed(lambda r=rule, s=sees: fit(r, s, split.cal, s_cal, seed))
        q, predict_time = timed(lambda r=rule, s=sees: predict(r, s, split.test))
        run = {
            "method": name,
            "length": mean_length(q, s_cal),
            "fit_seconds": fit_time,
            "predict_seconds": predict_time,
            **judged(split, s_test <= q),
        }
        yield run, q


@dataclass(frozen=True)
class Band:
    """Two quantile models, and the scores of CQR: how far y lies beyond them."""

    lower: Any
    upper: Any
    fit_seconds: float

    def ends(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.sort([self.lower.predict(X), self.upper.predict(X)], axis=0)
        return low, high

    def scores(self, X: Any, y: np.ndarray) -> np.ndarray:
        low, high = self.ends(X)
        return np.maximum(low - y, y - high)


def learn_band(X: Any, y: np.ndarray, seed: int) -> Band:
    models = [boosted(level, seed) for level in (ALPHA / 2, 1 - ALPHA / 2)]
    _, seconds = timed(lambda: [model.fit(X, y) for model in models])
    return Band(*models, seconds)


def measured_cqr(
    seed: int, band: Band, split: Split, y_cal: np.ndarray, y_test: np.ndarray
) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """CQR, and the default rule on its scores."""
    s_cal, s_test = band.scores(split.X_cal, y_cal), band.scores(split.X_test, y_test)
    low, high = band.ends(split.X_test)
    rules = {
        "CQR": SplitConformal(ALPHA),
        "PLCP, on CQR's scores": PLCP(alpha=ALPHA, random_state=seed),
    }
    for name, rule in rules.items():
        _, fit_time = timed(lambda r=rule: r.fit(split.X_cal, s_cal))
        q, predict_time = timed(
            lambda r=rule: (band.ends(split.X_test), r.predict(split.X_test))[1]
        )
        run = {
            "method": name,
            "length": float(np.maximum(high - low + 2 * q, 0.0).mean()),
            "fit_seconds": band.fit_seconds + fit_time,
            "predict_seconds": predict_time,
            **judged(split, s_test <= q),
        }
        yield run, q


def run_synthetic(seed: int) -> Iterator[dict[str, Any]]:
    """The paper's task, MSCE from the law of the noise."""
    sizes = N_SYNTHETIC, N_SYNTHETIC, N_TEST
    train, cal, test = (make_synthetic(n, 1000 * i + seed) for i, n in enumerate(sizes))
    split = Split(cal.X, test.X)
    for run, q in measured(seed, split, cal.scores, test.scores):
        yield {**run, "error": float(msce(test.conditional_coverage(q), ALPHA))}
    # CQR learns its band from as many rows again, their residuals of the same perfect model
    band = learn_band(train.X, train.y - train.mean, seed)
    low, high = band.ends(test.X)
    for run, q in measured_cqr(seed, band, split, cal.y - cal.mean, test.y - test.mean):
        inside = norm.cdf((high + q) / test.sigma) - norm.cdf((low - q) / test.sigma)
        yield {**run, "error": float(msce(np.maximum(inside, 0.0), ALPHA))}


def run_real(name: str, data_dir: Path, seed: int) -> Iterator[dict[str, Any]]:
    """A real set: absolute residuals of a model, ERT; at most 10,000 test rows."""
    X_train, y_train, X_cal, X_test, y_cal, y_test = real_parts(name, data_dir, seed)
    X_test, y_test = X_test[:N_TEST], y_test[:N_TEST]
    model = predictor(name).fit(X_train, y_train)
    s_cal, s_test = (np.abs(y - model.predict(X)) for X, y in ((X_cal, y_cal), (X_test, y_test)))
    split = Split(X_cal, X_test)
    for run, q in measured(seed, split, s_cal, s_test):
        yield {**run, "error": reference_ert(X_test, s_test <= q)}
    band = learn_band(X_train, y_train, seed)
    beyond = band.scores(X_test, y_test)
    for run, q in measured_cqr(seed, band, split, y_cal, y_test):
        yield {**run, "error": reference_ert(X_test, beyond <= q)}


def table(seeds: int, data_dir: Path) -> list[dict[str, Any]]:
    warnings.simplefilter("ignore", CollapseWarning)
    warnings.simplefilter("ignore", InfiniteThresholdWarning)
    records = []
    for seed in range(seeds):
        for task in ("paper", *REAL_SETS):
            runs = run_synthetic(seed) if task == "paper" else run_real(task, data_dir, seed)
            for run in runs:
                records.append({"task": task, "seed": seed, **run})
                print(records[-1], flush=True)
    return records
