"""Laws of growth fitted to what was measured, and what they say of sizes that were not."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from drawing import Records
from scale_data import N_TEST

WORKERS = 2  # that all was measured on
SAMPLE = 1_000_000  # rows that teach the default regressor: from here on only passes grow


class Growth(NamedTuple):
    """Exponent of n: by least squares over all sizes, and the largest between two in turn."""

    exponent: float
    worst_step: float


class Spread(NamedTuple):
    """What costs ``fixed`` whatever the rows, and ``per_row`` for each row of a worker."""

    fixed: float
    per_row: float

    def at(self, rows: float, workers: float) -> float:
        return self.fixed + self.per_row * rows / workers


def growth(rows: list[int], values: list[float]) -> Growth:
    n, v = np.log(rows), np.log(values)
    return Growth(float(np.polyfit(n, v, 1)[0]), float((np.diff(v) / np.diff(n)).max()))


def spread(rows: list[int], values: list[float]) -> Spread:
    """Two costs, neither negative, of least squares relative to what was measured."""
    n, v = np.asarray(rows) / WORKERS, np.asarray(values)
    fixed, per_row = nnls(np.column_stack([1 / v, n / v]), np.ones(len(v)))[0]
    return Spread(float(fixed), float(per_row))


def large(runs: Records) -> Records:
    """Sizes at which the sample is full, if any."""
    return [run for run in runs if run["rows"] >= SAMPLE] or runs


def seconds_law(runs: Records) -> Spread:
    own = large(runs)
    return spread([run["rows"] for run in own], [run["fit_seconds"] for run in own])


def megabytes_law(runs: Records) -> Spread:
    own = large(runs)
    peaks = [max(run["worker_megabytes"]) for run in own]
    return spread([run["rows"] for run in own], peaks)


def total_seconds(run: dict[str, Any]) -> float:
    """Seconds to fit and to predict as many rows as the common test set has."""
    return run["fit_seconds"] + run["predict_seconds"] * N_TEST / run["points"]


def ratio_without_making(run: dict[str, Any]) -> float:
    """Time on Dask less that of making its rows at every pass, over time in memory."""
    own = run["dask"]
    return (own["fit_seconds"] - own["passes"] * own["pass_seconds"]) / run["memory"]["fit_seconds"]
