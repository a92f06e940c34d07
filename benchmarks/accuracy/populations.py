"""Populations whose conditional quantiles are known, and their best groups, computed exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import norm

HALVINGS = 60
LEVELS = 2048


@dataclass(frozen=True)
class Shape:
    """Law of T ≥ 0: distribution function, its inverse, E(T - t)₊, mean, and largest density."""

    cdf: Callable
    quantile: Callable
    shortfall: Callable
    mean: float
    peak: float


SHAPES = {
    "uniform": Shape(
        lambda t: np.clip(t, 0, 1), lambda p: p, lambda t: np.maximum(1 - t, 0) ** 2 / 2, 0.5, 1.0
    ),
    "exponential": Shape(
        lambda t: -np.expm1(-t), lambda p: -np.log1p(-p), lambda t: np.exp(-t), 1.0, 1.0
    ),
    "half-normal": Shape(
        lambda t: 1 - 2 * norm.sf(t),
        lambda p: norm.isf((1 - p) / 2),
        lambda t: 2 * (norm.pdf(t) - t * norm.sf(t)),
        np.sqrt(2 / np.pi),
        np.sqrt(2 / np.pi),
    ),
    "Lomax": Shape(
        lambda t: 1 - (1 + t) ** -3.0,
        lambda p: (1 - p) ** (-1 / 3) - 1,
        lambda t: (1 + t) ** -2.0 / 2,
        0.5,
        3.0,
    ),
}
# S is a function of x: no density, and so no Lipschitz constant.
POINT = Shape(
    lambda t: (t >= 1).astype(float), lambda p: 1.0, lambda t: np.maximum(1 - t, 0), 1.0, np.inf
)
# Inverse distribution functions of the scale.
SCALES = {
    "even": lambda p: 0.5 + 0.5 * p,
    "two clusters": lambda p: np.where(p < 0.8, 0.2 + 0.05 * p, 0.9 + 0.5 * (p - 0.8)),
    "Pareto": lambda p: (1 - p) ** (-1 / 2.5),
}


@dataclass(frozen=True)
class Population:
    """X takes equally likely values x_1 … x_K, and S = σ_k T given x_k, σ rising."""

    scale: np.ndarray
    shape: Shape
    alpha: float = 0.1

    @cached_property
    def quantile(self):
        return self.scale * self.shape.quantile(1 - self.alpha)

    @property
    def variance(self):
        return float(self.quantile.var())

    @property
    def lipschitz(self):
        return float(self.shape.peak / self.scale[0])

    def coverage(self, threshold):
        """P(S ≤ threshold | x_k), of one threshold for each k."""
        return self.shape.cdf(threshold / self.scale)

    def loss(self, threshold, scale=None):
        """E[ℓ_α(threshold, S) | x_k] = α (q - E S) + E(S - q)₊."""
        scale = self.scale if scale is None else scale
        shortfall = scale * self.shape.shortfall(threshold / scale)
        return self.alpha * (threshold - scale * self.shape.mean) + shortfall

    def excess(self, threshold):
        return float((self.loss(threshold) - self.loss(self.quantile)).mean())

    def msce(self, threshold):
        return float(((self.coverage(threshold) - (1 - self.alpha)) ** 2).mean())

    def best_thresholds(self, most):
        """Threshold of each x_k by the best 1, …, ``most`` groups.

        In a scale family the best groups are intervals of σ: dynamic programming over their ends,
        then each group's own quantile.
        """
        cost = self._interval_costs()
        best, ends = [cost[0]], []
        for _ in range(most - 1):
            through = best[-1][:-1, None] + cost
            ends.append(through.argmin(axis=0))
            best.append(through.min(axis=0))
        return [self._own_quantiles(self._cuts(ends[: m - 1])) for m in range(1, most + 1)]

    def _interval_costs(self):
        """cost[a, b]: least loss of one threshold, of a fine grid, for x_a … x_{b-1}."""
        K = len(self.scale)
        levels = np.interp(np.linspace(0, K - 1, LEVELS), np.arange(K), self.quantile)
        total = np.zeros((K + 1, LEVELS))
        np.cumsum(self.loss(levels, self.scale[:, None]), axis=0, out=total[1:])
        cost = np.full((K, K + 1), np.inf)
        for a in range(K):
            cost[a, a + 1 :] = (total[a + 1 :] - total[a]).min(axis=1)
        return cost

    def _cuts(self, ends):
        cuts, end = [], len(self.scale)
        for back in reversed(ends):
            end = int(back[end])
            cuts.append(end)
        return [0, *cuts[::-1], len(self.scale)]

    def _own_quantiles(self, cuts):
        group = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        return self.group_quantiles(group)

    def group_quantiles(self, group):
        """(1 - α)-quantile of the scores of each x_k's group, by bisection."""
        low, high = np.zeros(len(self.scale)), np.full(len(self.scale), self.quantile[-1])
        size = np.bincount(group)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            short = (np.bincount(group, self.coverage(middle)) / size)[group] < 1 - self.alpha
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return high

    def draw(self, n, rng):
        """Number of x and score of n points."""
        k = rng.integers(len(self.scale), size=n)
        return k, self.scale[k] * self.shape.quantile(rng.uniform(size=n))


def make(scale, shape, atoms, alpha=0.1):
    """Population of a named law of the scale and a named shape of the score."""
    return Population(SCALES[scale]((np.arange(atoms) + 0.5) / atoms), SHAPES[shape], alpha)
