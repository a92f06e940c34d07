"""One learned partition for several levels: learned once, and read at each of them."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from plcp.indices.levels import seeded
from plcp.indices.mixture import quantile_at
from plcp.quantiles import FloatArray, IntArray, conformal_quantile
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
    """Fit one ``PLCP`` a level, all with the partition that the one in the middle has learned.

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
    reading = replace(teacher._reading(), alpha=min(finite))  # which needs the largest groups
    owner = reading.joined(learned.partition, learned.seen, learned.honest)
    rules = [_at_level(teacher, level, learned, owner) for level in levels]
    rules[0]._warn_if_one_group_serves_all(partition, pairs)
    return rules


def teaching_level(levels: list[float]) -> float:
    """Return the level in the middle, the smaller one of two.

    What is learned far out in the tail is noise at other levels, and what is learned at the median
    says little of the tail.

    Examples
    --------
    >>> teaching_level([0.2, 0.01, 0.1, 0.05])
    0.05
    """
    return sorted(levels)[(len(levels) - 1) // 2]


def factor_between(index: FloatArray, scores: FloatArray, weights: Any, level: float) -> float:
    """Return what an index must be multiplied by to be a quantile of another level.

    If scores were one law times a scale of x, quantiles of two levels would be so; groups mend what
    is not. One where scores are signed, or the index is, and a factor means nothing.

    Examples
    --------
    >>> scores = np.arange(1.0, 10.0)
    >>> factor_between(np.full(9, 9.0), scores, None, level=0.5)
    0.5555555555555556
    """
    if scores.min() < 0 or index.min() <= 0:
        return 1.0
    return quantile_at(scores / index, weights, 1 - level)


def _at_level(teacher: Any, level: float, learned: Learned, owner: IntArray) -> Any:
    """Return a copy of the rule that taught, read at another level."""
    rule = copy(teacher).set_params(alpha=level)
    if rule._follow and level != teacher.alpha:
        seen = learned.seen  # rows that taught: a factor of honest ones would undo a guarantee
        rule._factor = factor_between(seen.index, seen.scores, seen.weights, level)
    reading = rule._reading()
    honest = replace(learned.honest, index=rule._factor * learned.honest.index)
    found = reading.read_as_learned(reading.grouped(honest, owner))
    rule._settle(learned.partition, learned.history, found, owner)
    rule._count_telling(honest)
    weighted = learned.honest.weights is not None
    n = len(learned.honest.scores)
    rule.guarantee_ = plcp_guarantee(rule, rule._follow, n, weighted)
    return rule
