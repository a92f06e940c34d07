"""Predictions a second by Python and by onnxruntime, one thread each, from the same fitted rules.

Python predicts as in a service: a NumPy array at a time, with trees looked up in tables
wherever a batch is large enough for those. Every call has other rows, for a processor learns which
way the same ones take; a rate is that of the median call.
"""

import time
from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import onnxruntime
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from plcp import PLCP, ConformalRegressor, LinearQuantile, OrderedPartition
from plcp.datasets import make_nonlinear
from plcp.onnx import export
from plcp.partitions.torch import TorchPartition

ROWS, NEW_ROWS = 10_000, 20_000
BATCHES = (1, 100, 10_000)
SECONDS, LEAST_CALLS = 3.0, 3  # of each rate


def rules(n: int) -> dict[str, Any]:
    task = make_nonlinear(n, calibration="held-out", random_state=0)
    boosted = HistGradientBoostingRegressor(loss="quantile", calibration="held-out", random_state=0)
    found = {
        "default": PLCP(calibration="held-out", random_state=0),
        "boosted": PLCP(OrderedPartition(boosted), calibration="held-out", random_state=0),
        "linear": PLCP(OrderedPartition(LinearQuantile()), calibration="held-out", random_state=0),
        "torch": PLCP(TorchPartition(), calibration="held-out", random_state=0),
    }
    fitted = {name: rule.fit(task.X, task.scores) for name, rule in found.items()}
    model = FrozenEstimator(LinearRegression().fit(task.X, task.y))
    intervals = ConformalRegressor(
        model, threshold=PLCP(calibration="held-out", random_state=0)
    ).fit(task.X, task.y)
    return {**fitted, "intervals, default": intervals}


def rate(predict: Callable[[np.ndarray], Any], X: np.ndarray, rows: int, seconds: float) -> float:
    """Rows a second, of the median call."""
    batches = cycle([np.ascontiguousarray(X[i : i + rows]) for i in range(0, len(X), rows)])
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < LEAST_CALLS:
        batch = next(batches)
        start = time.perf_counter()
        predict(batch)
        times.append(time.perf_counter() - start)
    return rows / float(np.median(times))


def session_of(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options)


def served(model: Any, X: np.ndarray, batches: tuple[int, ...], seconds: float) -> dict[str, Any]:
    start = time.perf_counter()
    content = export(model).SerializeToString()
    exported = time.perf_counter() - start
    session = session_of(content)
    intervals = isinstance(model, ConformalRegressor)
    predict = model.predict_interval if intervals else model.predict
    outputs = ["lower", "upper"] if intervals else ["threshold"]
    rates = {}
    for n in batches:
        python = rate(predict, X, n, seconds)
        onnx = rate(lambda rows: session.run(outputs, {"X": rows}), X, n, seconds)
        rates[str(n)] = {"python": python, "onnx": onnx, "times": onnx / python}
    expected = predict(X)
    found = session.run(outputs, {"X": X})
    answer = np.column_stack(found) if intervals else found[0]
    return {
        "rates": rates,
        "largest_relative_difference": float(np.max(np.abs(answer - expected) / np.abs(expected))),
        "same_group": float(np.mean(session.run(["group"], {"X": X})[0] == model.groups(X))),
        "export_seconds": exported,
        "bytes": len(content),
    }


def measure(quick: bool) -> dict[str, Any]:
    """Rates, differences and sizes of each kind of rule."""
    n, new, seconds = (1_000, 200, 0.05) if quick else (ROWS, NEW_ROWS, SECONDS)
    X = make_nonlinear(new, random_state=1).X
    batches = tuple(b for b in BATCHES if b <= new)
    with threadpool_limits(1):
        found = {name: served(model, X, batches, seconds) for name, model in rules(n).items()}
    return {"rows": n, "columns": X.shape[1], "rules": found}
