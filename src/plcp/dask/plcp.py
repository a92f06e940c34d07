"""Indices that learn where the rows lie: lines, and LightGBM's trees."""

import math
import os
from typing import Any, NamedTuple, Self, cast

import numpy as np
from dask.array import Array, concatenate, from_delayed
from dask.dataframe import from_delayed as frame_from_delayed
from distributed import default_client
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from plcp._options import check_alpha, check_count, check_option
from plcp._rows import count, hash_rows, take
from plcp._validation import check_predictions, check_some, naming_the_boosted_regressor, takes_nan
from plcp.dask.cluster import Spread, client_of
from plcp.dask.collections import (
    blockwise,
    check_categories,
    check_columns,
    check_parts,
    pairs_of,
    promised,
)
from plcp.dask.linear import DaskLinearQuantile
from plcp.dask.rules import DaskRule
from plcp.out_of_core.linear import fit_folds, fit_line, fold_of
from plcp.out_of_core.passes import Block, Passes
from plcp.out_of_core.samples import (
    Look,
    drawn,
    in_hash_order,
    joined,
    largest_draw,
    look_at,
    not_drawn,
)
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import FloatArray, conformal_rank
from plcp.regressors.crossfit import CrossFitted, average_linear
from plcp.thresholds import PLCP
from plcp.thresholds._plcp_calibration import count_rows
from plcp.thresholds.guarantees import drawn_guarantee
from plcp.thresholds.plcp import calibrate, teach, with_regressor

Fold = int | None  # that a model has not seen; None: it has seen all rows given


def learner_of(rule: PLCP) -> Any:
    """Index of a rule that learns from collections of Dask, if it has one."""
    regressor = None if rule.partition is None else rule.partition.regressor
    return regressor if hasattr(regressor, "to_local") else None


def teach_models(rule: PLCP, X: Any, rows: Passes) -> list[Any]:
    """Local models of the regressor: one for each fold that it has not seen, or one of all rows.

    ``rows`` are blocks of X and scores.
    """
    regressor, level = learner_of(rule), 1 - rule.alpha
    crossed = rule.calibration == "cross"
    if hasattr(regressor, "quantile"):  # a line, which learns from blocks, all folds at once
        level = level if regressor.quantile is None else regressor.quantile
        if crossed:
            return [*fit_folds(rows, level, rule.cv, rule.random_state)]
        return [fit_line(rows, level, rule.random_state)]
    regressor = _at_level(regressor, level)
    folds: list[Fold] = [*range(rule.cv)] if crossed else [None]
    return [_taught_without(regressor, X, rows, fold, rule) for fold in folds]


def regressor_of(models: list[Any], X: Any) -> Any:
    """Index whose value is the mean of its fold models, or the one model's."""
    if len(models) == 1:
        return models[0]
    regressor = CrossFitted(clone(models[0]), cv=len(models), n_repeats=1)
    regressor.models_, regressor.history_ = average_linear(models), []
    check_columns(regressor, X, reset=True)
    return regressor


def evidence_of(X: Any, scores: FloatArray, models: list[Any], seed: int) -> Block:
    """Index of rows that taught, each by the model that has not seen it, and their scores."""
    if len(models) == 1:
        return (_asked(models[0], X) if len(scores) else np.empty(0)), scores
    folds, regressor = fold_of(hash_rows(X, scores, seed), len(models)), np.empty(len(scores))
    for fold, model in enumerate(models):
        own = np.flatnonzero(folds == fold)
        if len(own):
            regressor[own] = _asked(model, take(X, own))
    return regressor, scores


def _asked(model: Any, X: Any) -> FloatArray:
    return check_predictions(model.predict(X), count(X))


def _at_level(regressor: Any, level: float) -> Any:
    """Return the regressor at the level wanted, unless it has one of its own."""
    given = regressor.get_params(deep=False)
    wanted = given.get("objective") == "quantile" and "alpha" not in given
    return anew(regressor, alpha=level) if wanted else regressor


