"""Levels read off rows in blocks, by counting: to the last bit those of the rows in memory."""

from copy import copy
from typing import NamedTuple

import numpy as np

from plcp.blocks import Passes, Ranks
from plcp.blocks.passes import Block
from plcp.partitions.cuts import interval_of, ranks_of_cuts
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import (
    FloatArray,
    IntArray,
    conformal_rank,
    excess_over,
    interpolated,
    interpolated_place,
    rank_reaching,
)
from plcp.thresholds.learned.calibration import Levels, merge_small
from plcp.thresholds.learned.grouped import Grouped
from plcp.thresholds.learned.reading import Reading


class Counted(NamedTuple):
    """A partition cut by all rows, its levels, and the group that each of its groups joined."""

    partition: OrderedPartition
    levels: Levels
    owner: IntArray
    n: int


class CountedGroups(Grouped):
    """Evidence in blocks of index and score, in groups that are intervals of the index.

    Parameters
    ----------
    evidence : Passes
        Blocks of two columns: the index of rows, and their scores.
    cuts : ndarray
        Upper ends of all intervals but the last.
    group_of : ndarray
        Group of each interval.
    """

    def __init__(self, evidence: Passes, cuts: FloatArray, group_of: IntArray) -> None:
        self.evidence = evidence
        self._where = cuts, group_of
        index = Ranks(evidence.then(_index_in_groups, *self._where), group_of.max() + 1)
        self.masses = index.sizes.astype(float)
        self._medians = _medians(index)  # now, so that what was sorted for them can go

    def conformal(self, alpha: float, follow: bool) -> FloatArray:
        """Conformal quantile of each group: of scores, or of what they have beyond the index."""
        ranks = self._values(follow)
        return ranks.at([conformal_rank(int(n), alpha) - 1 for n in ranks.sizes])

    def common(self, level: float) -> float:
        """Quantile of what all scores have beyond the index."""
        return float(_quantiles(Ranks(self.evidence.then(_excess), 1), level)[0])

    def own(self, level: float) -> FloatArray:
        """Return the same quantile of each group that has rows, NaN for the others."""
        return _quantiles(self._values(follow=True), level)

    def covered(self, level: float) -> FloatArray:
        """Number of each group's rows whose score is no more than ``level`` beyond the index."""
        ranks = self._values(follow=True)
        return ranks.at_or_below(np.full(len(ranks.sizes), level)).astype(float)

    def lift(self, levels: FloatArray, alpha: float) -> float:
        """Conformal quantile of what all scores have beyond index and level."""
        ranks = Ranks(self.evidence.then(_left_over, *self._where, levels), 1)
        return float(ranks.at([conformal_rank(int(ranks.sizes[0]), alpha) - 1])[0])

    def medians(self) -> FloatArray:
        """Median index of each group; of all rows where a group has none."""
        found = self._medians
        if np.isnan(found).any():
            of_all = _medians(Ranks(self.evidence.then(_index), 1))
            # without any row at all the level is infinite, and so is its sum with anything
            return np.where(np.isnan(found), np.nan_to_num(of_all), found)
        return found

    def _values(self, follow: bool) -> Ranks:
        return Ranks(self.evidence.then(_in_groups, *self._where, follow), len(self.masses))


def cut_by_counting(
    partition: OrderedPartition, n_groups: int, evidence: Passes
) -> OrderedPartition:
    """Return a copy of the partition, cut anew by all rows of the evidence."""
    again = copy(partition).set_params(n_groups=n_groups)
    if again.cuts == "mass":
        again.cuts_ = _equal_mass_cuts(Ranks(evidence.then(_index), 1), n_groups)
    intervals = np.arange(len(again.cuts_) + 1)
    ranks = Ranks(evidence.then(_in_groups, again.cuts_, intervals, False), len(intervals))
    thresholds = ranks.at([rank_reaching(int(n), 1 - again.alpha) for n in ranks.sizes])
    again.settle(thresholds, ranks.sizes.astype(float))
    return again


def read_by_counting(
    reading: Reading, partition: OrderedPartition, n_groups: int, seen: Passes, honest: Passes
) -> Counted:
    """Cut a fitted partition by the rows it has seen, and read its levels off honest ones.

    Evidence is in blocks of index and score; both may be the same.
    """
    partition = cut_by_counting(partition, n_groups, seen)
    owner: IntArray = np.arange(partition.n_groups_)
    n = honest.total(count_rows)
    share = n / partition.group_sizes_.sum()
    while True:
        masses = np.bincount(owner, partition.group_sizes_)
        joined = merge_small(masses * share, reading.alpha)[owner]
        if joined.max() == owner.max():
            break
        owner = joined
    grouped = CountedGroups(honest, partition.cuts_, owner[partition.interval_groups])
    return Counted(partition, reading.read(grouped), owner, n)


def count_rows(index: FloatArray, scores: FloatArray) -> int:
    """Return the number of rows of a block."""
    return len(scores)


def _equal_mass_cuts(index: Ranks, n_groups: int) -> FloatArray:
    n = int(index.sizes[0])
    *cuts, largest = index.at([[*ranks_of_cuts(n, n_groups), n - 1]])[0]
    cuts = np.unique(cuts)
    return cuts[cuts < largest]


def _quantiles(ranks: Ranks, level: float) -> FloatArray:
    places = np.array([interpolated_place(int(n), level) for n in ranks.sizes])
    values = ranks.at(places[:, :2].astype(np.int64))
    found, there = np.full(len(values), np.nan), ranks.sizes > 0
    found[there] = interpolated(values[there, 0], values[there, 1], places[there, 2])
    return found


def _medians(ranks: Ranks) -> FloatArray:
    middle = np.column_stack([(ranks.sizes - 1) // 2, ranks.sizes // 2])
    return np.where(ranks.sizes > 0, ranks.at(middle).mean(axis=1), np.nan)


def _index(index: FloatArray, scores: FloatArray) -> Block:
    return index, np.zeros(len(index), dtype=np.intp)


def _excess(index: FloatArray, scores: FloatArray) -> Block:
    return excess_over(index, scores), np.zeros(len(index), dtype=np.intp)


def _index_in_groups(
    index: FloatArray, scores: FloatArray, cuts: FloatArray, group_of: IntArray
) -> Block:
    return index, group_of[interval_of(index, cuts)]


def _in_groups(
    index: FloatArray, scores: FloatArray, cuts: FloatArray, group_of: IntArray, follow: bool
) -> Block:
    values = excess_over(index, scores) if follow else scores
    return values, group_of[interval_of(index, cuts)]


def _left_over(
    index: FloatArray, scores: FloatArray, cuts: FloatArray, group_of: IntArray, levels: FloatArray
) -> Block:
    groups = group_of[interval_of(index, cuts)]
    values = excess_over(levels[groups], excess_over(index, scores))
    return values, np.zeros(len(index), dtype=np.intp)
