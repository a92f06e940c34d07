"""PLCP of rows that are read block by block, from files or on workers, with exact ranks.

A sample of the rows teaches the partition; all rows, as blocks of prediction and score, cut it and
calibrate its groups.
"""

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from plcp._options import check_alpha
from plcp._validation import check_pairs, takes_nan
from plcp.out_of_core import Passes, Ranks
from plcp.out_of_core.passes import Block
from plcp.partitions.ordered import OrderedPartition, interval_of, ranks_of_cuts
from plcp.quantiles import (
    FloatArray,
    IntArray,
    conformal_rank,
    excess_over,
    group_ranks,
    interpolated,
    interpolated_place,
    rank_reaching,
)
from plcp.thresholds._plcp_calibration import group_corrections, least_threshold, merge_small
from plcp.thresholds._plcp_learning import NO_ROWS, Learned, most_groups
from plcp.thresholds.base import check_ranks
from plcp.thresholds.plcp import PLCP


def learn_without_thresholds(rule: PLCP, X: Any, scores: FloatArray) -> tuple[PLCP, FloatArray]:
    """Return a copy of the rule with its learned partition, and the predictions of these rows.

    The predictions are out of fold with ``calibration="cross"``. The copy keeps nothing of the
    rows, and has no thresholds before ``calibrate_blocks``.
    """
    rule = clone(rule)
    check_alpha(rule.alpha)
    check_ranks(rule)
    rule._check_options()
    pairs = rule._pairs(*check_pairs(rule, X, scores, None, allow_nan=takes_nan(rule)))
    learned = rule._learn(pairs, hold_out=False)
    rule.partition_, rule.history_ = learned.partition, learned.history
    if hasattr(rule.partition_.regressor_, "forget_rows"):
        rule.partition_.regressor_.forget_rows()
    return rule, learned.training.predicted


def with_regressor(rule: PLCP, regressor: Any) -> PLCP:
    """Return a copy of the rule with a regressor that was fitted elsewhere."""
    rule = clone(rule)
    rule.partition_ = rule._prepare(check_random_state(rule.random_state))
    if rule.n_groups == "auto" and not rule._follow:
        raise ValueError(
            'n_groups="auto" with within="constant" searches the best number of groups, which '
            "needs a regressor that learns in memory: give a number"
        )
    rule.partition_.regressor_, rule.history_ = regressor, []
    return rule


def calibrate_blocks(rule: PLCP, training: Passes, calibration: Passes, least: float) -> None:
    """Cut the learned partition of a rule by its training rows, and calibrate its thresholds.

    Parameters
    ----------
    rule : PLCP
        With an ordered partition that has been learned; it is completed in place.
    training, calibration : Passes
        Blocks of prediction and score: of the training rows, or rows that stand for them, and of
        the calibration rows. The same for ``calibration="cross"``.
    least : float
        Least of all scores.
    """
    rule._least = least_threshold(least)
    m = rule.partition_.n_groups
    if rule.n_groups == "auto" and rule._follow:
        m = most_groups(training.total(count_rows))
    partition = cut_by_counting(rule.partition_, m, training)
    n = calibration.total(count_rows)
    one_shift = rule._mode == "held-out"
    expected = partition.group_sizes_
    if not one_shift:
        expected = expected * (n / expected.sum())
    of_groups = None if one_shift else rule.confidence
    joined = merge_small(expected, rule.alpha, of_groups)[partition.interval_groups]
    grouped = GroupedBlocks(training if one_shift else calibration, partition.cuts_, joined)
    found = group_corrections(rule, grouped, keep_numbers=False)
    if one_shift:
        groups = found.rank[joined]
        where = calibration, partition.cuts_, groups, found.values
        found = found.shifted(shift_of_blocks(*where, rule.alpha, rule._follow, rule.confidence))
    rule._store(Learned(partition, rule.history_, NO_ROWS, NO_ROWS), joined, found, n)
    rule._count_blocks(n)


class GroupedBlocks:
    """Blocks of prediction and score, in groups that are intervals of the prediction.

    It answers what ``GroupedRows`` does.

    Parameters
    ----------
    blocks : Passes
        Blocks of two columns: predictions of rows, and their scores.
    cuts : ndarray
        Upper ends of all intervals but the last.
    group_of : ndarray
        Group of each interval.
    """

    def __init__(self, blocks: Passes, cuts: FloatArray, group_of: IntArray) -> None:
        self.blocks = blocks
        self._where = cuts, group_of
        predicted = Ranks(blocks.then(_predictions_in_groups, *self._where), group_of.max() + 1)
        self.masses = self.sizes = predicted.sizes.astype(float)
        self._medians = _medians(predicted)  # now, so that what was sorted for them can go

    def conformal(self, alpha: float, follow: bool, confidence: float | None = None) -> FloatArray:
        """Conformal quantile of each group: of scores, or of their excess over the prediction."""
        ranks = self._values(follow)
        return ranks.at(group_ranks(ranks.sizes, alpha, confidence) - 1)

    def largest(self, follow: bool) -> float:
        """Largest of all scores, or of their excess over the prediction."""
        ranks = self._values(follow)
        return float(
            ranks.at(np.maximum(ranks.sizes - 1, 0)).max(where=ranks.sizes > 0, initial=-np.inf)
        )

    def common(self, quantile: float) -> float:
        """Quantile of what all scores exceed the prediction by."""
        return float(_quantiles(Ranks(self.blocks.then(_excess), 1), quantile)[0])

    def own(self, quantile: float) -> FloatArray:
        """Return the same quantile of each group that has rows, NaN for the others."""
        return _quantiles(self._values(follow=True), quantile)

    def covered(self, correction: float) -> FloatArray:
        """Number of each group's rows that a correction common to all groups covers."""
        ranks = self._values(follow=True)
        return ranks.at_or_below(np.full(len(ranks.sizes), correction)).astype(float)

    def final_conformal_shift(self, corrections: FloatArray, alpha: float) -> float:
        """Conformal quantile of what all scores exceed the corrected prediction by."""
        ranks = Ranks(self.blocks.then(_left_over, *self._where, corrections), 1)
        return float(ranks.at([conformal_rank(int(ranks.sizes[0]), alpha) - 1])[0])

    def medians(self) -> FloatArray:
        """Median prediction of each group; of all rows where a group has none."""
        found = self._medians
        if np.isnan(found).any():
            of_all = _medians(Ranks(self.blocks.then(_predictions), 1))
            # without any row at all the correction is infinite, and so is its sum with anything
            return np.where(np.isnan(found), np.nan_to_num(of_all), found)
        return found

    def _values(self, follow: bool) -> Ranks:
        return Ranks(self.blocks.then(_in_groups, *self._where, follow), len(self.masses))


