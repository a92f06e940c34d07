"""Conditional coverage of the default PLCP against Split and its rivals.

Four parts, each kept in results/conditional.json: ``synthetic`` (exact MSCE, ten seeds), ``real``
(ERT, coverage and length of absolute residuals, three seeds), ``cqr`` (the same on the signed
scores of conformalised quantile regression) and ``census`` (coverage of groups not given to the
rule). The last three read the data directory.

    python -m benchmarks.accuracy.conditional [synthetic real cqr census] [--data-dir DIR]
"""

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from benchmarks.accuracy.data import REAL_SETS, load_real
from benchmarks.shared import save, timed
from scipy.stats import betabinom
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from plcp import PLCP, ConformalRegressor, Rectified, SoftmaxPartition, SplitConformal
from plcp.datasets import make_nonlinear, make_synthetic
from plcp.metrics import ert, msce
from plcp.partitions import CollapseWarning
from plcp.quantiles import conformal_rank, pinball_loss
from plcp.thresholds import ThresholdRule

ALPHA = 0.1
N_TEST = 20_000
FALSE_ALARM = 1e-6
ERT_FOLDINGS = 4  # one folding of the classifier alone moves an estimate by a tenth
SYNTHETIC = [
    ("paper", make_synthetic, 50_000),
    ("paper", make_synthetic, 10_000),
    ("paper", make_synthetic, 2_000),
    ("paper", make_synthetic, 300),
    ("nonlinear", make_nonlinear, 50_000),
    ("nonlinear", make_nonlinear, 5_000),
    ("nonlinear", make_nonlinear, 300),
]


def boosted_quantile(level: float, seed: Any) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=seed)


class BoostedQuantile(ThresholdRule):
    """A boosted quantile regression of the score, taken at its word: no calibration."""

    def __init__(self, alpha: float = 0.1, random_state: Any = None) -> None:
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.model_ = boosted_quantile(1 - self.alpha, self.random_state).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


def rectified(seed: int) -> Rectified:
    """As its authors have it: one plain quantile regression, then split conformal."""
    return Rectified(boosted_quantile(1 - ALPHA, seed), ALPHA, random_state=seed)


def methods(seed: int) -> dict[str, Any]:
    published = SoftmaxPartition(random_state=seed)
    return {
        "Split": SplitConformal(ALPHA),
        "PLCP": PLCP(alpha=ALPHA, random_state=seed),
        "PLCP, cross": PLCP(alpha=ALPHA, calibration="cross", random_state=seed),
        "PLCP, split": PLCP(alpha=ALPHA, calibration="split", random_state=seed),
        "PLCP, as published": PLCP(
            published, 25, ALPHA, calibration="joint", assignment="sample", random_state=seed
        ),
        "boosted quantile": BoostedQuantile(ALPHA, seed),
        "rectified": rectified(seed),
    }


def inside_band(covered: int, n_test: int, n_cal: int) -> bool:
    """Whether a count of covered points is likely under the law of split conformal."""
    rank = conformal_rank(n_cal, ALPHA)
    law = betabinom(n_test, rank, n_cal + 1 - rank)
    return bool(law.ppf(FALSE_ALARM / 2) <= covered <= law.isf(FALSE_ALARM / 2))


def run_synthetic(seeds: int) -> Iterator[dict[str, Any]]:
    for task, make, n in SYNTHETIC:
        for seed in range(seeds):
            cal, test = make(n, random_state=seed), make(N_TEST, random_state=10_000 + seed)
            for name, rule in methods(seed).items():
                _, fit_time = timed(lambda rule=rule, cal=cal: rule.fit(cal.X, cal.scores))
                q = rule.predict(test.X)
                covered = int((test.scores <= q).sum())
                yield {
                    "task": f"{task}:{n}",
                    "seed": seed,
                    "method": name,
                    "msce": float(msce(test.conditional_coverage(q), ALPHA)),
                    "coverage": covered / N_TEST,
                    "in_band": inside_band(covered, N_TEST, n),
                    "fit_seconds": fit_time,
                }


def predictor(name: str) -> Any:
    if name == "census":
        return make_pipeline(SimpleImputer(), LinearRegression())
    return HistGradientBoostingRegressor(random_state=0)


def real_parts(name: str, data_dir: Path, seed: int) -> Any:
    """Training, calibration and test rows of a real set: 60, 20, 20 %."""
    X, y = load_real(name, data_dir)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.4, random_state=seed)
    return X_train, y_train, *train_test_split(X_rest, y_rest, test_size=0.5, random_state=seed)


def measure(rule: Any, X_cal: Any, s_cal: Any, X_test: Any, s_test: Any) -> dict[str, float]:
    _, fit_time = timed(lambda: rule.fit(X_cal, s_cal))
    q = rule.predict(X_test)
    covered = s_test <= q
    errors = [float(ert(X_test, covered, ALPHA, random_state=seed)) for seed in range(ERT_FOLDINGS)]
    return {
        "ert": float(np.mean(errors)),
        "coverage": float(covered.mean()),
        "in_band": inside_band(int(covered.sum()), len(covered), len(s_cal)),
        "mean_threshold": float(q.mean()),
        "pinball": float(pinball_loss(q, s_test, ALPHA).mean()),
        "fit_seconds": fit_time,
    }


