"""From honest evidence to one number a group: thresholds, or corrections of an index."""

from dataclasses import dataclass

import numpy as np

from plcp.partitions.base import group_masses, order_groups
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds.learned.grouped import Grouped

SAFETY = 3  # times the least number of points a finite threshold needs, so that chance keeps it


@dataclass(frozen=True)
class Levels:
    """One level a group, in the order the groups are numbered.

    ``rank`` is the number of each group that the levels were read off, ``sizes`` is the mass
    of each, and ``thresholds`` are the levels themselves, or those of each group's median row.
    """

    levels: FloatArray
    thresholds: FloatArray
    sizes: FloatArray
    rank: IntArray


def levels_as_learned(levels: FloatArray, grouped: Grouped, follow: bool) -> Levels:
    """Levels of groups that keep the numbers they were learned with.

    Numbers by rising threshold look at the calibration scores, and a group so chosen for its low
    threshold covers too few: the guarantee of each group would be gone.
    """
    base = grouped.medians() if follow else 0.0
    return Levels(levels, levels + base, grouped.masses, np.arange(len(levels)))


def constant_levels(thresholds: FloatArray, masses: FloatArray) -> Levels:
    """Thresholds that are the same all over a group; groups of equal threshold are one."""
    distinct, rank = order_groups(thresholds, np.ones(len(thresholds), dtype=bool))
    return Levels(distinct, distinct, group_masses(rank, masses, len(distinct)), rank)


def following_levels(levels: FloatArray, grouped: Grouped) -> Levels:
    """Corrections of the index.

    Groups stay apart even where their median rows have the same threshold: others do not.
    """
    thresholds = levels + grouped.medians()
    order = np.argsort(thresholds, kind="stable")
    return Levels(levels[order], thresholds[order], grouped.masses[order], np.argsort(order))


def merge_small(masses: FloatArray, alpha: float) -> IntArray:
    """New number of each group once groups too small for a finite threshold have joined.

    A group is expected to hold three times the ⌈1/alpha⌉ - 1 points a finite conformal quantile
    needs; a smaller one joins its smaller neighbour. ``masses`` are expected counts, which do not
    look at the calibration rows: so an exact guarantee stays exact.

    Examples
    --------
    >>> merge_small(np.array([50.0, 5.0, 30.0]), alpha=0.1)
    array([0, 1, 1])
    """
    needed = SAFETY * (np.ceil(1 / alpha) - 1)
    masses = masses.astype(float).copy()
    owner = np.arange(len(masses))
    while len(masses) > 1 and masses.min() < needed:
        small = int(np.argmin(masses))
        left = small > 0 and (small == len(masses) - 1 or masses[small - 1] <= masses[small + 1])
        low = small - 1 if left else small
        masses[low] += masses[low + 1]
        masses = np.delete(masses, low + 1)
        owner[owner > low] -= 1
    return owner


def shrunken_levels(grouped: Grouped, alpha: float) -> FloatArray:
    """Group quantiles drawn to the common one by the share chance explains, then one conformal.

    At the common quantile the covered shares c_i of m groups alike scatter with
    Σ n_i (c_i - c̄)² ≈ (m - 1) α(1 - α); the quantiles keep the part of their differences that the
    measured scatter has beyond that (positive-part James–Stein). A last conformal quantile, of what
    is left over by all, puts exactly ⌈(1 - α)(n + 1)⌉ of the n scores at or below their threshold.
    """
    common = grouped.common(1 - alpha)
    kept = _share_beyond_chance(grouped.masses, grouped.covered(common), alpha)
    levels = np.full(len(grouped.masses), common)
    if kept > 0:
        own = grouped.own(1 - alpha)
        levels = np.where(np.isnan(own), common, common + kept * (own - common))
    return levels + grouped.lift(levels, alpha)


def mean_level(memberships: FloatArray, levels: FloatArray) -> FloatArray:
    """Mean level of each row; infinite where an infinite one has any share."""
    finite = np.isfinite(levels)
    mean = memberships[:, finite] @ levels[finite]
    return np.where((memberships[:, ~finite] > 0).any(axis=1), np.inf, mean)


def _share_beyond_chance(masses: FloatArray, covered: FloatArray, alpha: float) -> float:
    """Part of the scatter of covered shares between groups that chance does not explain."""
    shares = covered / np.maximum(masses, np.finfo(float).tiny)
    scatter = float(masses @ (shares - covered.sum() / masses.sum()) ** 2)
    chance = (len(masses) - 1) * alpha * (1 - alpha)
    return max(0.0, 1 - chance / scatter) if scatter > 0 else 0.0
