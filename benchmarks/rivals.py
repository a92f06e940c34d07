"""Every method under one roof: speed against other implementations, and one table of all.

Parts, each kept in results/rivals.json: ``conditional`` (ConditionalCalibration and MAPIE's
ConditionalSplitConformalRegressor, a linear program as the judge), ``rlcp`` (RLCP and a plain loop
over test points), ``batch_gcp`` (BatchGCP and LinearQuantile on the same matrix), ``table`` (all
methods on the paper's task, real sets and the census; reads the data directory).

    pip install -e '.[bench,rivals]' -c constraints.txt
    python benchmarks/rivals.py [conditional rlcp batch_gcp table] [--data-dir DIR] [--seeds K]
"""

import argparse
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from covmetrics.ERT import ERT
from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor
from scipy.optimize import linprog
from scipy.stats import norm
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier

from conditional import inside_band, predictor, real_parts, timed
from contenders import ALPHA, LEAST, Split, boosted, contenders, fit, predict
from datafiles import REAL_SETS
from plcp import RLCP, BatchGCP, ConditionalCalibration, LinearQuantile, SplitConformal
from plcp.datasets import make_synthetic
from plcp.metrics import msce
from plcp.partitions import CollapseWarning
from plcp.validation import InfiniteThresholdWarning
from records import save
from speed import best_time

N_SYNTHETIC, N_TEST = 10_000, 10_000
FOLDINGS = 4


def with_constant(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), X])


def is_supremum(X: np.ndarray, scores: np.ndarray, row: np.ndarray, q: float) -> bool:
    """Whether a new row's dual is below 1 - alpha just under q and at it just above: by HiGHS."""
    near = 1e-6 * max(1.0, abs(q))

    def dual(score: float) -> float:
        found = linprog(
            -np.append(scores, score),
            A_eq=with_constant(np.vstack([X, row])).T,
            b_eq=np.zeros(X.shape[1] + 1),
            bounds=(-ALPHA, 1 - ALPHA),
            method="highs",
        )
        return float(found.x[-1])

    return dual(q - near) < 1 - ALPHA - 1e-7 and dual(q + near) > 1 - ALPHA - 1e-7


def against_mapie() -> list[dict[str, Any]]:
    """Same features, same scores, 500 test points; time of predicting, and of fitting as well."""
    results = []
    for d in (6, 50):
        rng = np.random.default_rng(d)
        X, new = rng.normal(size=(2000, d - 1)), rng.normal(size=(500, d - 1))
        scores = np.abs(rng.normal(size=2000)) * (2 + 0.3 * X[:, 0])
        zero = DummyRegressor(strategy="constant", constant=0.0).fit(X, scores)
        theirs = ConditionalSplitConformalRegressor(with_constant, zero, 1 - ALPHA)
        theirs.conformalize(X, scores)
        (_, intervals), their_time = timed(
            lambda theirs=theirs, new=new: theirs.predict_interval(new)
        )
        ours = ConditionalCalibration(alpha=ALPHA)
        fit_time = best_time(lambda ours=ours, X=X, s=scores: ours.fit(X, s))
        predict_time = best_time(lambda ours=ours, new=new: ours.predict(new))
        q, their_q = ours.predict(new), intervals[:, 1, 0]
        differ = np.flatnonzero(np.abs(q - their_q) > 1e-6)
        results.append(
            {
                "d": d,
                "microseconds_per_point": 1e6 * predict_time / len(new),
                "mapie_microseconds_per_point": 1e6 * their_time / len(new),
                "times_faster": their_time / predict_time,
                "times_faster_with_fit": their_time / (predict_time + fit_time),
                "points": len(new),
                "differ": len(differ),
                "largest_difference_elsewhere": float(np.delete(np.abs(q - their_q), differ).max()),
                "ours_right_by_linear_program": sum(
                    is_supremum(X, scores, new[i], q[i]) for i in differ
                ),
                "mapie_right_by_linear_program": sum(
                    is_supremum(X, scores, new[i], their_q[i]) for i in differ
                ),
            }
        )
    return results


