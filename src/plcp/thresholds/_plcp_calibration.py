"""How PLCP calibrates learned groups: small ones join, and each has a conformal correction."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plcp.groups.clusters import independent_sizes
from plcp.partitions.base import group_masses, order_groups
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import (
    FloatArray,
    IntArray,
    conformal_quantile,
    excess_over,
    group_conformal_quantiles,
    shared_confidence,
)
from plcp.regressors.stacking import quantile_at
from plcp.thresholds._plcp_learning import Learned, RowsInPartition, points_needed

if TYPE_CHECKING:
    from plcp.thresholds._plcp_blocks import GroupedBlocks


class GroupedRows:
    """Calibration rows in memory, in the groups given.

    Attributes
    ----------
    masses : ndarray of shape (m,)
        Number of rows in each group, or what they weigh.
    sizes : ndarray of shape (m,)
        Number of rows in each group, of weighted ones the effective number (Kish), of rows that
        belong together that of their clusters.
    """

    def __init__(self, rows: RowsInPartition, groups: IntArray, n_groups: int) -> None:
        self.rows = rows
        self.groups = groups
        self.masses = group_masses(groups, rows.weights, n_groups)
        sizes = independent_sizes(groups, n_groups, rows.weights, rows.clusters)
        self.sizes = self.masses if sizes is None else sizes

    def conformal(self, alpha: float, follow: bool, confidence: float | None = None) -> FloatArray:
        """Conformal quantile of each group: of scores, or of their excess over the prediction."""
        rows, m = self.rows, len(self.masses)
        return group_conformal_quantiles(
            rows.values(follow), self.groups, m, alpha, rows.weights, rows.new_row, confidence
        )

    def largest(self, follow: bool) -> float:
        """Largest of all scores, or of their excess over the prediction."""
        return float(self.rows.values(follow).max())

    def common(self, quantile: float) -> float:
        """Quantile of what all scores exceed the prediction by."""
        return quantile_at(self.rows.values(follow=True), self.rows.weights, quantile)

    def own(self, quantile: float) -> FloatArray:
        """Return the same quantile of each group that has rows, NaN for the others."""
        values, weights = self.rows.values(follow=True), self.rows.weights
        found = np.full(len(self.masses), np.nan)
        for group in np.unique(self.groups):
            rows = self.groups == group
            own = None if weights is None else weights[rows]
            found[group] = quantile_at(values[rows], own, quantile)
        return found

    def covered(self, correction: float) -> FloatArray:
        """Mass of each group's rows that a correction common to all groups covers."""
        covered, weights = self.rows.values(follow=True) <= correction, self.rows.weights
        hits = covered if weights is None else covered * weights
        return group_masses(self.groups, hits, len(self.masses))

    def final_conformal_shift(self, corrections: FloatArray, alpha: float) -> float:
        """Conformal quantile of what all scores exceed the corrected prediction by."""
        left_over = excess_over(corrections[self.groups], self.rows.values(follow=True))
        return conformal_quantile(left_over, alpha, self.rows.weights)

    def medians(self) -> FloatArray:
        """Median prediction of each group; of all rows where a group has none."""
        predicted = self.rows.predicted
        members = [self.groups == g for g in range(len(self.masses))]
        return np.array(
            [np.median(predicted[own]) if own.any() else np.median(predicted) for own in members]
        )


class Corrections(NamedTuple):
    """One correction per group, in the order the groups are numbered.

    A correction is added to the prediction, or is the threshold itself. ``thresholds`` are those of
    each group's median row, ``sizes`` the mass of each group, and ``rank`` the number of each group
    that was calibrated: groups of equal constant thresholds become one. ``shift`` is added to all.
    """

    values: FloatArray
    thresholds: FloatArray
    sizes: FloatArray
    rank: IntArray
    shift: float = 0.0

    def shifted(self, by: float) -> "Corrections":
        """Return these corrections, with all thresholds raised by the same number."""
        return self._replace(thresholds=self.thresholds + by, shift=by)


