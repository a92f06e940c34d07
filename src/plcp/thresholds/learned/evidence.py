"""Calibration pairs, and where they fell in a partition."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.model_selection import train_test_split

from plcp.partitions.base import Partition, likeliest, merge_columns
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import FloatArray, IntArray, excess_over
from plcp.rows import take


@dataclass(frozen=True)
class Pairs:
    """Calibration pairs (x, s) with their weights, if any."""

    X: Any
    scores: FloatArray
    weights: FloatArray | None

    def take(self, rows: Any) -> "Pairs":
        """Return the pairs of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Pairs(take(self.X, rows), self.scores[rows], weights)

    def cut(self, share: float, rng: np.random.RandomState) -> tuple["Pairs", "Pairs"]:
        """Return two parts at random, ``share`` of the rows in the second."""
        rows = np.arange(len(self.scores))
        first, second = train_test_split(rows, test_size=share, random_state=rng)
        return self.take(first), self.take(second)


@dataclass(frozen=True)
class Place:
    """Where some rows fell in a partition, and what its index said.

    ``memberships`` are None where the partition leaves no doubt, so that n · m numbers are spared.
    """

    groups: IntArray
    memberships: FloatArray | None
    index: FloatArray

    def merged(self, owner: IntArray) -> Self:
        """Return the place among merged groups, ``owner`` the new number of each old one."""
        if self.memberships is None:
            return replace(self, groups=owner[self.groups])
        memberships = merge_columns(self.memberships, owner, owner.max() + 1)
        return replace(self, groups=likeliest(memberships), memberships=memberships)

    def assigned(self, assignment: str, seed: int) -> IntArray:
        """Group of each row: the likeliest, or one drawn."""
        if self.memberships is None or assignment != "sample":
            return self.groups
        u = np.random.RandomState(seed).uniform(size=(len(self.memberships), 1))
        drawn = (self.memberships.cumsum(axis=1) < u).sum(axis=1)
        return np.minimum(drawn, self.memberships.shape[1] - 1)  # rows sum to one but for rounding


@dataclass(frozen=True)
class Evidence(Place):
    """Rows that fell somewhere, with their scores."""

    scores: FloatArray
    weights: FloatArray | None

    def values(self, follow: bool) -> FloatArray:
        """What a level is read off: scores, or what they have beyond the index."""
        return excess_over(self.index, self.scores) if follow else self.scores

    def take(self, rows: IntArray) -> "Evidence":
        """Return the evidence of some rows."""
        memberships = None if self.memberships is None else self.memberships[rows]
        weights = None if self.weights is None else self.weights[rows]
        place = self.groups[rows], memberships, self.index[rows]
        return Evidence(*place, self.scores[rows], weights)


def place_of(partition: Partition, X: Any) -> Place:
    """Place of some rows in a fitted partition."""
    if isinstance(partition, OrderedPartition):
        index = partition.predict_index(X)
        return Place(partition.group_of(index), None, index)
    return soft_place(partition, partition.predict_proba(X))


def soft_place(partition: Partition, memberships: FloatArray) -> Place:
    """Place of rows whose memberships are known."""
    groups, index = likeliest(memberships), memberships @ partition.thresholds_
    return Place(groups, memberships, index)


def observe(partition: Partition, pairs: Pairs) -> Evidence:
    """Evidence of a fitted partition on some pairs."""
    return evidence_of(place_of(partition, pairs.X), pairs)


def ordered_evidence(partition: OrderedPartition, index: FloatArray, pairs: Pairs) -> Evidence:
    """Evidence of an ordered partition whose index is known."""
    return evidence_of(Place(partition.group_of(index), None, index), pairs)


def evidence_of(place: Place, pairs: Pairs) -> Evidence:
    """Evidence of pairs whose place is known."""
    return Evidence(place.groups, place.memberships, place.index, pairs.scores, pairs.weights)
