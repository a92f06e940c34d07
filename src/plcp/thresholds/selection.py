"""How many groups: doubling, then bisection, on held-out loss (Remark B.5)."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from plcp.partitions.base import Partition
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import pinball_loss
from plcp.thresholds.learning import Evidence, Pairs, ordered_evidence

HELD_OUT = 0.2
ROWS_A_GROUP = 200
MOST_CONSTANTS = 64  # constants are a staircase: more steps, a closer fit
MOST_FOLLOWING = 20  # corrections of an index that follows the quantile by itself
History = list[dict[str, float]]


def search_n_groups(loss_of: Callable[[int], float], most: int) -> tuple[int, History]:
    """Best number of groups up to ``most``, and what was tried.

    m doubles from 1 until the loss no longer falls; the best m then lies between half and twice
    the last good one, where the slope at the middle says which half to keep. Right where the loss
    falls, then rises, as theory expects.

    Examples
    --------
    >>> best, tried = search_n_groups(lambda m: (m - 11) ** 2, most=100)
    >>> best, [step["n_groups"] for step in tried]
    (11, [1, 2, 4, 8, 16, 11, 10, 14, 13, 12])
    """
    losses: dict[int, float] = {}

    def loss(m: int) -> float:
        if m not in losses:
            losses[m] = float(loss_of(m))
        return losses[m]

    good = 1
    loss(good)
    while 2 * good <= most and loss(2 * good) < loss(good):
        good *= 2
    low, high = good // 2 + 1, min(2 * good, most)
    while low < high:
        middle = (low + high) // 2
        if loss(middle + 1) < loss(middle):
            low = middle + 1
        else:
            high = middle
    best = min(losses, key=losses.__getitem__)
    return best, [{"n_groups": m, "held_out": value} for m, value in losses.items()]


def choose_by_evidence(
    partition: OrderedPartition, evidence: Evidence, pairs: Pairs, rng: np.random.RandomState
) -> tuple[OrderedPartition, Evidence, History]:
    """Number of groups of a fitted, cross-fitted ordered partition: only its cuts are redone."""
    index, scores, weights = evidence.index, evidence.scores, evidence.weights
    learn, hold = train_test_split(np.arange(len(scores)), test_size=HELD_OUT, random_state=rng)

    def cut(m: int, rows: Any) -> OrderedPartition:
        own = None if weights is None else weights[rows]
        return copy(partition).set_params(n_groups=m).cut(index[rows], scores[rows], own)

    def loss_of(m: int) -> float:
        some = cut(m, learn)
        loss = pinball_loss(some.thresholds_[some.group_of(index[hold])], scores[hold], some.alpha)
        return float(np.average(loss, weights=None if weights is None else weights[hold]))

    best, history = search_n_groups(loss_of, most_groups(len(learn), MOST_CONSTANTS))
    partition = cut(best, slice(None))
    return partition, ordered_evidence(partition, index, pairs), history


def choose_by_refitting(
    partition: Partition, pairs: Pairs, rng: np.random.RandomState
) -> tuple[int, History]:
    """Number of groups of any partition: fitted anew for each on 80 % of the pairs.

    An ordered partition learns its index once, and is only cut anew.
    """
    learn, hold = pairs.cut(HELD_OUT, rng)
    if isinstance(partition, OrderedPartition):
        fitted = clone(partition).fit(learn.X, learn.scores, learn.weights).index_
        partition = clone(partition).set_params(index=FrozenEstimator(fitted))

    def loss_of(m: int) -> float:
        fitted = clone(partition).set_params(n_groups=m).fit(learn.X, learn.scores, learn.weights)
        loss = pinball_loss(fitted.thresholds_[fitted.predict(hold.X)], hold.scores, fitted.alpha)
        return float(np.average(loss, weights=hold.weights))

    return search_n_groups(loss_of, most_groups(len(learn.scores), MOST_CONSTANTS))


def most_groups(n: int, most: int = MOST_FOLLOWING) -> int:
    """Largest number of groups that n rows can fill."""
    return int(np.clip(n // ROWS_A_GROUP, 1, most))
