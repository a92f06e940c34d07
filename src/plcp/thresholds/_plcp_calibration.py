"""What levels are read off: rows in groups, in memory or elsewhere."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from plcp._validation import effective_sizes
from plcp.out_of_core import Passes, Ranks
from plcp.out_of_core.passes import Block
from plcp.partitions.base import Partition, group_masses, order_groups
from plcp.partitions.ordered import OrderedPartition, interval_of, ranks_of_cuts
from plcp.quantiles import (
    FloatArray,
    IntArray,
    conformal_quantile,
    conformal_rank,
    excess_over,
    group_conformal_quantiles,
    interpolated,
    interpolated_place,
    rank_reaching,
)
from plcp.regressors.base import one_seed, seeded
from plcp.regressors.stacking import quantile_at
from plcp.thresholds._plcp_learning import Evidence, Learned, learn
from plcp.thresholds.guarantees import plcp_guarantee


class Grouped(ABC):
    """Evidence in groups, which says no more about its rows than levels need.

    Attributes
    ----------
    masses : ndarray of shape (m,)
        Number of rows in each group, or what they weigh.
    sizes : ndarray of shape (m,)
        Number of rows in each group, of weighted ones the effective number (Kish).
    """

    masses: FloatArray
    sizes: FloatArray

    @abstractmethod
    def conformal(self, alpha: float, follow: bool) -> FloatArray:
        """Conformal quantile of each group: of scores, or of their excess over the prediction."""

    @abstractmethod
    def common(self, level: float) -> float:
        """Quantile of what all scores have beyond the prediction."""

    @abstractmethod
    def own(self, level: float) -> FloatArray:
        """Return the same quantile of each group that has rows, NaN for the others."""

    @abstractmethod
    def covered(self, level: float) -> FloatArray:
        """Mass of each group's rows whose score exceeds its prediction by at most ``level``."""

    @abstractmethod
    def lift(self, levels: FloatArray, alpha: float) -> float:
        """Conformal quantile of what all scores have beyond predicted and level."""

    @abstractmethod
    def medians(self) -> FloatArray:
        """Median predicted of each group; of all rows where a group has none."""


class HeldGroups(Grouped):
    """Evidence in memory, in the groups given."""

    def __init__(self, evidence: Evidence, groups: IntArray, n_groups: int) -> None:
        self.evidence = evidence
        self.groups = groups
        self.masses = group_masses(groups, evidence.weights, n_groups)
        self.sizes = (
            self.masses
            if evidence.weights is None
            else effective_sizes(groups, evidence.weights, n_groups)
        )

    def conformal(self, alpha: float, follow: bool) -> FloatArray:
        """Conformal quantile of each group: of scores, or of their excess over the prediction."""
        values, m = self.evidence.values(follow), len(self.masses)
        return group_conformal_quantiles(values, self.groups, m, alpha, self.evidence.weights)

    def common(self, level: float) -> float:
        """Quantile of what all scores have beyond the prediction."""
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
        """Mass of each group's rows whose score exceeds its prediction by at most ``level``."""
        covered, weights = self.evidence.values(follow=True) <= level, self.evidence.weights
        hits = covered if weights is None else covered * weights
        return group_masses(self.groups, hits, len(self.masses))

    def lift(self, levels: FloatArray, alpha: float) -> float:
        """Conformal quantile of what all scores have beyond predicted and level."""
        left_over = excess_over(levels[self.groups], self.evidence.values(follow=True))
        return conformal_quantile(left_over, alpha, self.evidence.weights)

    def medians(self) -> FloatArray:
        """Median predicted of each group; of all rows where a group has none."""
        predicted, rows = (
            self.evidence.predicted,
            [self.groups == g for g in range(len(self.masses))],
        )
        return np.array(
            [np.median(predicted[own]) if own.any() else np.median(predicted) for own in rows]
        )


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
    """Corrections of the predicted.

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
    Σ n_i (c_i - c̄)² ≈ (m - 1) α(1 - α), n_i the effective number of rows; the quantiles keep the
    part of their differences beyond that (positive-part James–Stein). A last conformal quantile,
    of what is left over by all, puts exactly ⌈(1 - α)(n + 1)⌉ of the n scores at or below their
    threshold.
    """
    common = grouped.common(1 - alpha)
    shares = grouped.covered(common) / np.maximum(grouped.masses, np.finfo(float).tiny)
    kept = share_beyond_chance(shares, grouped.sizes, alpha)
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