def shift_of_blocks(
    blocks: Passes,
    cuts: FloatArray,
    group_of: IntArray,
    corrections: FloatArray,
    alpha: float,
    follow: bool,
    confidence: float | None,
) -> float:
    """Conformal quantile of what scores of held-out blocks exceed their corrected prediction by."""
    ranks = Ranks(blocks.then(_excess_over_corrected, cuts, group_of, corrections, follow), 1)
    return float(ranks.at([conformal_rank(int(ranks.sizes[0]), alpha, confidence) - 1])[0])


def cut_by_counting(partition: OrderedPartition, n_groups: int, blocks: Passes) -> OrderedPartition:
    """Return a copy of the partition, cut again by all rows of the blocks."""
    again = copy(partition).set_params(n_groups=n_groups)
    if again.cuts == "mass":
        again.cuts_ = _equal_mass_cuts(Ranks(blocks.then(_predictions), 1), n_groups)
    intervals = np.arange(len(again.cuts_) + 1)
    ranks = Ranks(blocks.then(_in_groups, again.cuts_, intervals, False), len(intervals))
    thresholds = ranks.at([rank_reaching(int(n), 1 - again.alpha) for n in ranks.sizes])
    again.store_groups(thresholds, ranks.sizes.astype(float))
    return again


def count_rows(predicted: FloatArray, scores: FloatArray) -> int:
    """Return the number of rows of a block."""
    return len(scores)


def _equal_mass_cuts(predicted: Ranks, n_groups: int) -> FloatArray:
    n = int(predicted.sizes[0])
    *cuts, largest = predicted.at([[*ranks_of_cuts(n, n_groups), n - 1]])[0]
    cuts = np.unique(cuts)
    return cuts[cuts < largest]


def _quantiles(ranks: Ranks, quantile: float) -> FloatArray:
    places = np.array([interpolated_place(int(n), quantile) for n in ranks.sizes])
    values = ranks.at(places[:, :2].astype(np.int64))
    found, there = np.full(len(values), np.nan), ranks.sizes > 0
    found[there] = interpolated(values[there, 0], values[there, 1], places[there, 2])
    return found


def _medians(ranks: Ranks) -> FloatArray:
    middle = np.column_stack([(ranks.sizes - 1) // 2, ranks.sizes // 2])
    return np.where(ranks.sizes > 0, ranks.at(middle).mean(axis=1), np.nan)


def _predictions(predicted: FloatArray, scores: FloatArray) -> Block:
    return predicted, np.zeros(len(predicted), dtype=np.intp)


def _excess(predicted: FloatArray, scores: FloatArray) -> Block:
    return excess_over(predicted, scores), np.zeros(len(predicted), dtype=np.intp)


def _predictions_in_groups(
    predicted: FloatArray, scores: FloatArray, cuts: FloatArray, group_of: IntArray
) -> Block:
    return predicted, group_of[interval_of(predicted, cuts)]


def _in_groups(
    predicted: FloatArray, scores: FloatArray, cuts: FloatArray, group_of: IntArray, follow: bool
) -> Block:
    values = excess_over(predicted, scores) if follow else scores
    return values, group_of[interval_of(predicted, cuts)]


def _left_over(
    predicted: FloatArray,
    scores: FloatArray,
    cuts: FloatArray,
    group_of: IntArray,
    corrections: FloatArray,
) -> Block:
    groups = group_of[interval_of(predicted, cuts)]
    values = excess_over(corrections[groups], excess_over(predicted, scores))
    return values, np.zeros(len(predicted), dtype=np.intp)


def _excess_over_corrected(
    predicted: FloatArray,
    scores: FloatArray,
    cuts: FloatArray,
    group_of: IntArray,
    corrections: FloatArray,
    follow: bool,
) -> Block:
    corrected = corrections[group_of[interval_of(predicted, cuts)]]
    base = predicted + corrected if follow else corrected
    return excess_over(base, scores), np.zeros(len(scores), dtype=np.intp)
