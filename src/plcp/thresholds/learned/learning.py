"""The three ways to learn a partition and to find the rows its thresholds may be read off."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from plcp.indices.crossfit import CrossFitted
from plcp.indices.levels import at_level, seeded
from plcp.indices.mixture import MixedIndex
from plcp.partitions.base import Partition
from plcp.partitions.crossfit import CrossFittedPartition
from plcp.partitions.ordered import OrderedPartition
from plcp.thresholds.learned.evidence import (
    Evidence,
    Pairs,
    evidence_of,
    observe,
    ordered_evidence,
    soft_place,
)
from plcp.thresholds.learned.selection import (
    History,
    choose_by_cutting,
    choose_by_refitting,
    most_groups,
)


@dataclass(frozen=True)
class Learned:
    """A fitted partition, the rows it was learned from, and those to calibrate it with."""

    partition: Partition
    history: History
    seen: Evidence
    honest: Evidence


def learn(
    rule: Any, partition: Partition, pairs: Pairs, follow: bool, rng: np.random.RandomState
) -> Learned:
    """Learn a partition in the way a rule's ``calibration`` and ``n_groups`` say."""
    if rule.calibration != "split":
        return learn_partition(rule, partition, pairs, follow, rng)
    pairs, held_out = pairs.cut(rule.calibration_size, rng)
    learned = learn_partition(rule, partition, pairs, follow, rng)
    return replace(learned, honest=observe(learned.partition, held_out))


def learn_partition(
    rule: Any, partition: Partition, pairs: Pairs, follow: bool, rng: np.random.RandomState
) -> Learned:
    """Learn from all rows; they are honest too, as far as models can be out of fold."""
    cut_later = rule.calibration == "cross" and isinstance(partition, OrderedPartition)
    search = rule.n_groups == "auto" and not follow
    history: History = []
    if search and not cut_later:
        m, history = choose_by_refitting(partition, pairs, rng)
        partition.set_params(n_groups=m)
    elif rule.n_groups == "auto":
        partition.set_params(n_groups=most_groups(len(pairs.scores)))
    folding = {"cv": rule.cv, "n_jobs": rule.n_jobs, "verbose": rule.verbose}
    if rule.calibration == "cross":
        partition, seen = learn_crosswise(partition, pairs, rng, **folding)
    else:
        partition, seen = learn_jointly(with_folding(partition, **folding), pairs)
    if search and isinstance(partition, OrderedPartition) and cut_later:
        partition, history = choose_by_cutting(partition, seen, rng)
        seen = ordered_evidence(partition, seen.index, pairs)
    return Learned(partition, history + partition.history_, seen, seen)


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
    return crossed, evidence_of(soft_place(crossed, crossed.out_of_fold_), pairs)


def with_cross_fitted_index(
    partition: OrderedPartition, rng: np.random.RandomState, **folding: Any
) -> OrderedPartition:
    """Return the partition with an index that knows its own out-of-fold values."""
    index = seeded(at_level(partition.index_template(), 1 - partition.alpha), rng)
    if not cross_fits_itself(index):
        seed = rng.randint(np.iinfo(np.int32).max)
        n_repeats = getattr(index, "fold_repeats", "auto")
        index = CrossFitted(index, n_repeats=n_repeats, random_state=seed)
    return clone(partition).set_params(index=index.set_params(**folding))


def with_folding(partition: Partition, **folding: Any) -> Partition:
    """Return the partition with the folds of an index that cross-fits itself set."""
    if not isinstance(partition, OrderedPartition):
        return partition
    index = clone(partition.index_template())
    return (
        partition.set_params(index=index.set_params(**folding))
        if cross_fits_itself(index)
        else partition
    )


def cross_fits_itself(index: Any) -> bool:
    """Whether an index offers its own out-of-fold values once fitted."""
    return isinstance(index, (CrossFitted, MixedIndex))