@dataclass(frozen=True)
class Reading:
    """Options of ``PLCP`` that decide about levels, and the seed of drawn groups."""

    alpha: float
    calibration: str
    assignment: str
    follow: bool
    seed: int

    def groups(self, evidence: Evidence) -> IntArray:
        """Group of each row: the likeliest, or one drawn, independently of the rows' content."""
        if self.assignment != "sample":
            return evidence.groups
        n, rng = len(evidence.groups), np.random.RandomState(self.seed)
        return evidence.drawn(lambda: rng.uniform(size=n)).groups

    def levels(
        self, partition: Partition, seen: Evidence, honest: Evidence
    ) -> tuple[Levels, IntArray]:
        """Levels of a fitted partition, and the group that each of its groups joined before."""
        if self.calibration == "joint" and not self.follow:
            masses = group_masses(self.groups(seen), seen.weights, partition.n_groups_)
            return constant_levels(partition.thresholds_, masses), np.arange(partition.n_groups_)
        owner = self.joined(partition, seen, honest)
        return self.read(self.grouped(honest, owner)), owner

    def joined(self, partition: Partition, seen: Evidence, honest: Evidence) -> IntArray:
        """Group that each learned one joins, so that all are large enough."""
        owner: IntArray = np.arange(partition.n_groups_)
        share = len(honest.scores) / len(seen.scores)
        joined = self._joined(owner, seen, share)
        while joined.max() < owner.max():
            owner = joined
            joined = self._joined(owner, seen, share)  # of joined soft groups, others are likeliest
        return owner

    def grouped(self, honest: Evidence, owner: IntArray) -> HeldGroups:
        """Honest rows in the groups that are left."""
        evidence = honest.merged(owner)
        return HeldGroups(evidence, self.groups(evidence), owner.max() + 1)

    def read(self, grouped: Grouped) -> Levels:
        """Levels of groups that are large enough."""
        if self.calibration == "split":
            return self.read_as_learned(grouped)
        if self.follow:
            return following_levels(self._levels(grouped), grouped)
        return constant_levels(self._levels(grouped), grouped.masses)

    def read_as_learned(self, grouped: Grouped) -> Levels:
        """Levels of groups that keep their numbers, whatever the levels are."""
        return levels_as_learned(self._levels(grouped), grouped, self.follow)

    def _levels(self, grouped: Grouped) -> FloatArray:
        if self.calibration != "split" and self.follow:
            return shrunken_levels(grouped, self.alpha)
        return grouped.conformal(self.alpha, self.follow)

    def _joined(self, owner: IntArray, seen: Evidence, share: float) -> IntArray:
        """Group that each learned one joins where it is too small for ``share`` of the rows."""
        groups, m = self.groups(seen.merged(owner)), owner.max() + 1
        sizes = group_masses(groups, seen.weights, m)
        if seen.weights is not None:  # few rows of large weight are few
            sizes = np.minimum(sizes, effective_sizes(groups, seen.weights, m))
        return merge_small(sizes * share, self.alpha)[owner]


class Counted(NamedTuple):
    """A partition cut by all rows, its levels, and the group that each of its groups joined."""

    partition: OrderedPartition
    levels: Levels
    owner: IntArray
    n: int


class CountedGroups(Grouped):
    """Evidence in blocks of predicted and score, in groups that are intervals of the predicted.

    Parameters
    ----------
    evidence : Passes
        Blocks of two columns: the predicted of rows, and their scores.
    cuts : ndarray
        Upper ends of all intervals but the last.
    group_of : ndarray
        Group of each interval.
    """

    def __init__(self, evidence: Passes, cuts: FloatArray, group_of: IntArray) -> None:
        self.evidence = evidence
        self._where = cuts, group_of
        predicted = Ranks(evidence.then(_predictions_in_groups, *self._where), group_of.max() + 1)
        self.masses = self.sizes = predicted.sizes.astype(float)
        self._medians = _medians(predicted)  # now, so that what was sorted for them can go

    def conformal(self, alpha: float, follow: bool) -> FloatArray:
        """Conformal quantile of each group: of scores, or of their excess over the prediction."""
        ranks = self._values(follow)
        return ranks.at([conformal_rank(int(n), alpha) - 1 for n in ranks.sizes])

    def common(self, level: float) -> float:
        """Quantile of what all scores have beyond the prediction."""
        return float(_quantiles(Ranks(self.evidence.then(_excess), 1), level)[0])

    def own(self, level: float) -> FloatArray:
        """Return the same quantile of each group that has rows, NaN for the others."""
        return _quantiles(self._values(follow=True), level)

    def covered(self, level: float) -> FloatArray:
        """Number of each group's rows whose score exceeds its prediction by at most ``level``."""
        ranks = self._values(follow=True)
        return ranks.at_or_below(np.full(len(ranks.sizes), level)).astype(float)

    def lift(self, levels: FloatArray, alpha: float) -> float:
        """Conformal quantile of what all scores have beyond predicted and level."""
        ranks = Ranks(self.evidence.then(_left_over, *self._where, levels), 1)
        return float(ranks.at([conformal_rank(int(ranks.sizes[0]), alpha) - 1])[0])

    def medians(self) -> FloatArray:
        """Median predicted of each group; of all rows where a group has none."""
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

    Evidence is in blocks of predicted and score; both may be the same.
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


