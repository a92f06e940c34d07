"""The space in which local rules measure distances: numbers, their scale, and a kernel."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from plcp.locality.kernels import bandwidth_for_size
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import is_frame
from plcp.validation import is_missing


@dataclass(frozen=True)
class Space:
    """A kernel, and the columns it sees with their centre and scale."""

    kernel: Any
    columns: IntArray
    centre: FloatArray
    scale: FloatArray

    def place(self, X: FloatArray) -> FloatArray:
        """Rows of X as the kernel sees them."""
        return (X[:, self.columns] - self.centre) / self.scale


def plain_space(kernel: Any, width: int) -> Space:
    """All columns in their own units."""
    return Space(kernel, np.arange(width), np.zeros(width), np.ones(width))


def standard_space(X: FloatArray, kernel: Any, bandwidth: Callable[[FloatArray], float]) -> Space:
    """Columns in standard deviations, constant ones left out, and a kernel of some bandwidth.

    ``bandwidth`` is a function of the rows so placed; infinite where they are all the same.
    """
    columns = np.flatnonzero(np.ptp(X, axis=0) > 0)
    if len(columns) == 0:
        return Space(kernel(np.inf), columns, np.zeros(0), np.ones(0))
    with np.errstate(over="ignore", invalid="ignore"):
        centre, scale = X[:, columns].mean(axis=0), X[:, columns].std(axis=0)
    wrong = np.flatnonzero(~((scale > 0) & np.isfinite(scale)))
    if len(wrong):
        size = "small" if scale[wrong[0]] == 0 else "large"
        raise ValueError(
            f"column {columns[wrong[0]]} of X is too {size} to measure distances in: rescale it"
        )
    standard = Space(kernel, columns, centre, scale)
    return replace(standard, kernel=kernel(bandwidth(standard.place(X))))


def tuned_space(
    kernel: Any,
    X: FloatArray,
    bandwidth: float | None,
    *,
    n: int,
    size: float,
    drawn: bool,
    seed: int,
) -> Space:
    """Standard space of a given bandwidth; None: a point then sees ``size`` effective ones of n."""

    def chosen(placed: FloatArray) -> float:
        if bandwidth is not None:
            return bandwidth
        return bandwidth_for_size(kernel, placed, n, size, drawn=drawn, seed=seed)

    return standard_space(X, kernel, chosen)


def numbers(X: Any) -> FloatArray:
    """X as finite floats; a column that is no number is refused by its name."""
    if is_frame(X):
        values = np.column_stack([_column(X, name) for name in X.columns])
    else:
        values = np.asarray(X, dtype=float)
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        row, column = wrong[0]
        kind = "NaN" if np.isnan(values[row, column]) else "inf (infinity)"
        name = repr(X.columns[column]) if is_frame(X) else column
        raise ValueError(
            f"X contains {kind} at row {row}, column {name}: "
            "put an imputer before the rule in a pipeline, or drop the column"
        )
    return values


def _column(X: Any, name: Any) -> FloatArray:
    values = np.asarray(X[name])
    if values.dtype.kind in "biuf":
        return values.astype(float)
    missing = is_missing(values) if values.dtype.kind == "O" else np.zeros(len(values), dtype=bool)
    if values.dtype.kind != "O" or not all(isinstance(v, Real) for v in values[~missing]):
        raise ValueError(
            f"column {name!r} of type {X[name].dtype} holds no numbers: "
            "encode it (OneHotEncoder in a pipeline), or drop it"
        )
    return np.where(missing, np.nan, values).astype(float)