def anew(estimator: Any, **changed: Any) -> Any:
    """Return the estimator before any fit; a client among its options stays the same."""
    return type(estimator)(**{**estimator.get_params(deep=False), **changed})


def _taught_without(regressor: Any, X: Any, rows: Passes, fold: Fold, rule: PLCP) -> Any:
    """Local model, taught where the rows of other folds lie."""
    left = cast(Spread, rows.keep(_other_folds, fold, rule.cv, rule.random_state, promised(X)))
    with default_client(left.client).as_current():  # LightGBM asks for it
        return anew(regressor).fit(*_collections(X, left.blocks)).to_local()


def _other_folds(
    X: Any, scores: FloatArray, fold: Fold, n_folds: int, seed: int, like: Any
) -> Block:
    check_categories(X, like)
    if fold is None:
        return X, scores
    rows = np.flatnonzero(fold_of(hash_rows(X, scores, seed), n_folds) != fold)
    return take(X, rows), scores[rows]


def _collections(X: Any, blocks: list[Any]) -> tuple[Any, Array]:
    """Features and scores of blocks as collections of the kind that X is of."""
    features, scores = ([block[i] for block in blocks] for i in range(2))
    y = concatenate([from_delayed(part, (math.nan,), float) for part in scores])
    meta = promised(X)
    if hasattr(meta, "columns"):
        return frame_from_delayed(features, meta=meta, verify_meta=False), y
    shape = math.nan, *meta.shape[1:]
    return concatenate([from_delayed(part, shape, meta.dtype) for part in features]), y


class Taught(NamedTuple):
    """A rule with a partition, and evidence in blocks: of rows that taught, of others, of all."""

    rule: PLCP
    seen: Passes
    others: Passes
    all_rows: Passes


def taught_on_dask(rule: PLCP, X: Any, pairs: Spread, largest: float) -> Taught:
    """Teach a rule by the rows whose draw is no larger, of those in the collection X.

    Pairs are blocks of X and scores.
    """
    choice = rule.random_state, largest
    rows = pairs if largest == 1.0 else pairs.then(drawn, *choice)  # all need no draws
    if learner_of(rule) is None:
        reference, seen = _by_one_worker(rule, rows, pairs.client)
    else:
        reference, seen = _by_all_workers(rule, X, rows)
    if largest == 1.0:
        return Taught(pairs.fetch(reference), seen, Spread([], pairs.client), seen)
    others = pairs.then(not_drawn, *choice).keep(_evidence, reference)
    return Taught(pairs.fetch(reference), seen, others, others.beside(*seen.blocks))


def _by_one_worker(rule: PLCP, rows: Passes, client: Any) -> tuple[Any, Spread]:
    # In two steps, so that the blocks can go before the work begins.
    sample = rows.gather(_in_order, rule.random_state)
    taught: Any = Spread([sample], client).gather(_taught, rule)
    return taught[0], Spread([taught[1]], client)


def _by_all_workers(rule: PLCP, X: Any, rows: Passes) -> tuple[PLCP, Spread]:
    models = teach_models(rule, X, rows)
    local = anew(rule, partition=anew(rule.partition, regressor=clone(models[0])))
    taught = with_regressor(local, regressor_of(models, X))
    for estimator in (taught, taught.partition_):
        check_columns(estimator, X, reset=True)
    return taught, cast(Spread, rows.keep(evidence_of, models, rule.random_state))


def _in_order(blocks: list[Block], seed: int) -> Block:
    X, scores = joined(blocks)
    return in_hash_order(X, scores, seed)


def _taught(blocks: list[Block], rule: PLCP) -> tuple[PLCP, Block]:
    """Rule taught by the rows of the one block, and their evidence."""
    ((X, scores),) = blocks
    # The other workers wait for this one, and may have left it a single thread of OpenMP; products
    # of matrices are to add in the same order whatever the worker.
    with threadpool_limits({"openmp": os.cpu_count(), "blas": 1}):
        rule, regressor = teach(rule, X, scores)
    return rule, (regressor, scores)


