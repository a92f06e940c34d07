"""Kernels H(x, z): how much a point counts near another, and draws from their densities."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from plcp.quantiles import FloatArray

CENTRES = 200  # points at which the effective share is measured
STEPS = 40  # halvings of six decades: to one part in 10^11
NEAR = 2.0**26  # squared norm, in bandwidths, below which a product gives the distance to 1e-7


@dataclass(frozen=True)
class GaussianKernel:
    """H(x, z) = exp(-‖x - z‖² / (2 bandwidth²)).

    Parameters
    ----------
    bandwidth : float
        Standard deviation of a draw, in the units of X; infinite: every point counts the same.

    Examples
    --------
    >>> GaussianKernel(1.0)(np.array([[0.0], [2.0]]), np.array([[0.0]])).round(3)
    array([[1.   ],
           [0.135]])
    """

    bandwidth: float
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Weights H(x, z) in [0, 1], shape (n, m)."""
        logs = self.log(X, Z)
        return np.exp(logs, out=logs)

    def log(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Logarithms of the weights: they are right where the weights themselves are too small."""
        if np.isinf(self.bandwidth):
            return np.zeros((len(X), len(Z)))
        with np.errstate(over="ignore", invalid="ignore"):
            middle = Z.mean(axis=0)
            left, right = (X - middle) / self.bandwidth, (Z - middle) / self.bandwidth
            norms = [np.einsum("ij,ij->i", side, side) for side in (left, right)]
            if not max(norms[0].max(), norms[1].max()) < NEAR:  # a product would cancel
                return -0.5 * (cdist(X, Z) / self.bandwidth) ** 2
        # x·z - ‖x‖²/2 - ‖z‖²/2 in one product
        ones = [np.ones(len(side)) for side in (left, right)]
        logs: FloatArray = (
            np.column_stack([left, -0.5 * norms[0], ones[0]])
            @ np.column_stack([right, ones[1], -0.5 * norms[1]]).T
        )
        return np.minimum(logs, 0.0, out=logs)

    def draw(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One draw from the normal law around each row."""
        if np.isinf(self.bandwidth):
            return X
        return X + self.bandwidth * rng.standard_normal(X.shape)


@dataclass(frozen=True)
class BoxKernel:
    """H(x, z) = 1 if ‖x - z‖ ≤ bandwidth, else 0: a ball, which the literature calls a box.

    Parameters
    ----------
    bandwidth : float
        Radius, in the units of X; infinite: every point counts the same.

    Examples
    --------
    >>> BoxKernel(1.0)(np.array([[0.0], [2.0]]), np.array([[0.5]]))
    array([[1.],
           [0.]])
    """

    bandwidth: float
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Weights H(x, z), zero or one, shape (n, m)."""
        if np.isinf(self.bandwidth):
            return np.ones((len(X), len(Z)))
        return (cdist(X, Z) <= self.bandwidth).astype(float)

    def draw(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One draw from the uniform law on the ball around each row."""
        if np.isinf(self.bandwidth):
            return X
        normal = rng.standard_normal(X.shape)
        radius = rng.uniform(size=len(X)) ** (1 / X.shape[1])
        return X + normal * (self.bandwidth * radius / np.linalg.norm(normal, axis=1))[:, None]


def check_bandwidth(bandwidth: Any) -> float:
    """``bandwidth`` if it is positive; infinite is allowed."""
    is_number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool)
    if not is_number or not bandwidth > 0:
        raise ValueError(
            f"bandwidth must be a positive number, or infinite to count all points alike, "
            f"got {bandwidth!r}"
        )
    return float(bandwidth)


def bandwidth_for_share(
    kernel: Callable[[float], Any], X: FloatArray, share: float, *, drawn: bool, seed: int
) -> float:
    """Bandwidth at which points see a share (Σw)² / (n Σw²) of the n rows, in the median.

    ``drawn``: weights are taken around a draw from the kernel, as RLCP does it, and not around
    the point itself. Bisection on the logarithm, with the same draws at every step; infinite if
    all rows are one.
    """
    distances = cdist(X[:CENTRES], X)
    if not distances.any():
        return np.inf
    typical = float(np.median(distances[distances > 0]))
    low, high = np.log(typical) + np.log([1e-3, 1e3])
    for _ in range(STEPS):
        middle = (low + high) / 2
        tried = kernel(float(np.exp(middle)))
        centres = X[:CENTRES]
        around = tried.draw(centres, np.random.default_rng(seed)) if drawn else centres
        if _median_share(tried, X, around) < share:
            low = middle
        else:
            high = middle
    return float(np.exp(high))


def _median_share(kernel: Any, X: FloatArray, around: FloatArray) -> float:
    """Median effective share of the rows, each centre's own row left out."""
    if hasattr(kernel, "log"):
        logs = kernel.log(around, X)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    else:
        weights = kernel(around, X)
    np.fill_diagonal(weights, 0.0)
    squares = (weights**2).sum(axis=1)
    shares = weights.sum(axis=1) ** 2 / np.where(squares > 0, squares, 1.0) / (len(X) - 1)
    return float(np.median(shares))
