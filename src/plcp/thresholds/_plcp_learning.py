"""How PLCP learns its partition: from pairs, out of fold, with a number of groups it chooses."""

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from plcp._folds import (
    Fold,
    copy_ids,
    given_folds,
    mean_copies,
    share_of_copies,
    shuffled_folds,
    split_rows,
)
from plcp._rows import take
from plcp._validation import effective_rows
from plcp.exceptions import CollapseWarning
from plcp.groups.clusters import check_enough, check_whole, independent_rows
from plcp.partitions.base import Partition, likeliest, merge_columns
from plcp.partitions.crossfit import CrossFittedPartition
from plcp.partitions.ordered import OrderedPartition, interval_of
from plcp.quantiles import FloatArray, IntArray, excess_over, least_points, pinball_loss
from plcp.regressors.base import at_quantile, seeded
from plcp.regressors.crossfit import CrossFitted, repeats
from plcp.regressors.stacking import StackedQuantile


@dataclass(frozen=True)
class Pairs:
    """Calibration pairs (x, s) with their weights, and the folds listed for them, if any.

    ``clusters``: number of the group of each row, where rows belong together.
    """

    X: Any
    scores: FloatArray
    weights: FloatArray | None
    folds: list[Fold] | None = None
    clusters: IntArray | None = None

    @property
    def size(self) -> int:
        """Number of rows, of weighted ones the effective number (Kish)."""
        return int(effective_rows(len(self.scores), self.weights))

    @property
    def independent(self) -> float:
        """Number of rows that may be exchangeable: one of each cluster, or of copies."""
        n = independent_rows(len(self.scores), self.weights, self.clusters)
        return n / self.copies

    @cached_property
    def ids(self) -> IntArray:
        """An id for each row; no division separates those of one id: a cluster, or copies."""
        if self.clusters is not None:
            return np.unique(self.clusters, return_inverse=True)[1]
        return copy_ids(self.X, self.scores)

    @property
    def share_of_copies(self) -> float:
        """Share of the rows that are copies of others, which no division separates.

        None of them where clusters are divided, which do not ask for copies.
        """
        if self.clusters is not None:
            return 0.0
        return share_of_copies(self.ids)

    @property
    def copies(self) -> float:
        """Rows for each distinct one; clusters have weights instead."""
        return mean_copies(self.ids) if self.clusters is None else 1.0

    def take(self, rows: Any, folds: list[Fold] | None = None) -> "Pairs":
        """Return the pairs of some rows."""
        weights, clusters = (
            None if of_rows is None else of_rows[rows] for of_rows in (self.weights, self.clusters)
        )
        return Pairs(take(self.X, rows), self.scores[rows], weights, folds, clusters)

    def cut(self, share: float, rng: np.random.RandomState) -> tuple["Pairs", "Pairs"]:
        """Return two parts at random, ``share`` of the rows in the second, one id in one part."""
        first, second = split_rows(self.ids, share, rng)
        return self.take(first), self.take(second)


@dataclass(frozen=True)
class RowsInPartition:
    """Where rows fall in a partition, the prediction of its regressor, and scores if known.

    ``cells`` are intervals of the prediction (ordered partitions) or groups of the partition, of
    which the likeliest is given. ``memberships`` are None where each row is in one cell alone, so
    that n · m numbers are spared. ``new_row`` is what a new row counts among these.
    """

    cells: IntArray
    memberships: FloatArray | None
    predicted: FloatArray
    scores: FloatArray
    weights: FloatArray | None = None
    clusters: IntArray | None = None
    new_row: float = 1.0

    @property
    def independent(self) -> float:
        """Number of rows that may be exchangeable: one of each cluster, or of copies."""
        return independent_rows(len(self.scores), self.weights, self.clusters) / self.new_row

    def values(self, follow: bool) -> FloatArray:
        """What corrections are quantiles of: scores, or what they exceed the prediction by."""
        return excess_over(self.predicted, self.scores) if follow else self.scores

    def times(self, factor: float) -> Self:
        """Return the rows with predictions multiplied."""
        return self if factor == 1.0 else replace(self, predicted=factor * self.predicted)

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays: Any = {k: v[rows] for k, v in given.items() if isinstance(v, np.ndarray)}
        return replace(self, **arrays)

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
        return place_predicted(partition, partition._predict_quantile(X), pairs)
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


