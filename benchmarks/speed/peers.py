"""Fit and prediction of every mode of PLCP beside other libraries, in one run; results/peers.json.

Parts: ``peers`` (each method at four sizes, in a process of its own, with its peak of memory),
``batches`` (prediction of batches of 1 to 1,000,000 rows, in units of one boosted model's) and
``wide`` (fit where there are a hundred columns). All calibrate around the same linear model, which
costs next to nothing, on rows of 20 columns.

    pip install -e '.[bench,rivals]' -c constraints.txt
    python -m benchmarks.speed.peers [peers batches wide]
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.shared import best_time, save
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from plcp import PLCP, ConformalRegressor, SplitConformal
from plcp.datasets import make_nonlinear, make_synthetic

ALPHA = 0.1
SIZES = (1_000, 10_000, 100_000, 1_000_000)
NEW = 100_000  # rows that are predicted, of those the slow methods are given fewer
FEW = 500
MODES = ("rotate", "held-out", "split", "cross")
BATCHES = (1, 10, 64, 65, 256, 1_000, 10_000, 100_000, 1_000_000)
Fit = Callable[[Any, Any, Any], Callable[[Any], Any]]  # model, X, y → a function that predicts


def boosted() -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(loss="quantile", quantile=1 - ALPHA, random_state=0)


def one_boosted_model(model: Any, X: Any, y: Any) -> Callable[[Any], Any]:
    return boosted().fit(X, np.abs(y - model.predict(X))).predict


def of_rule(rule: Any) -> Fit:
    def fit(model: Any, X: Any, y: Any) -> Callable[[Any], Any]:
        fitted = ConformalRegressor(FrozenEstimator(model), threshold=rule).fit(X, y)
        return fitted.predict_interval

    return fit


def mapie_split(model: Any, X: Any, y: Any) -> Callable[[Any], Any]:
    from mapie.regression import SplitConformalRegressor

    return (
        SplitConformalRegressor(model, 1 - ALPHA, prefit=True).conformalize(X, y).predict_interval
    )


def mapie_cqr(model: Any, X: Any, y: Any) -> Callable[[Any], Any]:
    from mapie.regression import ConformalizedQuantileRegressor

    quantiles = (ALPHA / 2, 1 - ALPHA / 2, 0.5)
    models = [
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0).fit(X, y)
        for q in quantiles
    ]
    fitted = ConformalizedQuantileRegressor(models, 1 - ALPHA, prefit=True).conformalize(X, y)
    return fitted.predict_interval


def mapie_conditional(model: Any, X: Any, y: Any) -> Callable[[Any], Any]:
    from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor

    def features(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(rows)), rows])

    fitted = ConditionalSplitConformalRegressor(features, model, 1 - ALPHA)
    fitted.conformalize(X, y)
    return fitted.predict_interval


def crepes_mondrian(model: Any, X: Any, y: Any) -> Callable[[Any], Any]:
    from crepes import WrapRegressor
    from crepes.extras import MondrianCategorizer

    bins = MondrianCategorizer()
    bins.fit(X, f=lambda rows: np.asarray(rows)[:, 0], no_bins=10)
    fitted = WrapRegressor(model)
    fitted.calibrate(X, y, mc=bins)
    return partial(fitted.predict_int, confidence=1 - ALPHA)


METHODS: dict[str, Fit] = {
    "one boosted quantile model": one_boosted_model,
    **{f"PLCP, {m}": of_rule(PLCP(calibration=m, random_state=0)) for m in MODES},
    "Split": of_rule(SplitConformal()),
    "MAPIE, split": mapie_split,
    "MAPIE, CQR": mapie_cqr,
    "MAPIE, conditional": mapie_conditional,
    "crepes, Mondrian": crepes_mondrian,
}
SLOW = {"MAPIE, conditional": 10_000}  # rows up to which a method is tried, on few new rows


def measure(name: str, n: int) -> dict[str, Any]:
    """Time and memory of one method, beside one boosted model in the same process."""
    cal, new = make_nonlinear(n, random_state=0), make_nonlinear(NEW, random_state=1)
    model = LinearRegression().fit(cal.X[:1000], cal.y[:1000])
    X = new.X[:FEW] if name in SLOW else new.X
    repeats = 3 if n < 1_000_000 else 1
    before = peak()
    fit_seconds = best_time(lambda: METHODS[name](model, cal.X, cal.y), repeats)
    predict = METHODS[name](model, cal.X, cal.y)
    predict_seconds = best_time(lambda: predict(X), 3)
    memory = peak() - before
    one = one_boosted_model(model, cal.X, cal.y)
    return {
        "method": name,
        "n": n,
        "fit_seconds": fit_seconds,
        "predict_seconds_per_row": predict_seconds / len(X),
        "peak_in_X": memory / cal.X.nbytes,
        "one_fit_seconds": best_time(lambda: one_boosted_model(model, cal.X, cal.y), repeats),
        "one_predict_seconds_per_row": best_time(lambda: one(new.X), 3) / NEW,
    }


def peak() -> int:
    """Peak memory of this process so far, in bytes."""
    with open("/proc/self/status") as status:
        return 1024 * int(next(line.split()[1] for line in status if line.startswith("VmHWM")))


def peers() -> list[dict[str, Any]]:
    records = []
    for n in SIZES:
        for name in METHODS:
            if n > SLOW.get(name, n):
                continue
            run = [sys.executable, "-m", "benchmarks.speed.peers", "one", name, str(n)]
            done = subprocess.run(run, capture_output=True, text=True, check=True)
            records.append(json.loads(done.stdout.splitlines()[-1]))
            print(records[-1], flush=True)
    return records


def batches() -> list[dict[str, Any]]:
    cal, new = make_nonlinear(50_000, random_state=0), make_nonlinear(BATCHES[-1], random_state=1)
    one = boosted().fit(cal.X, cal.scores)
    rules = {m: PLCP(calibration=m, random_state=0).fit(cal.X, cal.scores) for m in MODES}
    records = []
    for size in BATCHES:
        X, repeats = new.X[:size], max(3, min(300, 20_000 // size))
        unit = best_time(lambda X=X: one.predict(X), repeats)
        for mode, rule in rules.items():
            seconds = best_time(lambda X=X, rule=rule: rule.predict(X), repeats)
            records.append(
                {"mode": mode, "rows": size, "seconds": seconds, "ratio": seconds / unit}
            )
            print(records[-1], flush=True)
    return records


def wide() -> list[dict[str, Any]]:
    records = []
    for name, make, n in (
        ("50,000 × 20", make_nonlinear, 50_000),
        ("10,000 × 100", make_synthetic, 10_000),
    ):
        task = make(n, random_state=0)
        unit = best_time(lambda task=task: boosted().fit(task.X, task.scores), 5)
        for mode in MODES:
            rule = PLCP(calibration=mode, random_state=0)
            seconds = best_time(lambda t=task, rule=rule: rule.fit(t.X, t.scores), 3)
            records.append(
                {"rows": name, "mode": mode, "seconds": seconds, "ratio": seconds / unit}
            )
            print(records[-1], flush=True)
    return records


PARTS = {"peers": peers, "batches": batches, "wide": wide}


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    for part in parser.parse_args().parts:
        save("speed/peers", part, PARTS[part]())


if __name__ == "__main__":
    main()
