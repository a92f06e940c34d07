"""Worlds in which the dependence of size and coverage is known."""

import numpy as np
from scipy.stats import gamma


def label_sets(rng, n=300):
    """Coverage, and sizes of label sets, with which it rises."""
    size = rng.integers(0, 6, n)
    return rng.uniform(size=n) < size / 6, size


class SizeWorld:
    """Skewed sizes of equal chance, and coverage that falls with them by ``slope`` in all."""

    def __init__(self, slope):
        self.size = gamma.ppf((np.arange(100) + 0.5) / 100, 2)
        self.coverage = 0.88 + slope * (0.5 - np.linspace(0, 1, 100))

    def draw(self, rng, n):
        rows = rng.integers(0, 100, n)
        return rng.uniform(size=n) < self.coverage[rows], self.size[rows]

    @property
    def hsic(self):
        excess = (self.coverage - self.coverage.mean()) / 100
        kernel = np.exp(-((self.size[:, None] - self.size) ** 2))
        return 2 * (1 - np.exp(-1)) * excess @ kernel @ excess