def _scores_of(pairs: Pairs | None) -> tuple[FloatArray, FloatArray | None, IntArray | None]:
    if pairs is None:
        return NO_SCORES, None, None
    return pairs.scores, pairs.weights, pairs.clusters


HELD_OUT = 0.2
ROWS_A_GROUP = 200
MOST_CONSTANTS = 64  # constants are a staircase: more steps, a closer fit
MOST_FOLLOWING = 20  # corrections of a regressor that follows the quantile by itself
FOLDS = 3
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

    Only the cuts are redone: the predictions stay as they are. Copies, rows of one id, are held out
    together.
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


ROWS_OF_EXACT_GROUP = 500
MOST_EXACT = 5


def exact_groups(n: float) -> int:
    """Number of groups that n held-out rows calibrate one by one: each is as noisy as few rows are.

    Examples
    --------
    >>> exact_groups(400), exact_groups(1800), exact_groups(100_000)
    (1, 3, 5)
    """
    return int(np.clip(n // ROWS_OF_EXACT_GROUP, 1, MOST_EXACT))


class Learned(NamedTuple):
    """A learned partition, the rows it was learned from, and those to calibrate with."""

    partition: Partition
    history: History
    training: RowsInPartition
    calibration: RowsInPartition

    def times(self, factor: float) -> "Learned":
        """Return the same with all predictions multiplied."""
        return self._replace(
            training=self.training.times(factor), calibration=self.calibration.times(factor)
        )


def learn_apart(
    rule: Any, partition: Partition, pairs: Pairs, held: Pairs | None, rng: np.random.RandomState
) -> Learned:
    """Learn a partition from some pairs, and place others in it for calibration, if there are."""
    if held is None:
        return learn(rule, partition, pairs, rng, most_groups(pairs.size))
    split_off = rule._mode == "split"
    m = exact_groups(held.independent) if split_off else most_groups(pairs.size)
    learned = learn(rule, partition, pairs, rng, m)
    placed = place(learned.partition, held.X, held)
    return learned._replace(calibration=replace(placed, new_row=held.copies))


SAFETY = 3  # times the least number of points a finite threshold needs, so that chance keeps it
LEAST_TO_LEARN = 100  # rows: from fewer, the default regressor learns a constant
LEAST_CLUSTERS = 20  # of rows that belong together: what fewer have in common is chance
SHARE_OF_SPLIT = 0.5
BLOCKS = range(3, 7)  # that rows may be divided into
SURE = 4  # blocks, if rows suffice, whatever the time: three leave a third of the rows unlearned
MOST_WORK = 1.0  # of rotation, relative to cross-fitting all rows


def points_needed(alpha: float, confidence: float | None = None) -> float:
    """Number of rows that a conformal quantile is read from: it stays finite if some are lacking.

    Examples
    --------
    >>> points_needed(0.1)
    27.0
    """
    return float(SAFETY * least_points(alpha, confidence))


def held_out_share(n: float, alpha: float, confidence: float | None = None) -> float:
    """Share of n rows that one threshold is calibrated on: n^(4/5) of them, if they suffice.

    Examples
    --------
    >>> [round(held_out_share(n, 0.1), 2) for n in (300, 2000, 50_000)]
    [0.32, 0.22, 0.11]
    """
    return min(max(n**0.8, points_needed(alpha, confidence)) / n, 1.0)


def block_count(n: float, alpha: float, n_repeats: int) -> int:
    """Number of blocks to rotate: six, or as many as the rows and the time allow.

    Rotation fits a model for each two of M blocks on the rows of the others: (M - 1)(M - 2)n/2 rows
    in all, where cross-fitting in three folds fits 2n in each of its repeats.

    Examples
    --------
    >>> block_count(10_000, 0.1, 5), block_count(50_000, 0.1, 2), block_count(90, 0.1, 5)
    (6, 4, 3)
    """
    most = max(M for M in BLOCKS if M <= SURE or MOST_WORK * 4 * n_repeats >= (M - 1) * (M - 2))
    return int(min(most, n // points_needed(alpha)))


def too_few_to_learn(rule: Any, alpha: float, pairs: Pairs) -> bool:
    """Whether rows held out would be too few, or leave too few to learn a partition from."""
    if rule._taught:
        return False
    if rule._mode == "held-out" and rule.calibration_size == "auto":
        share = held_out_share(pairs.independent, alpha, rule.confidence)
        return _too_few_left(pairs, 1 - share)
    if rule._mode == "rotate" and rule.cv == "auto":
        blocks = block_count(pairs.independent, alpha, max(BLOCKS))
        return blocks < min(BLOCKS) or _too_few_left(pairs, 1 - 1 / blocks)
    # blocks that were given, or their number, must each have a finite threshold
    return rule._mode == "rotate" and _rows_of_block(pairs, rule.cv) < least_points(alpha)


def _rows_of_block(pairs: Pairs, cv: Any) -> float:
    """Number of rows that may be exchangeable in the smallest block."""
    if pairs.folds is None:
        return pairs.independent // cv
    return min(pairs.take(hold).independent for _, hold in pairs.folds)


def _too_few_left(pairs: Pairs, share: float) -> bool:
    """Whether a share of the rows, or of their clusters, is too few to learn from.

    How many rows clusters have says nothing here: the new one's number of rows would belong to it.
    """
    least = LEAST_TO_LEARN if pairs.clusters is None else LEAST_CLUSTERS
    return share * pairs.independent < least


def held_out_part(
    rule: Any, alpha: float, pairs: Pairs, rng: np.random.RandomState
) -> tuple[Pairs, Pairs]:
    """Rows to learn from, and rows to calibrate on at alpha and larger ones."""
    share = rule.calibration_size
    if share == "auto":
        share = (
            SHARE_OF_SPLIT
            if rule._mode == "split"
            else held_out_share(pairs.independent, alpha, rule.confidence)
        )
    return pairs.cut(share, rng)


def rotated_blocks(
    partition: Partition, pairs: Pairs, alpha: float, cv: Any, seed: int
) -> list[Fold]:
    """Divide rows into blocks: for each, the rows outside and those inside."""
    if pairs.folds is not None:
        n, held = len(pairs.scores), np.concatenate([hold for _, hold in pairs.folds])
        once = np.array_equal(np.sort(held), np.arange(n)) and len(pairs.folds) >= min(BLOCKS)
        if not once or any(len(learn) + len(hold) < n for learn, hold in pairs.folds):
            raise ValueError(
                'calibration="rotate" needs at least three folds in cv, each row held out once and '
                "learned from otherwise: give a splitter such as KFold(6) or GroupKFold(6), or a "
                'number; calibration="cross" takes other folds'
            )
        return pairs.folds
    if cv == "auto":
        n = int(pairs.independent)
        cv = block_count(n, alpha, repeats_of(partition, n))
    return divide(pairs, cv, seed)


def divide(pairs: Pairs, n_folds: int, seed: Any) -> list[Fold]:
    """Folds of the pairs, drawn at random, in which rows of one id stay together."""
    if pairs.clusters is not None:
        check_enough(int(pairs.independent), n_folds)
    return shuffled_folds(pairs.ids, n_folds, seed)


def folds_of_clusters(
    partition: Partition, pairs: Pairs, cv: Any, rng: np.random.RandomState
) -> list[Fold]:
    """Folds of the pairs that keep clusters whole, as often repeated as those of rows would be."""
    folds = None if cv == "auto" else given_folds(cv, pairs.X, pairs.scores, groups=pairs.clusters)
    if folds is not None:
        check_whole(pairs.clusters, folds)
        return folds
    times = range(repeats_of(partition, pairs.size))
    seeds = [rng.randint(np.iinfo(np.int32).max) for _ in times]
    return [fold for seed in seeds for fold in divide(pairs, FOLDS if cv == "auto" else cv, seed)]


def repeats_of(partition: Partition, n: int) -> int:
    """How often cross-fitting would divide n rows for this partition."""
    if not isinstance(partition, OrderedPartition):
        return 1
    regressor = partition.regressor_template()
    own = getattr(regressor, "fold_repeats", getattr(regressor, "n_repeats", "auto"))
    return repeats(own, n)


def without_block(pairs: Pairs, blocks: list[Fold], k: int) -> tuple[Pairs, Pairs]:
    """Pairs outside block k, each other block one of their folds, and those of block k.

    No model of these folds has seen block k: it is left out beside the fold that is held out.
    """
    held = blocks[k][1]
    kept = np.setdiff1d(np.arange(len(pairs.scores)), held)
    places = [np.searchsorted(kept, hold) for j, (_, hold) in enumerate(blocks) if j != k]
    others = [np.delete(np.arange(len(kept)), place) for place in places]
    return pairs.take(kept, [*zip(others, places, strict=True)]), pairs.take(held)


def learn(
    rule: Any, partition: Partition, pairs: Pairs, rng: np.random.RandomState, n_groups: int
) -> Learned:
    """Learn from all pairs, which calibrate too, each placed by models that have not seen it.

    With ``calibration`` "split" or "joint" they are placed by a model that has. ``n_groups`` are
    those of a regressor that thresholds follow, if their number is to be chosen.
    """
    cross = rule._mode not in ("split", "joint")
    cut_later = cross and isinstance(partition, OrderedPartition)
    search = rule.n_groups == "auto" and not rule._follow
    history: History = []
    if search and not cut_later:
        m, history = choose_by_refitting(partition, pairs, rng)
        partition.set_params(n_groups=m)
    elif rule.n_groups == "auto":
        partition.set_params(n_groups=n_groups)
    cv: Any = pairs.folds
    if cv is None and pairs.clusters is not None:
        cv = folds_of_clusters(partition, pairs, rule.cv, rng)
    elif cv is None:
        cv = FOLDS if rule.cv == "auto" else rule.cv
    folding = {"cv": cv, "n_jobs": rule.n_jobs, "verbose": rule.verbose}
    if cross:
        partition, training = learn_crosswise(partition, pairs, rng, **folding)
    else:
        partition = with_folding(partition, **folding)
        partition.fit(pairs.X, pairs.scores, pairs.weights)
        training = place(partition, pairs.X, pairs)
    if search and isinstance(partition, OrderedPartition) and cut_later:
        partition, history = choose_by_cutting(partition, training, pairs.ids, rng)
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
        regressor = partition.regressor_
        forget_folds(partition.regressor, regressor, *getattr(regressor, "members_", ()))
        return partition, place_predicted(partition, partition.learned_quantile(pairs.X), pairs)
    crossed = CrossFittedPartition(partition, random_state=rng, **folding)
    crossed.fit(pairs.X, pairs.scores, pairs.weights)
    forget_folds(crossed)
    return crossed, place_soft(crossed, crossed.out_of_fold_, pairs)


def forget_folds(*estimators: Any) -> None:
    """Keep the number of folds in place of their rows, which would outgrow the models."""
    for estimator in estimators:
        if isinstance(estimator.cv, list):
            estimator.set_params(cv=len(estimator.cv))


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