def one_by_one(rule: RLCP, X: np.ndarray) -> np.ndarray:
    """RLCP as a plain loop over test points: weights, argsort, running sum."""
    rows, scores, h = rule._X[::-1], rule.scores_[::-1], rule.kernel_.bandwidth
    points = rule._space.place(X)
    drawn = rule.kernel_.draw(points, np.random.default_rng(rule._seed))
    thresholds = np.empty(len(X))
    for i, (point, centre) in enumerate(zip(points, drawn, strict=True)):
        weights = np.exp(-((rows - centre) ** 2).sum(axis=1) / (2 * h**2))
        own = np.exp(-((point - centre) ** 2).sum() / (2 * h**2))
        order = np.argsort(scores)
        sums = np.cumsum(weights[order])
        at = np.searchsorted(sums, (1 - rule.alpha) * (sums[-1] + own) * (1 - 1e-12))
        thresholds[i] = scores[order[at]] if at < len(scores) else np.inf
    return thresholds


def rlcp_peak() -> float:
    """Peak memory of a whole process that fits and predicts, interpreter and all, in MB."""
    code = (
        "import resource\n"
        "import numpy as np\n"
        "from plcp import RLCP\n"
        "rng = np.random.default_rng(0)\n"
        "X, new = rng.normal(size=(20_000, 10)), rng.normal(size=(20_000, 10))\n"
        "scores = rng.exponential(1 + np.abs(X[:, 0]))\n"
        "RLCP(random_state=0, n_jobs=2).fit(X, scores).predict(new)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def against_a_loop() -> dict[str, float]:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(20_000, 10)), rng.normal(size=(20_000, 10))
    scores = rng.exponential(1 + np.abs(X[:, 0]))
    rule = RLCP(random_state=0, n_jobs=2)
    fit_time = best_time(lambda: rule.fit(X, scores))
    predict_time = best_time(lambda: rule.predict(new))
    alone = RLCP(random_state=0).fit(X, scores)
    one_thread = best_time(lambda: alone.predict(new))
    part = new[:2000]  # a tenth of the points: the loop takes the same time for each
    looped, loop_time = timed(lambda: one_by_one(rule, part))
    # draws of a part are those of the first rows of the whole
    same = looped == rule.predict(part)
    return {
        "fit_seconds": fit_time,
        "predict_seconds": predict_time,
        "one_thread_seconds": one_thread,
        "loop_seconds": 10 * loop_time,
        "times_faster": 10 * loop_time / predict_time,
        "times_faster_one_thread": 10 * loop_time / one_thread,
        "share_of_same_thresholds": float(np.mean(same)),
        "peak_megabytes": rlcp_peak(),
    }


def against_linear_quantile() -> dict[str, float]:
    rng = np.random.default_rng(0)
    groups = rng.uniform(size=(50_000, 20)) < rng.uniform(0.02, 0.5, 20)
    scores = rng.exponential(1 + groups @ rng.uniform(0, 1, 20))
    matrix, rule, line = groups.astype(float), BatchGCP(alpha=ALPHA), LinearQuantile(1 - ALPHA)
    ours = best_time(lambda: rule.fit(matrix, scores, groups=groups), repeats=7)
    theirs = best_time(lambda: line.fit(matrix, scores), repeats=7)
    return {"seconds": ours, "linear_quantile_seconds": theirs, "ratio": ours / theirs}


def reference_ert(X: Any, covered: np.ndarray) -> float:
    """ERT of the reference implementation, in L1, with the classifier of ``plcp.metrics.ert``."""
    model = {"max_iter": 100, "max_leaf_nodes": 15, "learning_rate": 0.05, "random_state": 0}
    metric = ERT(HistGradientBoostingClassifier, **model)
    values = [
        metric.evaluate(X, covered.astype(int), ALPHA, random_state=seed)
        for seed in range(FOLDINGS)
    ]
    return float(np.mean(values))


def judged(split: Split, covered: np.ndarray) -> dict[str, float]:
    """Coverage, and the worst of all groups told to those who are told groups."""
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


def run_synthetic(seed: int) -> Iterator[dict[str, Any]]:
    """The paper's task, MSCE from the law of the noise."""
    sizes = N_SYNTHETIC, N_SYNTHETIC, N_TEST
    train, cal, test = (make_synthetic(n, 1000 * i + seed) for i, n in enumerate(sizes))
    split = Split(cal.X, test.X)
    for name, (rule, sees) in contenders(seed).items():
        _, fit_time = timed(lambda r=rule, s=sees: fit(r, s, split.cal, cal.scores, seed))
        q, predict_time = timed(lambda r=rule, s=sees: predict(r, s, split.test))
        yield {
            "method": name,
            "error": msce(test.conditional_coverage(q), ALPHA),
            "length": mean_length(q, cal.scores),
            "fit_seconds": fit_time,
            "predict_seconds": predict_time,
            **judged(split, test.scores <= q),
        }
    # CQR learns its band from as many rows, their residuals of the same perfect model
    lower, upper, fit_time = band_models(train.X, train.y - train.mean, seed)
    lo, hi, t, times = cqr(lower, upper, cal.X, cal.y - cal.mean, test.X)
    inside = norm.cdf((hi + t) / test.sigma) - norm.cdf((lo - t) / test.sigma)
    y = test.y - test.mean
    yield {
        "method": "CQR",
        "error": msce(np.maximum(inside, 0.0), ALPHA),
        "length": float(np.mean(hi - lo) + 2 * t),
        "fit_seconds": fit_time,
        "predict_seconds": times,
        **judged(split, (lo - t <= y) & (y <= hi + t)),
    }


def band_models(X: Any, y: np.ndarray, seed: int) -> tuple[Any, Any, float]:
    models = [boosted(level, seed) for level in (ALPHA / 2, 1 - ALPHA / 2)]
    _, seconds = timed(lambda: [model.fit(X, y) for model in models])
    return *models, seconds


def cqr(lower: Any, upper: Any, X_cal: Any, y_cal: np.ndarray, X_test: Any) -> Any:
    scores = np.maximum(lower.predict(X_cal) - y_cal, y_cal - upper.predict(X_cal))
    t = SplitConformal(ALPHA).fit(np.zeros((len(scores), 1)), scores).threshold_
    (lo, hi), seconds = timed(lambda: (lower.predict(X_test), upper.predict(X_test)))
    return lo, hi, t, seconds


def run_real(name: str, data_dir: Path, seed: int) -> Iterator[dict[str, Any]]:
    """A real set: absolute residuals of a model, ERT; at most 10,000 test rows."""
    X_train, y_train, X_cal, X_test, y_cal, y_test = real_parts(name, data_dir, seed)
    X_test, y_test = X_test[:N_TEST], y_test[:N_TEST]
    model = predictor(name).fit(X_train, y_train)
    s_cal, s_test = (np.abs(y - model.predict(X)) for X, y in ((X_cal, y_cal), (X_test, y_test)))
    split = Split(X_cal, X_test)
    for method, (rule, sees) in contenders(seed).items():
        _, fit_time = timed(lambda r=rule, s=sees: fit(r, s, split.cal, s_cal, seed))
        q, predict_time = timed(lambda r=rule, s=sees: predict(r, s, split.test))
        covered = s_test <= q
        yield {
            "method": method,
            "error": reference_ert(X_test, covered),
            "length": mean_length(q, s_cal),
            "in_band": inside_band(int(covered.sum()), len(covered), len(s_cal)),
            "fit_seconds": fit_time,
            "predict_seconds": predict_time,
            **judged(split, covered),
        }
    lower, upper, fit_time = band_models(X_train, y_train, seed)
    lo, hi, t, times = cqr(lower, upper, X_cal, y_cal, X_test)
    covered = (lo - t <= y_test) & (y_test <= hi + t)
    yield {
        "method": "CQR",
        "error": reference_ert(X_test, covered),
        "length": float(np.mean(hi - lo) + 2 * t),
        "in_band": inside_band(int(covered.sum()), len(covered), len(s_cal)),
        "fit_seconds": fit_time,
        "predict_seconds": times,
        **judged(split, covered),
    }


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ["conditional", "rlcp", "batch_gcp", "table"]
    parser.add_argument("parts", nargs="*", default=parts)
    parser.add_argument("--data-dir", default=os.environ.get("PLCP_DATA", "data"), type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    run = {
        "conditional": against_mapie,
        "rlcp": against_a_loop,
        "batch_gcp": against_linear_quantile,
        "table": lambda: table(options.seeds, options.data_dir),
    }
    for part in options.parts:
        results = run[part]()
        print(part, results if part != "table" else f"{len(results)} runs", flush=True)
        save("rivals", part, results)


if __name__ == "__main__":
    main()