def merge_small(masses: FloatArray, alpha: float, confidence: float | None = None) -> IntArray:
    """New number of each group once groups too small for a finite threshold have joined.

    A group is expected to hold `points_needed`, three times as many as a finite conformal quantile
    needs at alpha, or at a confidence that the groups left share; a smaller one joins its smaller
    neighbour. ``masses`` are expected counts, which do not depend on the calibration rows: so an
    exact guarantee stays exact.

    Examples
    --------
    >>> merge_small(np.array([50.0, 5.0, 30.0]), alpha=0.1)
    array([0, 1, 1])
    >>> merge_small(np.array([50.0, 5.0, 30.0]), alpha=0.1, confidence=0.95)
    array([0, 0, 0])
    """

    def needed(n_groups: int) -> float:
        return points_needed(alpha, shared_confidence(confidence, n_groups))

    masses = masses.astype(float).copy()
    joined = np.arange(len(masses))
    while len(masses) > 1 and masses.min() < needed(len(masses)):
        small = int(np.argmin(masses))
        left = small > 0 and (small == len(masses) - 1 or masses[small - 1] <= masses[small + 1])
        low = small - 1 if left else small
        masses[low] += masses[low + 1]
        masses = np.delete(masses, low + 1)
        joined[joined > low] -= 1
    return joined


def shrunken_corrections(grouped: "GroupedRows | GroupedBlocks", alpha: float) -> FloatArray:
    """Group quantiles drawn to the common one by the share chance explains, then one conformal.

    At the common quantile the covered shares c_i of m groups alike scatter with
    Σ n_i (c_i - c̄)² ≈ (m - 1) α(1 - α), n_i the effective number of rows; the quantiles keep the
    part of their differences beyond that (positive-part James–Stein). A last conformal quantile,
    of what is left over by all, puts exactly ⌈(1 - α)(n + 1)⌉ of the n scores at or below their
    threshold.
    """
    common = grouped.common(1 - alpha)
    shares = grouped.covered(common) / np.maximum(grouped.masses, np.finfo(float).tiny)
    kept = share_beyond_chance(shares, grouped.sizes, alpha)
    values = np.full(len(grouped.masses), common)
    if kept > 0:
        own = grouped.own(1 - alpha)
        values = np.where(np.isnan(own), common, common + kept * (own - common))
    return values + grouped.final_conformal_shift(values, alpha)


def mean_correction(memberships: FloatArray, corrections: FloatArray) -> FloatArray:
    """Mean correction of each row; infinite where an infinite one has any share."""
    finite = np.isfinite(corrections)
    mean = memberships[:, finite] @ corrections[finite]
    return np.where((memberships[:, ~finite] > 0).any(axis=1), np.inf, mean)


def share_beyond_chance(shares: FloatArray, sizes: FloatArray, alpha: float) -> float:
    """Part of the scatter of covered shares between groups that chance does not explain."""
    scatter, chance = scatter_of(shares, sizes), (len(sizes) - 1) * alpha * (1 - alpha)
    return max(0.0, 1 - chance / scatter) if scatter > 0 else 0.0


def scatter_of(shares: FloatArray, sizes: FloatArray) -> float:
    """Σ n_i (c_i - c̄)², where c̄ is the mean share weighted by n_i.

    Its mean is (m - 1) p(1 - p) for m groups that are all covered with probability p, if n_i is
    Kish's effective size: the variance of a weighted share c_i is p(1 - p) / n_i.
    """
    return float(sizes @ (shares - sizes @ shares / sizes.sum()) ** 2)


def chosen_cells(rule: Any, placed: RowsInPartition, purpose: int = 0) -> IntArray:
    """Cell of each row: the likeliest, or one drawn, independently of the rows' content.

    Draws of another ``purpose`` are independent: learning rows, and rows held out from them.
    """
    if rule._assigns != "sample":
        return placed.cells
    n, rng = len(placed.cells), np.random.RandomState([rule._seeds[0], purpose])
    return placed.drawn(lambda: rng.uniform(size=n)).cells


def least_threshold(least_score: float) -> float:
    """No score is negative where none was: a negative threshold would only empty the set."""
    return 0.0 if least_score >= 0 else -np.inf


def reads_descent(rule: Any) -> bool:
    """Whether thresholds are those of the joint optimisation, as in the paper."""
    return bool(rule._mode == "joint" and not rule._follow)


def join_small_groups(rule: Any, learned: Learned, alpha: float) -> IntArray:
    """Return the group that each cell joins, so that all groups have a finite threshold at alpha.

    Cells are intervals of the prediction, or groups of the partition.
    """
    partition, training = learned.partition, learned.training
    joined: IntArray = np.arange(partition.n_groups_)
    if isinstance(partition, OrderedPartition):
        joined = partition.interval_groups
    if reads_descent(rule):
        return joined
    # with "held-out" one threshold for all is read off the held-out rows, none of a group
    split_off = rule._mode == "split"
    held = learned.calibration
    share = _share_held(held, training) if split_off else 1.0
    of_training = int(held is not training)
    while True:
        groups, m = chosen_cells(rule, training.merged(joined), of_training), joined.max() + 1
        sizes = group_masses(groups, training.weights, m)
        effective = independent_sizes(groups, m, training.weights, training.clusters)
        if effective is not None:  # few rows of large weight are few
            sizes = np.minimum(sizes, effective)
        fewer = merge_small(sizes * share, alpha, rule.confidence if split_off else None)[joined]
        if fewer.max() == joined.max():
            return joined
        joined = fewer  # of joined soft groups, others are likeliest


