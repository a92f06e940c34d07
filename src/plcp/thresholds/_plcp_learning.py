"""How PLCP learns its partition: from pairs, out of fold, with a number of groups it chooses."""

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from plcp._folds import Fold, copy_ids, split_rows
from plcp._rows import take
from plcp._validation import effective_rows
from plcp.exceptions import CollapseWarning
from plcp.partitions.base import Partition, likeliest, merge_columns
from plcp.partitions.crossfit import CrossFittedPartition
from plcp.partitions.ordered import OrderedPartition, interval_of
from plcp.quantiles import FloatArray, IntArray, excess_over, pinball_loss
from plcp.regressors.base import at_quantile, seeded
from plcp.regressors.crossfit import CrossFitted
from plcp.regressors.stacking import StackedQuantile


@dataclass(frozen=True)
class Pairs:
    """Calibration pairs (x, s) with their weights, and the folds listed for them, if any."""

    X: Any
    scores: FloatArray
    weights: FloatArray | None
    folds: list[Fold] | None = None

    @property
    def size(self) -> int:
        """Number of rows, of weighted ones the effective number (Kish)."""
        return int(effective_rows(len(self.scores), self.weights))

    def take(self, rows: Any) -> "Pairs":
        """Return the pairs of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Pairs(take(self.X, rows), self.scores[rows], weights)

    def cut(self, share: float, rng: np.random.RandomState) -> tuple["Pairs", "Pairs"]:
        """Return two parts at random, ``share`` of the rows in the second, copies together."""
        first, second = split_rows(copy_ids(self.X, self.scores), share, rng)
        return self.take(first), self.take(second)


@dataclass(frozen=True)
class RowsInPartition:
    """Where rows fall in a partition, the prediction of its regressor, and scores if known.

    ``cells`` are intervals of the prediction (ordered partitions) or groups of the partition, of
    which the likeliest is given. ``memberships`` are None where each row is in one cell alone, so
    that n · m numbers are spared.
    """

    cells: IntArray
    memberships: FloatArray | None
    predicted: FloatArray
    scores: FloatArray
    weights: FloatArray | None = None

    def values(self, follow: bool) -> FloatArray:
        """What corrections are quantiles of: scores, or what they exceed the prediction by."""
        return excess_over(self.predicted, self.scores) if follow else self.scores

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{k: v[rows] for k, v in given.items() if v is not None})

    def merged(self, joined: IntArray) -> Self:
        """Return the rows among merged groups, ``joined`` the group of each cell."""
        if self.memberships is None:
            return replace(self, cells=joined[self.cells])
        if joined.max() >= len(joined):  # of an altered file: there would be any number of columns
            raise ValueError(f"{len(joined)} groups are merged into a group {joined.max()}")
        memberships = merge_columns(self.memberships, joined, joined.max() + 1)
        return replace(self, cells=likeliest(memberships), memberships=memberships)

    def drawn(self, u: Callable[[], FloatArray]) -> Self:
        """Return the rows with cells drawn from the memberships, if any, by uniform numbers u."""
        if self.memberships is None:
            return self
        drawn = (self.memberships.cumsum(axis=1) < u()[:, None]).sum(axis=1)
        # rows sum to one but for rounding
        return replace(self, cells=np.minimum(drawn, self.memberships.shape[1] - 1))


NO_SCORES = np.empty(0)
NO_ROWS = RowsInPartition(np.empty(0, dtype=np.intp), None, NO_SCORES, NO_SCORES)


def place(partition: Partition, X: Any, pairs: Pairs | None = None) -> RowsInPartition:
    """Place rows in a fitted partition, with the scores of calibration pairs."""
    if isinstance(partition, OrderedPartition):
        return place_predicted(partition, partition.predict_quantile(X), pairs)
    return place_soft(partition, partition.predict_proba(X), pairs)


def place_predicted(
    partition: OrderedPartition, predicted: FloatArray, pairs: Pairs | None
) -> RowsInPartition:
    """Place rows in an ordered partition whose predictions are known."""
    return RowsInPartition(
        interval_of(predicted, partition.cuts_), None, predicted, *_scores_of(pairs)
    )


def place_soft(
    partition: Partition, memberships: FloatArray, pairs: Pairs | None
) -> RowsInPartition:
    """Place rows whose memberships are known."""
    predicted = memberships @ partition.thresholds_
    return RowsInPartition(likeliest(memberships), memberships, predicted, *_scores_of(pairs))


def _scores_of(pairs: Pairs | None) -> tuple[FloatArray, FloatArray | None]:
    return (NO_SCORES, None) if pairs is None else (pairs.scores, pairs.weights)


HELD_OUT = 0.2
ROWS_A_GROUP = 200
MOST_CONSTANTS = 64  # constants are a staircase: more steps, a closer fit
MOST_FOLLOWING = 20  # corrections of a regressor that follows the quantile by itself
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
    partition: OrderedPartition,
    placed: RowsInPartition,
    ids: IntArray,
    rng: np.random.RandomState,
) -> tuple[OrderedPartition, History]:
    """Cut a fitted ordered partition again, into the number of groups of least held-out loss.

    Only the cuts are redone: the predictions stay as they are. ``sets`` of copies are held out as
    one.
    """
    learn, hold = split_rows(ids, HELD_OUT, rng)

    def loss_of(m: int) -> float:
        trial = recut(partition, m, placed.take(learn))
        return held_out_loss(trial, trial.group_of(placed.predicted[hold]), placed.take(hold))

    size = int(effective_rows(len(learn), placed.take(learn).weights))
    best, history = search_n_groups(loss_of, most_groups(size, MOST_CONSTANTS))
    return recut(partition, best, placed), history


def choose_by_refitting(
    partition: Partition, pairs: Pairs, rng: np.random.RandomState
) -> tuple[int, History]:
    """Number of groups of any partition: fitted for each on 80 % of the pairs.

    An ordered partition fits its regressor once, and is only cut again.
    """
    learn, hold = pairs.cut(HELD_OUT, rng)
    trial_of = _cut_once_fitted if isinstance(partition, OrderedPartition) else _refitted
    trial = trial_of(partition, learn)

    def loss_of(m: int) -> float:
        fitted = trial(m)
        return held_out_loss(fitted, fitted.predict(hold.X), hold)

    return search_n_groups(loss_of, most_groups(learn.size, MOST_CONSTANTS))


def _cut_once_fitted(partition: OrderedPartition, pairs: Pairs) -> Callable[[int], Partition]:
    fitted = clone(partition).fit(pairs.X, pairs.scores, pairs.weights)
    placed = place_predicted(fitted, fitted.learned_quantile(pairs.X), pairs)
    return lambda m: recut(fitted, m, placed)


def _refitted(partition: Partition, pairs: Pairs) -> Callable[[int], Partition]:
    def fit(m: int) -> Partition:
        trial = clone(partition).set_params(n_groups=m)
        with warnings.catch_warnings():  # a collapse on trial is what the search is there to find
            warnings.simplefilter("ignore", CollapseWarning)
            return trial.fit(pairs.X, pairs.scores, pairs.weights)

    return fit


def recut(partition: OrderedPartition, n_groups: int, placed: RowsInPartition) -> OrderedPartition:
    """Return a copy of the partition with other cuts of the same predictions."""
    again = copy(partition).set_params(n_groups=n_groups)
    return again.cut(placed.predicted, placed.scores, placed.weights)


def held_out_loss(partition: Partition, groups: IntArray, held: Pairs | RowsInPartition) -> float:
    """Mean pinball loss of the partition's own thresholds on rows it was not learned from."""
    loss = pinball_loss(partition.thresholds_[groups], held.scores, partition.alpha)
    return float(np.average(loss, weights=held.weights))


