"""One learned partition for several levels: learned once, and read at each of them."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from plcp.indices.levels import seeded
from plcp.quantiles import IntArray, conformal_quantile
from plcp.thresholds.base import one_seed
from plcp.thresholds.guarantees import plcp_guarantee
from plcp.thresholds.learned.learning import Learned, learn


def fit_shared(
    rule: Any,
    levels: list[float],
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> list[Any]:
    """Fit one ``PLCP`` a level that all have the partition which one of them learned.

    Groups keep the numbers they were learned with, and are large enough for every level that has
    a finite threshold at all.
    """
    teacher = clone(rule).set_params(alpha=levels[0], random_state=one_seed(rule.random_state))
    pairs = teacher._check(X, y, sample_weight)
    if teacher.calibration == "joint":
        raise ValueError(
            'calibration="joint" reads thresholds off the descent itself, which is at one level: '
            'choose "cross" or "split", or share_partition=False'
        )
    finite = [
        level
        for level in levels
        if np.isfinite(conformal_quantile(pairs.scores, level, pairs.weights))
    ]
    if not finite:
        rules = [clone(teacher).set_params(alpha=level) for level in levels]
        return [rule.fit(X, y, sample_weight) for rule in rules]
    teacher.set_params(alpha=teaching_level(finite))
    rng = check_random_state(teacher.random_state)
    partition = teacher._begin(pairs.scores.min(), rng)
    learned = learn(teacher, seeded(partition, rng), pairs, teacher._follow, rng)
    reading = replace(teacher._reading(), alpha=min(finite))
    owner = reading.joined(learned.partition, learned.seen, learned.honest)
    return [_at_level(teacher, level, learned, owner) for level in levels]


def teaching_level(levels: list[float]) -> float:
    """Return the level that the partition is learned at: the smallest alpha."""
    return min(levels)


def _at_level(teacher: Any, level: float, learned: Learned, owner: IntArray) -> Any:
    """Return a copy of the rule that taught, read at another level."""
    rule = copy(teacher).set_params(alpha=level)
    reading = rule._reading()
    found = reading.read_as_learned(reading.grouped(learned.honest, owner))
    rule._settle(learned.partition, learned.history, found, owner)
    weighted = learned.honest.weights is not None
    n = len(learned.honest.scores)
    rule.guarantee_ = plcp_guarantee(rule, rule._follow, n, weighted)
    return rule
