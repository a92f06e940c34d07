"""Laws of growth fitted to what was measured, and what they predict for sizes that were not."""

from typing import Any, NamedTuple

import numpy as np
from benchmarks.scale.data import N_TEST
from benchmarks.shared import Records
from scipy.optimize import nnls


def power(n: float) -> str:
    """A number of rows as people write it: 3·10^7."""
    exponent = len(str(round(n))) - 1
    lead = f"{n / 10**exponent:g}"
    return f"10^{exponent}" if lead == "1" else f"{lead}·10^{exponent}"


def seconds(value: float) -> str:
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if value >= 2 * size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.1f} s" if value >= 1 else f"{value:.2f} s"


def megabytes(value: float) -> str:
    return f"{value:,.0f} MB"


def rate(run: dict[str, Any], *, alone: bool) -> float:
    """Rows a second, making the rows included, or with the time of making them taken off."""
    made = run["pass_seconds"] if alone else 0.0
    return run["rows"] / max(run["seconds"] - made, 1e-9)


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
