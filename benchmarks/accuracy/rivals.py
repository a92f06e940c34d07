"""Every method under one roof: speed against other implementations, and one table of all.

Parts, each kept in results/rivals.json: ``conditional`` (ConditionalCalibration and MAPIE's
ConditionalSplitConformalRegressor, a linear program as the judge), ``rlcp`` (RLCP and a plain loop
over test points), ``batch_gcp`` (BatchGCP and LinearQuantile on the same matrix), ``table`` (all
methods on the paper's task, real sets and the census; reads the data directory).

    pip install -e '.[bench,rivals]' -c constraints.txt
    python -m benchmarks.accuracy.rivals [conditional rlcp batch_gcp table] [--data-dir DIR]
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accuracy.every_method import table
from benchmarks.shared import best_time, save, timed
from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor
from scipy.optimize import linprog
from sklearn.dummy import DummyRegressor

from plcp import RLCP, BatchGCP, ConditionalCalibration, LinearQuantile
from plcp.out_of_core import RowDraws

ALPHA = 0.1


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
    drawn = rule.kernel_.draw(points, RowDraws(X, rule._seed, "neighbour"))
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
        "import numpy as np\n"
        "from plcp import RLCP\n"
        "rng = np.random.default_rng(0)\n"
        "X, new = rng.normal(size=(20_000, 10)), rng.normal(size=(20_000, 10))\n"
        "scores = rng.exponential(1 + np.abs(X[:, 0]))\n"
        "RLCP(random_state=0, n_jobs=2).fit(X, scores).predict(new)\n"
        "lines = open('/proc/self/status').read().splitlines()\n"  # of this program alone
        "print(next(line.split()[1] for line in lines if line.startswith('VmHWM')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout) / 1024


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
        save("accuracy/rivals", part, results)


if __name__ == "__main__":
    main()
