"""What each way to calibrate promises, what it keeps, and what it costs.

Parts, each kept in results/modes.json: ``msce`` (exact MSCE, coverage and time of every mode on the
synthetic tasks), ``coverage`` (mean true coverage of new rows over many calibration sets, where
rules could go wrong), ``taught`` (rules taught by the rows that trained the model, on real sets;
reads the data directory).

    python -m benchmarks.accuracy.modes [msce coverage taught] [--data-dir DIR]

A run that was stopped goes on: finished cells are kept in build/, by the code of the package.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accuracy.conditional import ERT_FOLDINGS, boosted_quantile, predictor
from benchmarks.accuracy.contenders import Split
from benchmarks.accuracy.data import MORE_SETS, REAL_SETS, load_real
from benchmarks.shared import Records, kept_by_package, load, pick, save
from joblib import Parallel, delayed
from scipy import stats
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from plcp import (
    PLCP,
    ConformalRegressor,
    LinearQuantile,
    OrderedPartition,
    QuantilePair,
    QuantileResidual,
    SplitConformal,
)
from plcp.datasets import make_nonlinear, make_synthetic
from plcp.metrics import ert, msce

ALPHA = 0.1
N_TEST = 20_000
TASKS = {"paper": make_synthetic, "nonlinear": make_nonlinear}
SIZES = (300, 2000, 10_000, 50_000)
MODES: dict[str, dict[str, Any]] = {
    "cross": {"calibration": "cross"},
    "rotate": {"calibration": "rotate"},
    "rotate, mean": {"calibration": "rotate", "assignment": "mean"},
    "held-out": {"calibration": "held-out"},
    "split": {"calibration": "split"},
}


def conditional_coverage(rule: PLCP, task: Any) -> np.ndarray:
    """True coverage at each row, on average over the rule that a row of a rotation draws."""
    if rule.draws and hasattr(rule, "rotation_"):
        each = [task.conditional_coverage(one.predict(task.X)) for one in rule.rotation_]
        return np.mean(each, axis=0)
    return task.conditional_coverage(rule.predict(task.X))


def of_modes(task: str, n: int, seed: int) -> list[dict[str, Any]]:
    cal, test = TASKS[task](n, random_state=seed), TASKS[task](N_TEST, random_state=10_000 + seed)
    found = []
    rules = {name: PLCP(random_state=seed, **options) for name, options in MODES.items()}
    for name, rule in {"Split": SplitConformal(ALPHA), **rules}.items():
        start = time.perf_counter()
        rule.fit(cal.X, cal.scores)
        seconds = time.perf_counter() - start
        covered = conditional_coverage(rule, test)
        served = test.conditional_coverage(rule.predict(test.X))
        found.append(
            {
                "task": task,
                "n": n,
                "seed": seed,
                "mode": name,
                "msce": float(msce(covered, ALPHA)),
                "msce of one draw": float(msce(served, ALPHA)),
                "coverage": float(covered.mean()),
                "fit_seconds": seconds,
            }
        )
    return found


Draw = Callable[[Any, int], tuple[np.ndarray, np.ndarray]]


def with_scores(features: Callable[[Any, int], np.ndarray], law: Any) -> Draw:
    """Rows whose scores follow a law times a scale that the first column sets."""

    def draw(rng: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        X = features(rng, n)
        return X, np.abs(law.rvs(size=n, random_state=rng)) * np.exp(X[:, 0])

    return draw


def normal_columns(d: int) -> Callable[[Any, int], np.ndarray]:
    return lambda rng, n: rng.normal(size=(n, d))


def rare_group(rng: Any, n: int) -> np.ndarray:
    return 2.0 * (rng.random((n, 1)) < 0.01)


def accurate(rng: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """1 - p of a classifier that is nearly always right: most scores are next to zero."""
    X = rng.normal(size=(n, 3))
    right = 1 / (1 + np.exp(-4 - X[:, 0]))
    return X, np.round(np.where(rng.random(n) < right, 1 - right, right), 2)


def copies(rng: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Each row five times, in more columns than a set of few calibration rows has distinct rows."""
    X = np.repeat(rng.normal(size=(-(-n // 5), 60)), 5, axis=0)[:n]
    scores = np.repeat(np.abs(rng.normal(size=-(-n // 5))), 5)[:n]
    return X, scores * np.exp(X[:, 0])


WIDE = 320  # columns, of rows that are fewer
CASES: dict[str, Draw] = {
    "no signal": lambda rng, n: (rng.normal(size=(n, 3)), rng.exponential(size=n)),
    "strong signal": with_scores(normal_columns(3), stats.norm),
    "integers": lambda rng, n: (X := rng.normal(size=(n, 3)), rng.poisson(np.exp(X[:, 0])) * 1.0),
    "accurate classifier": accurate,
    "heavy tails": with_scores(normal_columns(3), stats.t(2)),
    "one binary column": with_scores(lambda rng, n: rng.integers(2, size=(n, 1)) * 1.0, stats.norm),
    "a group of 1 %": with_scores(rare_group, stats.norm),
    "copies": copies,
    "more columns than rows": with_scores(normal_columns(WIDE), stats.norm),
}
N_NEW = 2000
PARTITIONS = {
    "line": OrderedPartition(LinearQuantile()),
    "least squares": OrderedPartition(LinearRegression()),  # interpolates where rows are few
    "default": None,
}


def has_cell(learner: str, case: str, n: int) -> bool:
    """Whether a learner is tried on a case: lines need more rows than columns, boosting is slow."""
    wide = case in ("copies", "more columns than rows")
    if learner == "default":
        return not wide or n == 100
    if case == "more columns than rows" and n > WIDE:
        return False
    return learner == ("least squares" if wide else "line")


def of_case(case: str, n: int, learner: str, seed: int) -> dict[str, float]:
    """Coverage of 2,000 new rows by each mode, after one calibration set."""
    rng = np.random.default_rng([seed, n])
    X, scores = CASES[case](rng, n)
    new, of_new = CASES[case](rng, N_NEW)
    rules: dict[str, Any] = {"Split": SplitConformal(ALPHA)}
    for name, options in MODES.items():
        rules[name] = PLCP(PARTITIONS[learner], random_state=seed, **options)
    found = {}
    for name, rule in rules.items():
        if name == "rotate, mean":  # the rules of the rotation, fitted once
            rule = rules["rotate"].set_params(assignment="mean")
        else:
            rule.fit(X, scores)
        found[name] = float(np.mean(of_new <= rule.predict(new)))
    return found


def of_seeds(case: str, n: int, learner: str, seeds: range) -> list[dict[str, float]]:
    return [of_case(case, n, learner, seed) for seed in seeds]


def coverage(fits: dict[str, int], before: Records) -> Iterator[Records]:
    """Records of all cells, after each that is finished.

    Fits that stand in the records ``before`` are not run again: their means are pooled with those
    of the seeds that follow. Delete the records of what a change of the rules has touched.
    """
    records = list(before)
    for learner, case, n in product([k for k in fits if fits[k]], CASES, (100, 300, 1000)):
        if not has_cell(learner, case, n):
            continue
        cell = {"learner": learner, "case": case, "n": n}
        known = pick(records, **cell)
        first = known[0]["fits"] if known else 0
        chunks = [range(k, min(k + 10, fits[learner])) for k in range(first, fits[learner], 10)]
        runs = together(run(of_seeds, [(case, n, learner, seeds) for seeds in chunks]))
        if not runs:
            continue
        found = []
        for mode in runs[0]:
            values = np.array([each[mode] for each in runs])
            error = float(values.std(ddof=1) / np.sqrt(len(values)))
            new = {"fits": len(values), "coverage": float(values.mean()), "error": error}
            found.append({**cell, "mode": mode, **pooled(new, *pick(known, mode=mode))})
        print(*found, sep="\n", flush=True)
        records = [r for r in records if r not in known] + found
        yield records


def pooled(new: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """Mean coverage and its standard error of the fits of two runs together."""
    if old is None:
        return new
    fits, shares, errors = (
        np.array([part[key] for part in (old, new)]) for key in ("fits", "coverage", "error")
    )
    n, mean = int(fits.sum()), float(fits @ shares / fits.sum())
    squares = (fits - 1) * fits * errors**2 + fits * (shares - mean) ** 2
    error = float(np.sqrt(squares.sum() / (n - 1) / n))
    return {"fits": n, "coverage": mean, "error": error}


def of_taught(name: str, share: float, seed: int, data_dir: Path) -> list[dict[str, Any]]:
    """A model trained and calibrated on 6,000 rows, by each way to learn of its scores."""
    X, y = load_real(name, data_dir)
    X, new, y, of_new = train_test_split(
        X, y, train_size=min(6000, len(y) // 2), test_size=min(10_000, len(y) // 2),
        random_state=seed,
    )  # fmt: skip
    known = Split(X, new).test.groups
    X_train, X_cal, y_train, y_cal = train_test_split(X, y, train_size=share, random_state=seed)
    model = FrozenEstimator(predictor(name).fit(X_train, y_train))
    band = QuantilePair(
        *(
            FrozenEstimator(boosted_quantile(level, seed).fit(X_train, y_train))
            for level in (ALPHA / 2, 1 - ALPHA / 2)
        )
    )
    rest = {"calibration_size": 1 - share, "random_state": seed}
    of_rows = {
        "Split": ConformalRegressor(model, threshold=SplitConformal()),
        "cross": ConformalRegressor(model, threshold=PLCP(calibration="cross", random_state=seed)),
        "rotate": ConformalRegressor(model, threshold=PLCP(random_state=seed)),
        "CQR": ConformalRegressor(band, QuantileResidual(), SplitConformal()),
        "CQR + cross": ConformalRegressor(
            band, QuantileResidual(), PLCP(calibration="cross", random_state=seed)
        ),
        "taught": ConformalRegressor(predictor(name), **rest),
        "taught, two folds": ConformalRegressor(predictor(name), cv=2, **rest),
        "taught, one number": ConformalRegressor(
            predictor(name), threshold=PLCP(calibration="held-out"), **rest
        ),
    }
    found = []
    for method, estimator in of_rows.items():
        given = (X, y) if method.startswith("taught") else (X_cal, y_cal)
        start = time.perf_counter()
        sets = estimator.fit(*given).predict_set(new)
        seconds = time.perf_counter() - start
        covered = sets.contains(of_new)
        errors = [float(ert(new, covered, ALPHA, random_state=k)) for k in range(ERT_FOLDINGS)]
        shares = np.array([covered[rows].mean() for rows in known.T])
        found.append(
            {
                "task": name,
                "share": share,
                "seed": seed,
                "method": method,
                "ert": float(np.mean(errors)),
                "worst group": float(np.abs(shares - 1 + ALPHA).max()),
                "coverage": float(covered.mean()),
                "length": float(sets.size.mean()),
                "seconds": seconds,
            }
        )
    return found


def run(function: Callable[..., Any], cells: Iterable[tuple[Any, ...]]) -> list[Any]:
    kept = kept_by_package("modes").cache(function)

    def alone(*cell: Any) -> Any:
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            return kept(*cell)

    return Parallel(n_jobs=2)(delayed(alone)(*cell) for cell in cells)


def together(found: list[list[Any]]) -> list[Any]:
    return [record for records in found for record in records]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["msce", "taught", "coverage"])
    parser.add_argument("--data-dir", default=os.environ.get("PLCP_DATA", "data"), type=Path)
    parser.add_argument("--seeds", type=int, default=10, help="of each synthetic task")
    parser.add_argument("--fits", type=int, default=2000, help="of a linear regressor in each case")
    parser.add_argument("--default-fits", type=int, default=100, help="of the default regressor")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.7, 0.9, 0.5])
    parser.add_argument(
        "--real-seeds", type=int, nargs="+", default=[5, 5, 5], help="of each share"
    )
    more = list(MORE_SETS)
    parser.add_argument("--more", nargs="*", default=more, help="real sets beside the five")
    given = parser.parse_args()
    if "msce" in given.parts:
        cells = product(TASKS, SIZES, range(given.seeds))
        save("accuracy/modes", "msce", together(run(of_modes, cells)))
    if "coverage" in given.parts:
        fits = {"least squares": given.fits, "line": given.fits, "default": given.default_fits}
        for records in coverage(fits, load("accuracy/modes")["coverage"]["results"]):
            save("accuracy/modes", "coverage", records)
    if "taught" in given.parts:
        shares = zip(given.shares, given.real_seeds, strict=True)
        cells = [
            (name, share, seed, given.data_dir)
            for share, seeds in shares
            for name, seed in product([*REAL_SETS, *given.more], range(seeds))
        ]
        save("accuracy/modes", "taught", together(run(of_taught, cells)))


if __name__ == "__main__":
    main()