def most_groups(n: int, most: int = MOST_FOLLOWING) -> int:
    """Largest number of groups that n rows can fill."""
    return int(np.clip(n // ROWS_A_GROUP, 1, most))


class Learned(NamedTuple):
    """A learned partition, the rows it was learned from, and those to calibrate with."""

    partition: Partition
    history: History
    training: RowsInPartition
    calibration: RowsInPartition


def learn_split(
    rule: Any, partition: Partition, pairs: Pairs, rng: np.random.RandomState
) -> Learned:
    """Learn a partition from one part of the pairs, and hold out the other for calibration."""
    pairs, held_out = pairs.cut(rule.calibration_size, rng)
    learned = learn(rule, partition, pairs, rng)
    return learned._replace(calibration=place(learned.partition, held_out.X, held_out))


def learn(rule: Any, partition: Partition, pairs: Pairs, rng: np.random.RandomState) -> Learned:
    """Learn from all pairs, which calibrate too, out of fold where ``calibration`` is "cross"."""
    cross = rule.calibration == "cross"
    cut_later = cross and isinstance(partition, OrderedPartition)
    search = rule.n_groups == "auto" and not rule._follow
    history: History = []
    if search and not cut_later:
        m, history = choose_by_refitting(partition, pairs, rng)
        partition.set_params(n_groups=m)
    elif rule.n_groups == "auto":
        partition.set_params(n_groups=most_groups(pairs.size))
    cv = rule.cv if pairs.folds is None else pairs.folds
    folding = {"cv": cv, "n_jobs": rule.n_jobs, "verbose": rule.verbose}
    if cross:
        partition, training = learn_crosswise(partition, pairs, rng, **folding)
    else:
        partition = with_folding(partition, **folding)
        partition.fit(pairs.X, pairs.scores, pairs.weights)
        training = place(partition, pairs.X, pairs)
    if search and isinstance(partition, OrderedPartition) and cut_later:
        ids = copy_ids(pairs.X, pairs.scores)
        partition, history = choose_by_cutting(partition, training, ids, rng)
        training = place_predicted(partition, training.predicted, pairs)
    return Learned(partition, history + partition.history_, training, training)


def learn_crosswise(
    partition: Partition, pairs: Pairs, rng: np.random.RandomState, **folding: Any
) -> tuple[Partition, RowsInPartition]:
    """Learn from all rows, and place each by models that were not fitted to it.

    ``folding``: cv, n_jobs and verbose, as in ``CrossFitted``.
    """
    if isinstance(partition, OrderedPartition):
        partition = with_cross_fitted_regressor(partition, rng, **folding)
        partition.fit(pairs.X, pairs.scores, pairs.weights)
        return partition, place_predicted(partition, partition.learned_quantile(pairs.X), pairs)
    crossed = CrossFittedPartition(partition, random_state=rng, **folding)
    crossed.fit(pairs.X, pairs.scores, pairs.weights)
    return crossed, place_soft(crossed, crossed.out_of_fold_, pairs)


def with_cross_fitted_regressor(
    partition: OrderedPartition, rng: np.random.RandomState, **folding: Any
) -> OrderedPartition:
    """Return the partition with a regressor that keeps its out-of-fold values."""
    regressor = seeded(at_quantile(partition.regressor_template(), 1 - partition.alpha), rng)
    if not cross_fits_itself(regressor):
        seed = rng.randint(np.iinfo(np.int32).max)
        n_repeats = getattr(regressor, "fold_repeats", "auto")
        regressor = CrossFitted(regressor, n_repeats=n_repeats, random_state=seed)
    return clone(partition).set_params(regressor=regressor.set_params(**folding))


def with_folding(partition: Partition, **folding: Any) -> Partition:
    """Return the partition with the folds of a regressor that cross-fits itself set."""
    if not isinstance(partition, OrderedPartition):
        return partition
    regressor = clone(partition.regressor_template())
    return (
        partition.set_params(regressor=regressor.set_params(**folding))
        if cross_fits_itself(regressor)
        else partition
    )


def cross_fits_itself(regressor: Any) -> bool:
    """Whether a regressor offers its own out-of-fold values once fitted."""
    return isinstance(regressor, (CrossFitted, StackedQuantile))
