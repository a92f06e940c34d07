"""How many groups: doubling, then bisection, on held-out loss (Remark B.5)."""

from collections.abc import Callable
from copy import copy

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from plcp.partitions.base import Partition
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import FloatArray, IntArray, group_conformal_quantiles, pinball_loss
from plcp.thresholds.learning import Evidence, Pairs, observe, ordered_evidence

HELD_OUT = 0.2
ROWS_A_GROUP = 100
MOST_GROUPS = 64
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
    partition: OrderedPartition,
    evidence: Evidence,
    pairs: Pairs,
    follow: bool,
    rng: np.random.RandomState,
) -> tuple[OrderedPartition, Evidence, History]:
    """Number of groups of a fitted, cross-fitted ordered partition: only its cuts are redone."""
    rows = np.arange(len(pairs.scores))
    learn, hold = train_test_split(rows, test_size=HELD_OUT, random_state=rng)

    def recut(m: int, pairs: Pairs, index: FloatArray) -> OrderedPartition:
        return copy(partition).set_params(n_groups=m).cut(index, pairs.scores, pairs.weights)

    def loss_of(m: int) -> float:
        parts = [Pairs(None, *_rows(evidence, part)) for part in (learn, hold)]
        cut = recut(m, parts[0], evidence.index[learn])
        seen = [
            ordered_evidence(cut, evidence.index[part], p)
            for part, p in zip((learn, hold), parts, strict=True)
        ]
        return held_out_loss(*seen, cut.n_groups_, partition.alpha, follow)

    best, history = search_n_groups(loss_of, most_groups(len(learn)))
    partition = recut(best, pairs, evidence.index)
    return partition, ordered_evidence(partition, evidence.index, pairs), history


def choose_by_refitting(
    partition: Partition, pairs: Pairs, follow: bool, rng: np.random.RandomState
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
        seen = [observe(fitted, part) for part in (learn, hold)]
        return held_out_loss(*seen, fitted.n_groups_, partition.alpha, follow)

    return search_n_groups(loss_of, most_groups(len(learn.scores)))


def held_out_loss(
    learn: Evidence, hold: Evidence, n_groups: int, alpha: float, follow: bool
) -> float:
    """Mean pinball loss on ``hold`` of one level a group read off ``learn``."""
    values, held = (e.scores - e.index if follow else e.scores for e in (learn, hold))
    levels = group_conformal_quantiles(
        values, learn.groups, n_groups, alpha, learn.weights, test_weight=0.0
    )
    # A group without a row to learn from covers nobody: it must not look cheap.
    loss = pinball_loss(np.nan_to_num(levels, posinf=values.max())[hold.groups], held, alpha)
    return float(np.average(loss, weights=hold.weights))


def most_groups(n: int) -> int:
    """Largest number of groups worth trying on n rows."""
    return int(np.clip(n // ROWS_A_GROUP, 1, MOST_GROUPS))


def _rows(evidence: Evidence, rows: IntArray) -> tuple[FloatArray, FloatArray | None]:
    weights = evidence.weights
    return evidence.scores[rows], None if weights is None else weights[rows]