def run_real(seeds: int, data_dir: Path) -> Iterator[dict[str, Any]]:
    for name in REAL_SETS:
        for seed in range(seeds):
            X_train, y_train, X_cal, X_test, y_cal, y_test = real_parts(name, data_dir, seed)
            model = predictor(name).fit(X_train, y_train)
            s_cal = np.abs(y_cal - model.predict(X_cal))
            s_test = np.abs(y_test - model.predict(X_test))
            for method, rule in methods(seed).items():
                if method == "PLCP, as published":  # a linear map needs numbers without gaps
                    X_c, X_t = as_numbers(X_cal, X_test)
                else:
                    X_c, X_t = X_cal, X_test
                result = measure(rule, X_c, s_cal, X_t, s_test)
                yield {"task": name, "seed": seed, "method": method, **result}


def run_cqr(seeds: int, data_dir: Path) -> Iterator[dict[str, Any]]:
    for name in REAL_SETS:
        for seed in range(seeds):
            X_train, y_train, X_cal, X_test, y_cal, y_test = real_parts(name, data_dir, seed)
            low, high = (
                boosted_quantile(level, seed).fit(X_train, y_train)
                for level in (ALPHA / 2, 1 - ALPHA / 2)
            )
            bands = [(low.predict(X), high.predict(X)) for X in (X_cal, X_test)]
            s_cal, s_test = (
                np.maximum(lo - y, y - hi)
                for (lo, hi), y in zip(bands, (y_cal, y_test), strict=True)
            )
            width = float(np.mean(bands[1][1] - bands[1][0]))
            rules = {
                "CQR": SplitConformal(ALPHA),
                "CQR + PLCP": PLCP(alpha=ALPHA, random_state=seed),
                "CQR + PLCP, cross": PLCP(alpha=ALPHA, calibration="cross", random_state=seed),
                "CQR + PLCP, split": PLCP(alpha=ALPHA, calibration="split", random_state=seed),
                "CQR + rectified": rectified(seed),
            }
            for method, rule in rules.items():
                result = measure(rule, X_cal, s_cal, X_test, s_test)
                length = width + 2 * result["mean_threshold"]
                yield {"task": name, "seed": seed, "method": method, "length": length, **result}


def run_census(seeds: int, data_dir: Path) -> Iterator[dict[str, Any]]:
    for seed in range(seeds):
        X_train, y_train, X_cal, X_test, y_cal, y_test = real_parts("census", data_dir, seed)
        model = FrozenEstimator(predictor("census").fit(X_train, y_train))
        people = {
            "everybody": np.ones(len(X_test), dtype=bool),
            "professional degree or doctorate": (X_test["SCHL"] >= 23).to_numpy(),
            "over 60": (X_test["AGEP"] > 60).to_numpy(),
            "under 25": (X_test["AGEP"] < 25).to_numpy(),
            "women": (X_test["SEX"] == 2).to_numpy(),
        }
        for method, rule in methods(seed).items():
            if method not in ("Split", "PLCP", "PLCP, split"):
                continue
            sets = ConformalRegressor(model, threshold=rule).fit(X_cal, y_cal).predict_set(X_test)
            covered = sets.contains(y_test)
            for task, who in people.items():
                yield {
                    "task": task,
                    "seed": seed,
                    "method": method,
                    "n": int(who.sum()),
                    "coverage": float(covered[who].mean()),
                    "length": float(sets.size[who].mean()),
                }


def as_numbers(*frames: Any) -> list[np.ndarray]:
    from plcp.regressors.encoding import TableEncoder

    encoder = TableEncoder().fit(frames[0])
    arrays = [encoder.transform(frame) for frame in frames]
    means = np.nanmean(arrays[0], axis=0)
    return [np.where(np.isnan(array), means, array) for array in arrays]


def report(part: str, records: list[dict[str, Any]]) -> None:
    """Print mean, over seeds, of each method on each task, relative to the first method."""
    if part == "census":
        return
    measure_name = "msce" if part == "synthetic" else "ert"
    base = records[0]["method"]
    tasks = dict.fromkeys(record["task"] for record in records)
    names = dict.fromkeys(record["method"] for record in records)
    print(f"\n{part}: {measure_name} relative to {base}'s (coverage; share of runs in band)")
    for task in tasks:
        own = [r for r in records if r["task"] == task]
        by = {m: [r for r in own if r["method"] == m] for m in names}
        reference = np.mean([r[measure_name] for r in by[base]])
        for method, runs in by.items():
            ratio = np.mean([r[measure_name] for r in runs]) / reference
            coverage = np.mean([r["coverage"] for r in runs])
            band = np.mean([r["in_band"] for r in runs])
            seconds = np.mean([r["fit_seconds"] for r in runs])
            extra = ""
            if "mean_threshold" in runs[0]:
                key = "length" if "length" in runs[0] else "mean_threshold"
                size = np.mean([r[key] for r in runs]) / np.mean([r[key] for r in by[base]])
                extra = f"  length {size:.3f}"
            print(
                f"  {task:20s} {method:20s} {ratio:7.3f}  ({coverage:.4f}; {band:.0%})"
                f"  fit {seconds:6.2f} s{extra}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["synthetic", "real", "cqr", "census"])
    parser.add_argument("--data-dir", default=os.environ.get("PLCP_DATA", "data"), type=Path)
    parser.add_argument("--seeds", type=int, help="ten synthetic and three real ones by default")
    options = parser.parse_args()
    warnings.simplefilter("ignore", CollapseWarning)
    for part in options.parts:
        if part == "synthetic":
            runs = run_synthetic(options.seeds or 10)
        else:
            run = {"real": run_real, "cqr": run_cqr, "census": run_census}[part]
            runs = run(options.seeds or 3, options.data_dir)
        records = []
        for record in runs:
            print(record, flush=True)
            records.append(record)
        save("accuracy/conditional", part, records)
        report(part, records)


if __name__ == "__main__":
    main()
