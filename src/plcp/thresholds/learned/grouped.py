"""What levels are read off: rows in groups, in memory or elsewhere."""

from abc import ABC, abstractmethod

import numpy as np

from plcp.indices.mixture import quantile_at
from plcp.partitions.base import group_masses
from plcp.quantiles import (
    FloatArray,
    IntArray,
    conformal_quantile,
    excess_over,
    group_conformal_quantiles,
)
from plcp.thresholds.learned.evidence import Evidence


class Grouped(ABC):
    """Evidence in groups, which says no more about its rows than levels need.

    Attributes
    ----------
    masses : ndarray of shape (m,)
        Number of rows in each group, or what they weigh.
    """

    masses: FloatArray

    @abstractmethod
    def conformal(self, alpha: float, follow: bool) -> FloatArray:
        """Conformal quantile of each group: of scores, or of what they have beyond the index."""

    @abstractmethod
    def common(self, level: float) -> float:
        """Quantile of what all scores have beyond the index."""

    @abstractmethod
    def own(self, level: float) -> FloatArray:
        """Return the same quantile of each group that has rows, NaN for the others."""

    @abstractmethod
    def covered(self, level: float) -> FloatArray:
        """Mass of each group's rows whose score is no more than ``level`` beyond the index."""

    @abstractmethod
    def lift(self, levels: FloatArray, alpha: float) -> float:
        """Conformal quantile of what all scores have beyond index and level."""

    @abstractmethod
    def medians(self) -> FloatArray:
        """Median index of each group; of all rows where a group has none."""


class HeldGroups(Grouped):
    """Evidence in memory, in the groups given."""

    def __init__(self, evidence: Evidence, groups: IntArray, n_groups: int) -> None:
        self.evidence = evidence
        self.groups = groups
        self.masses = group_masses(groups, evidence.weights, n_groups)

    def conformal(self, alpha: float, follow: bool) -> FloatArray:
        """Conformal quantile of each group: of scores, or of what they have beyond the index."""
        values, m = self.evidence.values(follow), len(self.masses)
        return group_conformal_quantiles(values, self.groups, m, alpha, self.evidence.weights)

    def common(self, level: float) -> float:
        """Quantile of what all scores have beyond the index."""
        return quantile_at(self.evidence.values(follow=True), self.evidence.weights, level)

    def own(self, level: float) -> FloatArray:
        """Return the same quantile of each group that has rows, NaN for the others."""
        values, weights = self.evidence.values(follow=True), self.evidence.weights
        found = np.full(len(self.masses), np.nan)
        for group in np.unique(self.groups):
            rows = self.groups == group
            own = None if weights is None else weights[rows]
            found[group] = quantile_at(values[rows], own, level)
        return found

    def covered(self, level: float) -> FloatArray:
        """Mass of each group's rows whose score is no more than ``level`` beyond the index."""
        covered, weights = self.evidence.values(follow=True) <= level, self.evidence.weights
        hits = covered if weights is None else covered * weights
        return group_masses(self.groups, hits, len(self.masses))

    def lift(self, levels: FloatArray, alpha: float) -> float:
        """Conformal quantile of what all scores have beyond index and level."""
        left_over = excess_over(levels[self.groups], self.evidence.values(follow=True))
        return conformal_quantile(left_over, alpha, self.evidence.weights)

    def medians(self) -> FloatArray:
        """Median index of each group; of all rows where a group has none."""
        index, rows = self.evidence.index, [self.groups == g for g in range(len(self.masses))]
        return np.array([np.median(index[own]) if own.any() else np.median(index) for own in rows])
