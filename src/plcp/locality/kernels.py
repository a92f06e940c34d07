"""Kernels H(x, z): how much a point counts near another, and draws from their densities."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from plcp.quantiles import FloatArray

CENTRES = 200  # points at which the effective share is measured
ROWS = 10_000  # that they see then: more would change nothing but the memory it takes
SERVED = 0.9  # share of them that see enough points: were it half, many would see next to none
MOST_TRIALS = 500  # beyond, counts tell hardly more of the probabilities
STEPS = 40  # halvings of six decades: to one part in 10^11
NEAR = 2.0**16  # squared norm, in bandwidths, below which a product gives weights to 1e-10


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

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Weights H(x, z) in [0, 1], shape (n, m)."""
        logs = self.logs_to(Z)(X)
        return np.exp(np.minimum(logs, 0.0, out=logs), out=logs)

    def logs_to(self, Z: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Logarithms of the weights to these points, as a function of X.

        They are right, but for rounding, where the weights themselves are too small for a float.
        """
        if np.isinf(self.bandwidth):
            return lambda X: np.zeros((len(X), len(Z)))
        middle = Z.mean(axis=0)
        right, right_norms = self._scaled(Z, middle)
        columns = np.column_stack([right, np.ones(len(Z)), -0.5 * right_norms]).T

        def logs(X: FloatArray) -> FloatArray:
            left, norms = self._scaled(X, middle)
            if not max(norms.max(), right_norms.max()) < NEAR:  # a product would cancel
                with np.errstate(over="ignore"):
                    return -0.5 * (cdist(X, Z) / self.bandwidth) ** 2
            # x·z - ‖x‖²/2 - ‖z‖²/2 in one product
            product: FloatArray = np.column_stack([left, -0.5 * norms, np.ones(len(X))]) @ columns
            return product

        return logs

    def log_pairs(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Logarithm of the weight of each row of X to the same row of Z."""
        if np.isinf(self.bandwidth):
            return np.zeros(len(X))
        return -0.5 * (((X - Z) / self.bandwidth) ** 2).sum(axis=1)

    def _scaled(self, X: FloatArray, middle: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows seen from the middle, in bandwidths, and their squared norms."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (X - middle) / self.bandwidth
            return scaled, np.einsum("ij,ij->i", scaled, scaled)

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


@dataclass(frozen=True)
class MultinomialKernel:
    """H(p, c) = Π_k p_k^c_k: the likelihood of counts c under probabilities p > 0.

    Parameters
    ----------
    precision : int
        Number of trials, the sum of the counts; zero: all probabilities count the same.

    Examples
    --------
    >>> MultinomialKernel(2)(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([[2, 0]])).round(3)
    array([[0.25],
           [0.81]])
    """

    precision: int

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Likelihoods of the counts Z under the probabilities X, shape (n, m)."""
        return np.exp(self.logs_to(X)(Z)).T

    def logs_to(self, X: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Log likelihoods under these probabilities, as a function of counts, a row a count."""
        columns = np.log(X).T
        return lambda counts: counts @ columns

    def log_pairs(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Log likelihood of each row of counts Z under the same row of probabilities X."""
        return (Z * np.log(X)).sum(axis=1)

    def draw(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Counts of one sample from each row."""
        return rng.multinomial(self.precision, X).astype(float)


def check_automatic(name: str, value: str) -> None:
    """Refuse a word other than "auto" where a positive number is expected."""
    if value != "auto":
        raise ValueError(f"{name} must be a positive number or 'auto', got {value!r}")


def check_bandwidth(bandwidth: Any) -> float:
    """``bandwidth`` if it is positive; infinite is allowed."""
    is_number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool)
    if not is_number or not bandwidth > 0:
        raise ValueError(
            f"bandwidth must be a positive number, or infinite to count all points alike, "
            f"got {bandwidth!r}"
        )
    return float(bandwidth)


def bandwidth_for_size(
    kernel: Callable[[float], Any], X: FloatArray, n: int, size: float, *, drawn: bool, seed: int
) -> float:
    """Bandwidth at which nine points of ten see ``size`` effective ones among n like X.

    The effective size is (Σw)² / Σw² - 1 over the n and the point itself, whose own weight may
    outweigh many others. ``drawn``: weights are taken around a draw from the kernel, as RLCP does
    it, and not around the point. Bisection on the logarithm, with the same draws at every step;
    infinite if all rows are one.
    """
    X = X[:ROWS]
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
        if np.quantile(_effective_sizes(tried, X, around, n), 1 - SERVED) < size:
            low = middle
        else:
            high = middle
    return float(np.exp(high))


def precision_for_size(X: FloatArray, n: int, size: float, seed: int) -> int:
    """Largest precision, up to 500, at which nine points of ten see ``size`` of n like X."""
    X = X[:ROWS]

    def too_sharp(precision: int) -> bool:
        kernel = MultinomialKernel(precision)
        counts = kernel.draw(X[:CENTRES], np.random.default_rng(seed))
        return bool(np.quantile(_effective_sizes(kernel, X, counts, n), 1 - SERVED) < size)

    return max(0, bisect_left(range(MOST_TRIALS + 1), True, key=too_sharp) - 1)


def _effective_sizes(kernel: Any, X: FloatArray, around: FloatArray, n: int) -> FloatArray:
    """Effective number of n points like X around each of the first of them, beyond itself."""
    if hasattr(kernel, "logs_to"):
        logs = kernel.logs_to(X)(around)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    else:
        weights = kernel(around, X)
    own = weights.diagonal().copy()
    np.fill_diagonal(weights, 0.0)
    of_each = n / (len(X) - 1)
    sums, squares = (of_each * (weights**power).sum(axis=1) + own**power for power in (1, 2))
    return sums**2 / squares - 1
