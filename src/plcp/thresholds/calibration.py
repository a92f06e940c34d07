"""From honest evidence to one number a group: thresholds, or corrections of an index."""

import numpy as np

from plcp.indices.mixture import quantile_at
from plcp.quantiles import (
    FloatArray,
    IntArray,
    conformal_quantile,
)

SAFETY = 3  # times the least number of points a finite threshold needs, so that chance keeps it


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


def shrunken_levels(
    values: FloatArray,
    groups: IntArray,
    n_groups: int,
    alpha: float,
    weights: FloatArray | None,
) -> FloatArray:
    """Group quantiles drawn to the common one by the share chance explains, then one conformal.

    At the common quantile the covered shares c_i of m groups alike scatter with
    Σ n_i (c_i - c̄)² ≈ (m - 1) α(1 - α); the quantiles keep the part of their differences that the
    measured scatter has beyond that (positive-part James–Stein). A last conformal quantile, of what
    is left over by all, puts exactly ⌈(1 - α)(n + 1)⌉ of the n scores at or below their threshold.
    """
    common = quantile_at(values, weights, 1 - alpha)
    counts = np.bincount(groups, weights, minlength=n_groups)
    below = values <= common
    covered = np.bincount(
        groups, below if weights is None else below * weights, minlength=n_groups
    ) / np.maximum(counts, np.finfo(float).tiny)
    scatter = float(counts @ (covered - np.average(covered, weights=counts)) ** 2)
    kept = max(0.0, 1 - (n_groups - 1) * alpha * (1 - alpha) / scatter) if scatter > 0 else 0.0
    own = np.full(n_groups, common)
    if kept > 0:
        for group in np.flatnonzero(counts):
            rows = groups == group
            own_weights = None if weights is None else weights[rows]
            own[group] = quantile_at(values[rows], own_weights, 1 - alpha)
    levels = common + kept * (own - common)
    return levels + conformal_quantile(values - levels[groups], alpha, weights)
