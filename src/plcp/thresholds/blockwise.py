"""PLCP in two steps: some rows teach its partition, rows in blocks give its thresholds."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from plcp.blocks import Passes
from plcp.indices.levels import seeded
from plcp.quantiles import FloatArray
from plcp.thresholds.guarantees import plcp_guarantee
from plcp.thresholds.learned.counted import count_rows, read_by_counting
from plcp.thresholds.learned.learning import learn_partition
from plcp.thresholds.learned.selection import most_groups
from plcp.thresholds.plcp import PLCP


def teach(rule: PLCP, X: Any, scores: FloatArray) -> tuple[PLCP, FloatArray]:
    """Return a copy of the rule that has learned its partition, and the index of the rows given.

    The index is out of fold with ``calibration="cross"``. The copy keeps nothing of the rows, and
    has no thresholds before ``calibrate``.
    """
    rule = clone(rule)
    pairs = rule._check(X, scores, None)
    rng = check_random_state(rule.random_state)
    template = rule._begin(pairs.scores.min(), rng)
    learned = learn_partition(rule, seeded(template, rng), pairs, rule._follow, rng)
    rule.partition_, rule.history_ = learned.partition, learned.history
    if hasattr(rule.partition_.index_, "forget_rows"):
        rule.partition_.index_.forget_rows()
    return rule, learned.seen.index


def with_index(rule: PLCP, index: Any) -> PLCP:
    """Return a copy of the rule that has not to learn its index, as that was taught elsewhere."""
    rule = clone(rule)
    partition = rule._begin(0.0, check_random_state(rule.random_state))
    if rule.n_groups == "auto" and not rule._follow:
        raise ValueError(
            'n_groups="auto" with within="constant" looks for the best number of groups, which '
            "needs an index that learns in memory: give a number"
        )
    partition.index_ = index
    rule.partition_, rule.history_ = partition, []
    return rule


def calibrate(rule: PLCP, seen: Passes, honest: Passes, least: float) -> None:
    """Cut the partition of a taught rule by the rows it has seen, and read its thresholds.

    Parameters
    ----------
    rule : PLCP
        Taught, with an ordered partition; it is completed in place.
    seen, honest : Passes
        Blocks of index and score: of the rows that taught or stand for them, and of those that
        thresholds are read off. The same for ``calibration="cross"``.
    least : float
        Least of all scores.
    """
    rule._least = 0.0 if least >= 0 else -np.inf
    m = rule.partition_.n_groups
    if rule.n_groups == "auto" and rule._follow:
        m = most_groups(seen.total(count_rows))
    found = read_by_counting(rule._reading(), rule.partition_, m, seen, honest)
    rule._settle(found.partition, rule.history_, found.levels, found.owner)
    rule._count_blocks(found.n)
    rule.guarantee_ = plcp_guarantee(rule, rule._follow, found.n, weighted=False)
