"""Fit and prediction of every mode of PLCP beside other libraries, in one run; results/peers.json.

Parts: ``fits`` (fit where there are 20 columns, and a hundred), ``batches`` (prediction of batches
of 1 to 1,000,000 rows), ``peers`` (each method at four sizes, in a process of its own, with its
peak of memory) and ``classifiers``, where TorchCP has methods of its own (left out where it is not
installed). All calibrate around the same linear model, which costs next to nothing. Seconds are of
processor time in one thread, the best of several, which depends least on what else a machine does.

    pip install -e '.[bench,rivals]' -c constraints.txt
    pip install torch_geometric transformers && pip install --no-deps torchcp
    python -m benchmarks.speed.peers [fits batches peers classifiers]
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
from benchmarks.shared import peak_megabytes, save
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from threadpoolctl import threadpool_limits

from plcp import (
    PLCP,
    ConformalClassifier,
    ConformalRegressor,
    LinearQuantile,
    OrderedPartition,
    SplitConformal,
)
from plcp.datasets import make_nonlinear, make_synthetic

ALPHA = 0.1
SIZES = (1_000, 10_000, 100_000, 1_000_000)
NEW = 100_000  # rows that are predicted; the slow methods are given fewer
FEW = 100
MODES = ("rotate", "held-out", "split", "cross")
BATCHES = (*(lead * 10**power for power in range(6) for lead in (1, 2, 5)), 1_000_000)
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


def torchcp_classes(name: str) -> Fit:
    def fit(model: Any, X: Any, y: Any) -> Callable[[Any], Any]:
        import torch

        sys.modules.setdefault("torchsort", MagicMock())  # of losses alone; it compiles for a GPU
        from torchcp.classification import predictor
        from torchcp.classification.score import LAC

        def logits(rows: Any) -> Any:
            return torch.from_numpy(np.log(model.predict_proba(rows)))

        fitted = getattr(predictor, name)(score_function=LAC(), model=None, alpha=ALPHA)
        fitted.calculate_threshold(logits(X), torch.from_numpy(y), ALPHA)
        return lambda rows: fitted.predict_with_logits(logits(rows))

    return fit


def mapie_classes(model: Any, X: Any, y: Any) -> Callable[[Any], Any]:
    from mapie.classification import SplitConformalClassifier

    fitted = SplitConformalClassifier(model, confidence_level=1 - ALPHA, prefit=True)
    return fitted.conformalize(X, y).predict_set


def of_classifier(**options: Any) -> Fit:
    def fit(model: Any, X: Any, y: Any) -> Callable[[Any], Any]:
        return ConformalClassifier(FrozenEstimator(model), **options).fit(X, y).predict_set

    return fit


ONE = "one boosted quantile model"
METHODS: dict[str, Fit] = {
    ONE: one_boosted_model,
    **{f"PLCP, {m}": of_rule(PLCP(calibration=m, random_state=0)) for m in MODES},
    "PLCP, linear regressor": of_rule(PLCP(OrderedPartition(LinearQuantile()), random_state=0)),
    "Split": of_rule(SplitConformal()),
    "MAPIE, split": mapie_split,
    "MAPIE, CQR": mapie_cqr,
    "MAPIE, conditional": mapie_conditional,
    "crepes, Mondrian": crepes_mondrian,
}
SLOW = {"MAPIE, conditional": 10_000}  # rows up to which a method is tried, on few new rows
CLASSIFIERS: dict[str, Fit] = {
    "Split": of_classifier(threshold=SplitConformal()),
    "Split of each label": of_classifier(threshold=SplitConformal(), label_conditional=True),
    "PLCP": of_classifier(random_state=0),
    "TorchCP, split": torchcp_classes("SplitPredictor"),
    "TorchCP, split of each label": torchcp_classes("ClassConditionalPredictor"),
    "TorchCP, clusters of labels": torchcp_classes("ClusteredPredictor"),
    "MAPIE, split": mapie_classes,
}
CLASSES = 10


def seconds(*actions: Callable[[], Any], repeats: int = 3) -> list[float]:
    """Least processor time of each action; they take turns."""
    best = [np.inf] * len(actions)
    for _ in range(repeats):
        for i, action in enumerate(actions):
            start = time.process_time()
            action()
            best[i] = min(best[i], time.process_time() - start)
    return best


def fresh_peak() -> float:
    """Megabytes that are held, from which the peak is counted from now on (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_megabytes() or 0.0


def measure(name: str, n: int) -> dict[str, Any]:
    """Time and memory of one method; a first fit of a few rows imports what it needs."""
    cal, new = make_nonlinear(n, random_state=0), make_nonlinear(NEW, random_state=1)
    model = LinearRegression().fit(cal.X[:1000], cal.y[:1000])
    method, X = METHODS[name], new.X[:FEW] if name in SLOW else new.X
    method(model, cal.X[:1000], cal.y[:1000])(X[:10])
    found: list[Callable[[Any], Any]] = []
    before = fresh_peak()
    fit = seconds(lambda: found.append(method(model, cal.X, cal.y)), repeats=1)[0]
    memory = peak_megabytes() - before
    if n <= 100_000:
        fit = min(fit, *seconds(lambda: method(model, cal.X, cal.y), repeats=2))
    before = fresh_peak()
    predict = seconds(lambda: found[0](X), repeats=1 if name in SLOW else 3)[0]
    return {
        "method": name,
        "n": n,
        "fit_seconds": fit,
        "fit_megabytes": memory,
        "predict_seconds_per_row": predict / len(X),
        "predict_megabytes": peak_megabytes() - before,
        "X_megabytes": cal.X.nbytes / 1e6,
    }


def peers() -> list[dict[str, Any]]:
    records = []
    for n in SIZES:
        for name in METHODS:
            if n <= SLOW.get(name, n):
                run = [sys.executable, "-m", "benchmarks.speed.peers", "one", name, str(n)]
                done = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True)
                records.append(json.loads(done.stdout.splitlines()[-1]))
                print(records[-1], flush=True)
    return records