def _evidence(X: Any, scores: FloatArray, rule: PLCP) -> Block:
    """Evidence of rows that have not taught the rule."""
    regressor = rule.partition_.predict_quantile(X) if count(X) else np.empty(0)
    return regressor, scores


CALIBRATIONS = ("cross", "split")


class DaskPLCP(DaskRule):
    """``PLCP`` learned from rows on a cluster: the same answer, to the last bit.

    At most ``sample_size`` rows teach the partition; they are drawn by what stands in them, and
    meet on one worker (a ``DaskLinearQuantile`` is taught by all, where they lie). Thresholds are
    read off all rows, by counting. What is learned depends on the rows alone: not on their order,
    nor on how they are cut into parts, nor on the number of workers (but for the last bits of an
    regressor that multiplies matrices, as ``Ridge`` and networks do: those depend on how many rows
    it is asked for at once). With
    ``calibration="cross"`` and a regressor that learns in memory, up to ``sample_size`` rows it is
    what ``PLCP`` learns from ``plcp.out_of_core.samples.in_hash_order(X, scores, random_state)``.
    Beyond, two rows that are equal in all of X and in the score may change that, as only copies in
    the same part are told apart.

    Parameters
    ----------
    partition : OrderedPartition or None, default=None
        As in ``PLCP``. An regressor that learns in memory is taught by the sample, on one worker; a
        ``DaskLinearQuantile`` by all rows, block by block, whatever ``sample_size``; a
        ``lightgbm.DaskLGBMRegressor(objective="quantile")`` by the sample, where it lies (its trees
        depend on which worker has which rows, thresholds given the trees do not).
    n_groups, alpha, within, calibration_size, cv :
        As in ``PLCP``.
    calibration : {"cross", "split"}, default="cross"
        As in ``PLCP``. "split": the rows that do not teach are the only ones to give thresholds;
        they are the share ``calibration_size`` of all rows, or more where the sample is small. That
        is exact where no two parts hold the same row and score: such copies are drawn together,
        and ``guarantee_`` says so where it finds any.
    sample_size : int, default=1_000_000
        How many rows teach the partition, at most (and one for each further part that holds a copy
        of the last of them); a ``DaskLinearQuantile`` learns from all.
    random_state : int, default=0
        Seed of the sample, folds and models.
    client : distributed.Client or None, default=None
        Who computes; None: the current client, or Dask's own threads without any.
    verbose : bool, default=False
        Show a progress bar where the partition is taught.

    Attributes
    ----------
    partition_, thresholds_, corrections_, n_groups_, group_sizes_, history_, guarantee_ :
        As in ``PLCP``.

    Examples
    --------
    >>> import dask.array as da
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(4000, random_state=0)
    >>> X, scores = da.from_array(task.X, chunks=(1000, 1)), da.from_array(task.scores, chunks=1000)
    >>> rule = DaskPLCP().fit(X, scores)
    >>> left, right = rule.predict(da.from_array([[-0.5], [0.5]])).compute()
    >>> bool(1.2 < right / left < 1.7)
    True
    """

    def __init__(
        self,
        partition: Any = None,
        n_groups: int | str = "auto",
        alpha: float = 0.1,
        *,
        calibration: str = "cross",
        within: str = "auto",
        calibration_size: float = 0.5,
        cv: int = 3,
        sample_size: int = 1_000_000,
        random_state: int = 0,
        client: Any = None,
        verbose: bool = False,
    ) -> None:
        self.partition = partition
        self.n_groups = n_groups
        self.alpha = alpha
        self.calibration = calibration
        self.within = within
        self.calibration_size = calibration_size
        self.cv = cv
        self.sample_size = sample_size
        self.random_state = random_state
        self.client = client
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn groups and thresholds from features ``X`` and scores ``y``, collections of Dask."""
        rule = self._unfitted()
        check_columns(rule, X, reset=True)
        pairs = pairs_of(X, y, client_of(self), CheckPart(takes_nan(rule)))
        look, numbers = look_at(pairs, self.random_state)
        check_some(look.n)
        if conformal_rank(look.n, self.alpha) > look.n:
            rule = pairs.fetch(pairs.gather(_fitted, rule))
        else:
            largest = largest_draw(numbers, self._rows_to_teach(rule, look.n), look.n)
            del numbers  # they can go before the work begins
            rule = self._calibrated(taught_on_dask(rule, X, pairs, largest), look)
        self._learned(rule)
        return self

    def groups(self, X: Any) -> Any:
        """Learned group of each row, as numbered in ``thresholds_``, when it is asked for."""
        check_is_fitted(self, "rule_")
        check_columns(self.rule_, X, reset=False)
        return blockwise(self.rule_.groups, X, dtype=np.intp, name="group")

    @property
    def n_groups_(self) -> int:
        """Number of groups."""
        return len(self.thresholds_)

    def _unfitted(self) -> PLCP:
        """Return the ordinary rule with the same options, which then checks them."""
        check_alpha(self.alpha)
        check_option("calibration", self.calibration, CALIBRATIONS)
        check_count("sample_size", self.sample_size, 2)
        check_count("random_state", self.random_state, 0)
        if not isinstance(self.partition, OrderedPartition | None):
            raise ValueError(
                f"partition must be an OrderedPartition or None, got {self.partition!r}: other "
                "partitions learn in memory, with PLCP"
            )
        own, given = PLCP().get_params(deep=False), self.get_params(deep=False)
        rule = PLCP(**{name: given[name] for name in own if name in given})
        rule._check_options()
        return rule

    def _calibrated(self, taught: Taught, look: Look) -> PLCP:
        rule = taught.rule
        check_same_rows(look.n, taught.all_rows)
        if self.calibration == "split":
            calibrate(rule, taught.seen, taught.others, look.least)
            rule.guarantee_ = drawn_guarantee(rule, rule.guarantee_, look.together)
        else:
            calibrate(rule, taught.all_rows, taught.all_rows, look.least)
        return rule

    def _rows_to_teach(self, rule: PLCP, n: int) -> int:
        free = n if self.calibration == "cross" else n - math.ceil(self.calibration_size * n)
        if free == 0:
            raise ValueError(
                f"calibration_size={self.calibration_size} leaves none of {n} rows to teach the "
                "partition: give a smaller share, or more rows"
            )
        if isinstance(learner_of(rule), DaskLinearQuantile):  # sums over blocks: no row is kept
            return free
        return min(free, self.sample_size)


def check_same_rows(n: int, evidence: Passes) -> None:
    """Refuse rows that change from pass to pass: some would teach and calibrate, some neither."""
    found = evidence.total(count_rows)
    if found != n:
        raise ValueError(
            f"X and y gave {n} rows at first and {found} later, so they change whenever they are "
            "made: persist() both, or give a seed to what draws them"
        )


class CheckPart:
    """Scores of a part, after a look at its rows."""

    def __init__(self, allow_nan: bool) -> None:
        self.allow_nan = allow_nan

    def __call__(self, X: Any, scores: Any) -> FloatArray:
        """Return finite scores; refuse features that no regressor could take."""
        if isinstance(X, np.ndarray) and len(X):
            finite = "allow-nan" if self.allow_nan else True
            with naming_the_boosted_regressor():
                check_array(X, dtype="numeric", ensure_all_finite=finite, input_name="X")
        return check_parts(X, scores)


def _fitted(blocks: list[Block], rule: PLCP) -> PLCP:
    X, scores = joined(blocks)
    return rule.fit(*in_hash_order(X, scores, rule.random_state))
