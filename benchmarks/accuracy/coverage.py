"""Coverage where rules could go wrong: pure noise, copied rows, accurate classifiers.

Parts: ``noise`` (nothing to learn: the default should answer as Split does), ``copies`` (five
copies of each row) and ``accurate`` (the score is 1 - p of a classifier that is nearly always
right). Each is the mean over seeds with its standard error, PLCP beside Split on the same rows.
"""

import argparse
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from benchmarks.shared import save
from joblib import Parallel, delayed
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from plcp import PLCP, SplitConformal

LAWS = {"normal": stats.halfnorm(), "t3": stats.t(3), "exponential": stats.expon()}
SIZES, WIDTHS = (100, 200, 400, 700, 2000), (1, 4, 50)
N_NEW, N_COPIED, COPIES = 1000, 60, 5
TRAINED_ON = (120, 500, 1000)  # rows of digits: 90, 95 and 97 % of the labels are right


def fitted(X: Any, scores: Any, seed: int) -> dict[str, Any]:
    rules = {"PLCP": PLCP(random_state=seed), "Split": SplitConformal()}
    return {name: rule.fit(X, scores) for name, rule in rules.items()}


def noise(law: str, n: int, d: int, seed: int) -> dict[str, Any]:
    """True coverage of scores that have nothing to do with the features."""
    rng = np.random.default_rng([seed, n, d])
    scores, X = np.abs(LAWS[law].rvs(n, random_state=rng)), rng.normal(size=(n, d))
    new, record = rng.normal(size=(N_NEW, d)), {"law": law, "n": n, "d": d, "seed": seed}
    for name, rule in fitted(X, scores, seed).items():
        q = rule.predict(new)
        covered = LAWS[law].cdf(q) - (LAWS[law].cdf(-q) if law == "t3" else 0.0)
        record[name] = float(covered.mean())
        record[f"{name} MSCE"] = float(((covered - 0.9) ** 2).mean())
    return record


def copies(seed: int) -> dict[str, Any]:
    """Coverage of new rows where each calibration row is there five times."""
    rng = np.random.default_rng(seed)
    X, scores = rng.normal(size=(N_COPIED, N_COPIED)), np.abs(rng.normal(size=N_COPIED))
    new, record = rng.normal(size=(N_NEW, N_COPIED)), {"seed": seed}
    rules = fitted(np.repeat(X, COPIES, axis=0), np.repeat(scores, COPIES), seed)
    for name, rule in rules.items():
        record[name] = float(LAWS["normal"].cdf(rule.predict(new)).mean())
    return record


def accurate(trained_on: int, seed: int) -> dict[str, Any]:
    """Coverage and size of the sets of digits, 500 of which calibrate."""
    X, y = load_digits(return_X_y=True)
    X, rest, y, labels = train_test_split(X, y, train_size=trained_on, random_state=seed)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X, y)
    X, new, y, of_new = train_test_split(rest, labels, train_size=500, random_state=seed)
    of_labels = 1 - model.predict_proba(new)
    scores = 1 - model.predict_proba(X)[np.arange(len(y)), y]
    record = {"trained on": trained_on, "seed": seed, "accuracy": model.score(new, of_new)}
    for name, rule in fitted(X, scores, seed).items():
        q = rule.predict(new)
        covered = of_labels[np.arange(len(of_new)), of_new] <= q
        record[name] = float(covered.mean())
        record[f"{name} size"] = float((of_labels <= q[:, None]).sum(axis=1).mean())
    return record


def summary(records: list[dict[str, Any]], by: str | None = None) -> list[dict[str, Any]]:
    """Mean and spread of each column over seeds, with standard errors."""
    found = []
    for value in dict.fromkeys(None if by is None else r[by] for r in records):
        own = [r for r in records if by is None or r[by] == value]
        row: dict[str, Any] = {"fits": len(own)} if by is None else {by: value, "fits": len(own)}
        for name in own[0]:
            if name.startswith(("PLCP", "Split", "accuracy")):
                row[name] = estimate(np.array([r[name] for r in own]))
        difference = np.array([r["PLCP"] - r["Split"] for r in own])
        row["PLCP - Split"] = estimate(difference)
        found.append(row)
        print(row, flush=True)
    return found


def estimate(values: np.ndarray) -> dict[str, float]:
    spread = float(values.std(ddof=1))
    error = spread / np.sqrt(len(values))
    return {
        k: round(v, 6) for k, v in {"mean": values.mean(), "error": error, "sd": spread}.items()
    }


def run(function: Callable[..., Any], cells: Any) -> list[dict[str, Any]]:
    def alone(*cell: Any) -> Any:
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            return function(*cell)

    return Parallel(n_jobs=2)(delayed(alone)(*cell) for cell in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=["noise", "copies", "accurate"])
    parser.add_argument("--seeds", type=int, default=25, help="for each law, size and width")
    given = parser.parse_args()
    seeds = range(given.seeds)
    if "noise" in given.parts:
        found = []
        for n in SIZES:
            cells = product(LAWS, [n], WIDTHS, seeds)
            found += summary(run(noise, cells), by="n")
        save("accuracy/coverage", "noise", found)
    if "copies" in given.parts:
        found = summary(run(copies, [(k,) for k in range(8 * len(seeds))]))
        save("accuracy/coverage", "copies", found)
    if "accurate" in given.parts:
        cells = product(TRAINED_ON, range(2 * len(seeds)))
        save("accuracy/coverage", "accurate", summary(run(accurate, cells), by="trained on"))


if __name__ == "__main__":
    main()