def _share_held(held: RowsInPartition, training: RowsInPartition) -> float:
    """Number of rows, or clusters or copies of them, held out for each that was learned from."""
    if held.clusters is not None:
        return held.independent / training.independent
    return len(held.scores) / held.new_row / len(training.scores)


def calibrate(
    rule: Any, learned: Learned, joined: IntArray, keep_numbers: bool = False
) -> Corrections:
    """Return the corrections of the groups that the cells of a partition joined."""
    split_off = rule._mode == "split"
    rows = (learned.calibration if split_off else learned.training).merged(joined)
    cells = chosen_cells(rule, rows, int(rule._mode == "held-out"))
    if reads_descent(rule):
        thresholds = learned.partition.thresholds_
        masses = group_masses(cells, rows.weights, len(thresholds))
        return merge_equal(thresholds, masses)
    found = group_corrections(rule, GroupedRows(rows, cells, joined.max() + 1), keep_numbers)
    if rule._mode != "held-out":
        return found
    held = learned.calibration.merged(joined)
    cells = chosen_cells(rule, held)
    excess = excess_over(corrected(rule, held, cells, found.values, found.rank), held.scores)
    shift = conformal_quantile(excess, rule.alpha, held.weights, held.new_row, rule.confidence)
    return found.shifted(shift)


def corrected(
    rule: Any,
    placed: RowsInPartition,
    cells: IntArray,
    corrections: FloatArray,
    group_of: IntArray,
) -> FloatArray:
    """Prediction of each row, if it is followed, plus the correction of its group."""
    base = placed.predicted if rule._follow else np.zeros(len(cells))
    if rule._assigns == "mean" and placed.memberships is not None:
        return np.asarray(base + mean_correction(placed.memberships, corrections[group_of]))
    return np.asarray(base + corrections[group_of[cells]])


def group_corrections(
    rule: Any, grouped: "GroupedRows | GroupedBlocks", keep_numbers: bool
) -> Corrections:
    """Return the corrections of groups that are large enough.

    Groups are numbered by rising threshold, unless they are to keep the numbers they were learned
    with. They always do where rows were held out: a group chosen for its low threshold covers too
    few, and the guarantee of each group would be gone.
    """
    held_out, follow = rule._mode == "split", rule._follow
    if follow and not held_out:
        values = shrunken_corrections(grouped, rule.alpha)
    else:
        own = rule.confidence if held_out else None
        values = grouped.conformal(rule.alpha, follow, own)
    if rule._mode == "held-out":  # few learning rows may have none; the shift settles what holds
        values = np.where(np.isinf(values), grouped.largest(follow), values)
    if not follow and not held_out and not keep_numbers:
        return merge_equal(values, grouped.masses)
    thresholds = values + (grouped.medians() if follow else 0.0)
    order = np.arange(len(values))
    if not held_out and not keep_numbers:
        # groups of equal thresholds stay apart: this is the threshold of their median row alone
        order = np.argsort(thresholds, kind="stable")
    return Corrections(values[order], thresholds[order], grouped.masses[order], np.argsort(order))


def merge_equal(thresholds: FloatArray, masses: FloatArray) -> Corrections:
    """Corrections that are thresholds, the same all over a group; equal ones make one group."""
    distinct, rank = order_groups(thresholds, np.ones(len(thresholds), dtype=bool))
    return Corrections(distinct, distinct, group_masses(rank, masses, len(distinct)), rank)


def middle_alpha(alphas: list[float]) -> float:
    """Return the alpha in the middle, the smaller one of two.

    What is learned far out in the tail is noise at other quantiles, and what is learned at the
    median says little of the tail.

    Examples
    --------
    >>> middle_alpha([0.2, 0.01, 0.1, 0.05])
    0.05
    """
    return sorted(alphas)[(len(alphas) - 1) // 2]


def factor_between(training: RowsInPartition, alpha: float) -> float:
    """Return what a prediction must be multiplied by to be the quantile of another alpha.

    If scores were one law times a scale of x, quantiles of two alphas would differ by a factor;
    corrections of the groups adjust for what is not. One where scores or predictions are not
    positive, and a factor means nothing.
    """
    if training.scores.min() < 0 or training.predicted.min() <= 0:
        return 1.0
    return quantile_at(training.scores / training.predicted, training.weights, 1 - alpha)
