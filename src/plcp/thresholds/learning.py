"""The three ways to learn a partition and to find the rows its thresholds may be read off."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from plcp.indices.crossfit import CrossFitted
from plcp.indices.levels import at_level, seeded
from plcp.partitions.base import Partition
from plcp.partitions.crossfit import CrossFittedPartition
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import FloatArray, IntArray


@dataclass(frozen=True)
class Pairs:
    """Calibration pairs (x, s) with their weights, if any."""

    X: Any
    scores: FloatArray
    weights: FloatArray | None

    def take(self, rows: Any) -> "Pairs":
        """Return the pairs of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Pairs(_safe_indexing(self.X, rows), self.scores[rows], weights)

    def cut(self, share: float, rng: np.random.RandomState) -> tuple["Pairs", "Pairs"]:
        """Return two parts at random, ``share`` of the rows in the second."""
        rows = np.arange(len(self.scores))
        first, second = train_test_split(rows, test_size=share, random_state=rng)
        return self.take(first), self.take(second)


@dataclass(frozen=True)
class Evidence:
    """Where some rows fell in a partition, what its index said, and their scores.

    ``memberships`` are None where the partition leaves no doubt, so that n · m numbers are spared.
    """

    groups: IntArray
    memberships: FloatArray | None
    index: FloatArray
    scores: FloatArray
    weights: FloatArray | None


def observe(partition: Partition, pairs: Pairs) -> Evidence:
    """Evidence of a fitted partition on some pairs."""
    if isinstance(partition, OrderedPartition):
        return ordered_evidence(partition, partition.predict_index(pairs.X), pairs)
    return soft_evidence(partition, partition.predict_proba(pairs.X), pairs)


def ordered_evidence(partition: OrderedPartition, index: FloatArray, pairs: Pairs) -> Evidence:
    """Evidence of an ordered partition whose index is known."""
    return Evidence(partition.group_of(index), None, index, pairs.scores, pairs.weights)


def soft_evidence(partition: Partition, memberships: FloatArray, pairs: Pairs) -> Evidence:
    """Evidence of memberships."""
    groups, index = np.argmax(memberships, axis=1), memberships @ partition.thresholds_
    return Evidence(groups, memberships, index, pairs.scores, pairs.weights)


def learn_jointly(partition: Partition, pairs: Pairs) -> tuple[Partition, Evidence]:
    """Learn from all rows, and read thresholds off the same ones, as the paper does."""
    partition.fit(pairs.X, pairs.scores, pairs.weights)
    return partition, observe(partition, pairs)


def learn_crosswise(
    partition: Partition, pairs: Pairs, rng: np.random.RandomState, **folding: Any
) -> tuple[Partition, Evidence]:
    """Learn from all rows, and read thresholds off each by models that did not see it.

    ``folding``: cv, n_jobs and verbose, as in ``CrossFitted``.
    """
    if isinstance(partition, OrderedPartition):
        partition = with_cross_fitted_index(partition, rng, **folding)
        partition.fit(pairs.X, pairs.scores, pairs.weights)
        return partition, ordered_evidence(partition, partition.learned_index(pairs.X), pairs)
    crossed = CrossFittedPartition(partition, random_state=rng, **folding)
    crossed.fit(pairs.X, pairs.scores, pairs.weights)
    return crossed, soft_evidence(crossed, crossed.out_of_fold_, pairs)


def with_cross_fitted_index(
    partition: OrderedPartition, rng: np.random.RandomState, **folding: Any
) -> OrderedPartition:
    """Return the partition with an index that knows its own out-of-fold values."""
    index = seeded(at_level(partition.index_template(), 1 - partition.alpha), rng)
    if "n_repeats" in index.get_params():  # it cross-fits itself
        index.set_params(**folding)
    else:
        seed = rng.randint(np.iinfo(np.int32).max)
        index = CrossFitted(index, random_state=seed, **folding)
    return clone(partition).set_params(index=index)