def count_rows(predicted: FloatArray, scores: FloatArray) -> int:
    """Return the number of rows of a block."""
    return len(scores)


def _equal_mass_cuts(predicted: Ranks, n_groups: int) -> FloatArray:
    n = int(predicted.sizes[0])
    *cuts, largest = predicted.at([[*ranks_of_cuts(n, n_groups), n - 1]])[0]
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


def _index(predicted: FloatArray, scores: FloatArray) -> Block:
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
    levels: FloatArray,
) -> Block:
    groups = group_of[interval_of(predicted, cuts)]
    values = excess_over(levels[groups], excess_over(predicted, scores))
    return values, np.zeros(len(predicted), dtype=np.intp)


def fit_shared(
    rule: Any, alphas: list[float], X: Any, scores: FloatArray, weights: FloatArray | None
) -> list[Any]:
    """Fit one ``PLCP`` per alpha, all with the partition that was learned at the one in the middle.

    Groups keep the numbers they were learned with, and are large enough for every alpha that has
    a finite threshold at all.
    """
    teacher = rule._rule_at(alphas[0]).set_params(random_state=one_seed(rule.random_state))
    pairs = teacher._pairs(X, scores, weights)
    if teacher.calibration == "joint":
        raise ValueError(
            'calibration="joint" reads thresholds off the descent itself, which is at one alpha: '
            'choose "cross" or "split", or share_partition=False'
        )
    finite = [
        alpha
        for alpha in alphas
        if np.isfinite(conformal_quantile(pairs.scores, alpha, pairs.weights))
    ]
    if not finite:
        rules = [teacher._rule_at(alpha) for alpha in alphas]
        for each in rules:
            each._fit(X, scores, weights)
        return rules
    teacher.set_params(alpha=middle_alpha(finite))
    rng = check_random_state(teacher.random_state)
    partition = teacher._begin(pairs.scores.min(), rng)
    learned = learn(teacher, seeded(partition, rng), pairs, teacher._follow, rng)
    reading = replace(teacher._reading(), alpha=min(finite))  # which needs the largest groups
    owner = reading.joined(learned.partition, learned.seen, learned.honest)
    rules = [_at_alpha(teacher, alpha, learned, owner) for alpha in alphas]
    rules[0]._warn_if_one_group_serves_all(partition, pairs)
    return rules


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


def factor_between(predicted: FloatArray, scores: FloatArray, weights: Any, alpha: float) -> float:
    """Return what a prediction must be multiplied by to be the quantile of another alpha.

    If scores were one law times a scale of x, quantiles of two alphas would differ by a factor;
    corrections of the groups adjust for what is not. One where scores or predictions are not
    positive, and a factor means nothing.

    Examples
    --------
    >>> scores = np.arange(1.0, 10.0)
    >>> factor_between(np.full(9, 9.0), scores, None, alpha=0.5)
    0.5555555555555556
    """
    if scores.min() < 0 or predicted.min() <= 0:
        return 1.0
    return quantile_at(scores / predicted, weights, 1 - alpha)


def _at_alpha(teacher: Any, alpha: float, learned: Learned, owner: IntArray) -> Any:
    """Return a copy of the rule that learned the partition, calibrated at another alpha."""
    rule = copy(teacher).set_params(alpha=alpha)
    if rule._follow and alpha != teacher.alpha:
        seen = learned.seen  # rows that taught: a factor of honest ones would undo a guarantee
        rule._factor = factor_between(seen.predicted, seen.scores, seen.weights, alpha)
    reading = rule._reading()
    honest = replace(learned.honest, predicted=rule._factor * learned.honest.predicted)
    found = reading.read_as_learned(reading.grouped(honest, owner))
    rule._settle(learned.partition, learned.history, found, owner)
    rule._count_telling(honest)
    weighted = learned.honest.weights is not None
    n = len(learned.honest.scores)
    rule.guarantee_ = plcp_guarantee(rule, rule._follow, n, weighted)
    return rule