def batches() -> list[dict[str, Any]]:
    cal, new = make_nonlinear(50_000, random_state=0), make_nonlinear(BATCHES[-1], random_state=1)
    predicts = {ONE: boosted().fit(cal.X, cal.scores).predict}
    for mode in MODES:
        predicts[mode] = PLCP(calibration=mode, random_state=0).fit(cal.X, cal.scores).predict
    records = []
    for size in BATCHES:
        X, times = new.X[:size], max(1, 200 // size)  # the clock counts in microseconds
        for predict in predicts.values():
            predict(X[:1000])  # which makes tables

        def several(predict: Callable[[Any], Any], X: Any = X, times: int = times) -> None:
            for _ in range(times):
                predict(X)

        repeats = int(np.clip(100_000 // size, 2, 50))
        found = seconds(*(partial(several, p) for p in predicts.values()), repeats=repeats)
        records += [
            {"method": name, "rows": size, "seconds": one / times}
            for name, one in zip(predicts, found, strict=True)
        ]
        print(records[-len(found) :], flush=True)
    return records


def fits() -> list[dict[str, Any]]:
    records = []
    for rows, make, n in (
        ("50,000 × 20", make_nonlinear, 50_000),
        ("10,000 × 100", make_synthetic, 10_000),
    ):
        task = make(n, random_state=0)
        rules = [PLCP(calibration=mode, random_state=0) for mode in MODES]
        found = seconds(
            *(partial(model.fit, task.X, task.scores) for model in (boosted(), *rules)), repeats=2
        )
        records += [
            {"rows": rows, "method": name, "seconds": one, "ratio": one / found[0]}
            for name, one in zip((ONE, *MODES), found, strict=True)
        ]
        print(records[-len(found) :], flush=True)
    return records


def classifiers() -> list[dict[str, Any]]:
    records = []
    new = make_nonlinear(NEW, random_state=1).X
    for n in (10_000, 100_000):
        cal = make_nonlinear(n, random_state=0)
        y = np.digitize(cal.y, np.quantile(cal.y, np.linspace(0, 1, CLASSES + 1)[1:-1]))
        model = LogisticRegression().fit(cal.X[:1000], y[:1000])
        for name, method in CLASSIFIERS.items():
            if name.startswith("TorchCP") and find_spec("torchcp") is None:
                continue
            fitted = method(model, cal.X, y)
            fit, predict = seconds(
                partial(method, model, cal.X, y), partial(fitted, new), repeats=2
            )
            records.append(
                {
                    "method": name,
                    "n": n,
                    "fit_seconds": fit,
                    "predict_seconds_per_row": predict / NEW,
                }
            )
            print(records[-1], flush=True)
    return records


PARTS = {"fits": fits, "batches": batches, "peers": peers, "classifiers": classifiers}


def main() -> None:
    with threadpool_limits(1):
        if sys.argv[1:2] == ["one"]:
            print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
            return
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("parts", nargs="*", default=list(PARTS))
        for part in parser.parse_args().parts:
            save("speed/peers", part, PARTS[part]())


if __name__ == "__main__":
    main()
