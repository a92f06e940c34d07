"""How many groups: doubling, then bisection, on held-out loss (Remark B.5)."""

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from plcp.partitions.base import CollapseWarning, Partition
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import IntArray, pinball_loss
from plcp.thresholds.learned.evidence import Evidence, Pairs, ordered_evidence

HELD_OUT = 0.2
ROWS_A_GROUP = 200
MOST_CONSTANTS = 64  # constants are a staircase: more steps, a closer fit
MOST_FOLLOWING = 20  # corrections of an index that follows the quantile by itself
History = list[dict[str, Any]]


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


def choose_by_cutting(
    partition: OrderedPartition, evidence: Evidence, rng: np.random.RandomState
) -> tuple[OrderedPartition, History]:
    """Cut a fitted ordered partition anew, into the number of groups of least held-out loss.

    Only the cuts are redone: the index values of the evidence stay as they are.
    """
    rows = np.arange(len(evidence.scores))
    learn, hold = train_test_split(rows, test_size=HELD_OUT, random_state=rng)

    def loss_of(m: int) -> float:
        trial = recut(partition, m, evidence.take(learn))
        return held_out_loss(trial, trial.group_of(evidence.index[hold]), evidence.take(hold))

    best, history = search_n_groups(loss_of, most_groups(len(learn), MOST_CONSTANTS))
    return recut(partition, best, evidence), history


def choose_by_refitting(
    partition: Partition, pairs: Pairs, rng: np.random.RandomState
) -> tuple[int, History]:
    """Number of groups of any partition: fitted anew for each on 80 % of the pairs.

    An ordered partition learns its index once, and is only cut anew.
    """
    learn, hold = pairs.cut(HELD_OUT, rng)
    trial_of = _cut_once_fitted if isinstance(partition, OrderedPartition) else _refitted
    trial = trial_of(partition, learn)

    def loss_of(m: int) -> float:
        fitted = trial(m)
        return held_out_loss(fitted, fitted.predict(hold.X), hold)

    return search_n_groups(loss_of, most_groups(len(learn.scores), MOST_CONSTANTS))


def _cut_once_fitted(partition: OrderedPartition, pairs: Pairs) -> Callable[[int], Partition]:
    fitted = clone(partition).fit(pairs.X, pairs.scores, pairs.weights)
    evidence = ordered_evidence(fitted, fitted.learned_index(pairs.X), pairs)
    return lambda m: recut(fitted, m, evidence)


def _refitted(partition: Partition, pairs: Pairs) -> Callable[[int], Partition]:
    def fit(m: int) -> Partition:
        trial = clone(partition).set_params(n_groups=m)
        with warnings.catch_warnings():  # a collapse on trial is what the search is there to find
            warnings.simplefilter("ignore", CollapseWarning)
            return trial.fit(pairs.X, pairs.scores, pairs.weights)

    return fit


def recut(partition: OrderedPartition, n_groups: int, evidence: Evidence) -> OrderedPartition:
    """Return a copy of the partition with other cuts of the same index."""
    again = copy(partition).set_params(n_groups=n_groups)
    return again.cut(evidence.index, evidence.scores, evidence.weights)


def held_out_loss(partition: Partition, groups: IntArray, held: Pairs | Evidence) -> float:
    """Mean pinball loss of the partition's own thresholds on rows it was not learned from."""
    loss = pinball_loss(partition.thresholds_[groups], held.scores, partition.alpha)
    return float(np.average(loss, weights=held.weights))


def most_groups(n: int, most: int = MOST_FOLLOWING) -> int:
    """Largest number of groups that n rows can fill."""
    return int(np.clip(n // ROWS_A_GROUP, 1, most))
