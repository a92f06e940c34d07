"""PLCP on Dask: a partition learned from a sample or in place, thresholds counted on all rows."""

import math
import os
from functools import partial
from typing import Any, Self, cast

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
from plcp._validation import check_predictions, check_some, feature_errors, takes_nan
from plcp.dask.cluster import DaskBlocks, client_of, clone_connected
from plcp.dask.collections import (
    blockwise,
    check_categories,
    check_columns,
    check_part_scores,
    meta_of,
    pairs_of,
)
from plcp.dask.rules import DaskRule
from plcp.out_of_core.passes import Block, Passes
from plcp.out_of_core.samples import (
    concatenate_blocks,
    fold_of,
    in_hash_order,
    largest_draw,
    not_sampled,
    sampled,
    summarise,
)
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import FloatArray, conformal_rank
from plcp.regressors.crossfit import CrossFitted, average_linear
from plcp.thresholds import PLCP
from plcp.thresholds._plcp_blocks import (
    calibrate_blocks,
    count_rows,
    learn_without_thresholds,
    with_regressor,
)
from plcp.thresholds._plcp_learning import SHARE_OF_SPLIT, held_out_share
from plcp.thresholds.guarantees import copies_guarantee

CALIBRATIONS = ("cross", "held-out", "split")


class DaskPLCP(DaskRule):
    """``PLCP`` for rows on a cluster: a sample learns the partition, all rows give thresholds.

    The partition is learned on one worker from at most ``sample_size`` rows, chosen by a hash of
    their content. Thresholds are exact conformal ranks of all rows, found by counting. The result
    depends on the rows alone: not on their order, the chunks or the number of workers, except for
    the last bits of a regressor that multiplies matrices, such as ``Ridge`` or a network, whose
    predictions depend on the number of rows in a block.

    With ``calibration="cross"`` and up to ``sample_size`` rows the result equals that of ``PLCP``
    on ``plcp.out_of_core.samples.in_hash_order(X, scores, random_state)``. With more rows, rows
    that are equal in all of X and in the score are distinguished only within a part, so that other
    chunks may choose another sample.

    Parameters
    ----------
    partition : OrderedPartition or None, default=None
        As in ``PLCP``. A regressor with ``to_local``, such as
        ``lightgbm.DaskLGBMRegressor(objective="quantile")``, is fitted to the sample in place, on
        all workers. Its trees depend on which worker holds which rows; the thresholds given the
        trees do not.
    n_groups, alpha, within, calibration_size, cv :
        As in ``PLCP``.
    calibration : {"cross", "held-out", "split"}, default="cross"
        As in ``PLCP``. "held-out" and "split": only rows outside of the sample give thresholds;
        they are the share ``calibration_size`` of all rows, or more where the sample is smaller.
        The guarantee is exact if no two parts hold the same row and score: such copies are sampled
        together, and ``guarantee_`` states it where any are found.
    sample_size : int, default=1_000_000
        Largest number of rows that the partition is learned from (plus one for each further part
        that holds a copy of the last of them).
    random_state : int, default=0
        Seed of the sample, folds and models.
    client : distributed.Client or None, default=None
        The client that computes; None: the current client, or Dask's own threads without any.
    verbose : bool, default=False
        Show a progress bar while the partition is learned.

    Attributes
    ----------
    partition_, thresholds_, corrections_, n_groups_, group_sizes_, history_, guarantee_ :
        As in ``PLCP``.

    Examples
    --------
    >>> import dask.array as da
    >>> from plcp.dask import DaskPLCP
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
        calibration_size: float | str = "auto",
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
        """Learn groups and thresholds from features ``X`` and scores ``y``, Dask collections."""
        rule = self._local_rule()
        check_columns(rule, X, reset=True)
        check = partial(check_part, allow_nan=takes_nan(rule))
        pairs = pairs_of(X, y, client_of(self), check)
        summary, draws = summarise(pairs, self.random_state)
        n = summary.n
        check_some(n)
        if conformal_rank(n, self.alpha) > n:
            self._store(pairs.fetch(pairs.gather(_fit_locally, rule)))
            return self
        largest = largest_draw(draws, self._training_size(n), n)
        del draws  # frees the workers' memory before the partition is learned
        rule, training, others = learn(rule, X, pairs, largest)
        all_rows = others.beside(*training.blocks)
        found = all_rows.total(count_rows)
        if found != n:  # some rows would be in training and calibration, or in neither
            raise ValueError(
                f"X and y gave {n} rows at first and {found} later, so they change whenever they "
                "are computed: persist() both, or give a seed to what draws them"
            )
        if self.calibration != "cross":
            calibrate_blocks(rule, training, others, summary.least)
            rule.guarantee_ = copies_guarantee(rule.guarantee_, summary.shared)
        else:
            calibrate_blocks(rule, all_rows, all_rows, summary.least)
        self._store(rule)
        return self

    def groups(self, X: Any) -> Any:
        """Learned group of each row, as numbered in ``thresholds_``; lazy."""
        check_is_fitted(self, "rule_")
        check_columns(self.rule_, X, reset=False)
        return blockwise(self.rule_.groups, X, dtype=np.intp, name="group")

    @property
    def n_groups_(self) -> int:
        """Number of groups."""
        return len(self.thresholds_)

    def _local_rule(self) -> PLCP:
        """Return the ordinary rule with the same parameters, which it validates."""
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

    def _training_size(self, n: int) -> int:
        """Return how many of n rows the partition is learned from."""
        share = 0.0 if self.calibration_size == "auto" else float(self.calibration_size)
        if not share:
            share = SHARE_OF_SPLIT if self.calibration == "split" else held_out_share(n, self.alpha)
        free = n if self.calibration == "cross" else n - math.ceil(share * n)
        if free == 0 and self.calibration_size != "auto":
            raise ValueError(
                f"calibration_size={self.calibration_size} leaves none of {n} rows to learn the "
                "partition: give a smaller share, or more rows"
            )
        return min(free, self.sample_size)


def check_part(X: Any, scores: Any, allow_nan: bool) -> FloatArray:
    """Return finite scores of one part; raise for features that no regressor accepts."""
    if isinstance(X, np.ndarray) and len(X):
        finite = "allow-nan" if allow_nan else True
        with feature_errors(X):
            check_array(X, dtype="numeric", ensure_all_finite=finite, input_name="X")
    return check_part_scores(X, scores)


def _in_order(blocks: list[Block], seed: int) -> Block:
    X, scores = concatenate_blocks(blocks)
    return in_hash_order(X, scores, seed)


def _fit_locally(blocks: list[Block], rule: PLCP) -> PLCP:
    return rule.fit(*_in_order(blocks, rule.random_state))


def learn(
    rule: PLCP, X: Any, pairs: DaskBlocks, largest: float
) -> tuple[PLCP, DaskBlocks, DaskBlocks]:
    """Learn the partition from the rows of ``pairs``, blocks of X and scores, up to a draw.

    Returns the rule, and blocks of predictions and scores: of these rows (predicted out of fold
    with ``calibration="cross"``), and of all others.
    """
    choice = rule.random_state, largest
    if distributed_regressor(rule) is None:
        # In steps, so that the blocks are released before the partition is learned.
        sample = (pairs if largest == 1.0 else pairs.keep(sampled, *choice)).gather(
            _in_order, rule.random_state
        )
        learned: Any = DaskBlocks([sample], pairs.client).gather(_learn_sample, rule)
        reference, training = learned[0], DaskBlocks([learned[1]], pairs.client)
    else:
        rows = pairs if largest == 1.0 else pairs.then(sampled, *choice)
        reference, training = _learn_in_place(rule, X, rows)
    others = DaskBlocks([], pairs.client)
    if largest < 1.0:
        unused = pairs.then(not_sampled, *choice)
        others = cast(DaskBlocks, unused.keep(_predicted, reference))
    return pairs.fetch(reference), training, others


def _predicted(X: Any, scores: FloatArray, rule: PLCP) -> Block:
    """Predictions and scores of rows that the partition was not learned from."""
    return rule.partition_.predict_quantile(X) if count(X) else np.empty(0), scores


def _learn_sample(blocks: list[Block], rule: PLCP) -> tuple[PLCP, Block]:
    """Return the rule with its partition learned from one block, and that block's predictions."""
    ((X, scores),) = blocks
    # The other workers are idle, so OpenMP may use all cores; matrix products use one thread, which
    # makes their sums independent of the worker.
    with threadpool_limits({"openmp": os.cpu_count(), "blas": 1}):
        rule, predicted = learn_without_thresholds(rule, X, scores)
    return rule, (predicted, scores)


def distributed_regressor(rule: PLCP) -> Any:
    """Return the rule's regressor if it is fitted to Dask collections, and None otherwise."""
    regressor = None if rule.partition is None else rule.partition.regressor
    return regressor if hasattr(regressor, "to_local") else None


def _learn_in_place(rule: PLCP, X: Any, rows: Passes) -> tuple[PLCP, DaskBlocks]:
    """Fit a distributed regressor, once for each fold that it leaves out, where the rows are."""
    folds = [*range(rule.cv)] if rule.calibration == "cross" else [None]
    models = [_fit_without_fold(rule, X, rows, fold) for fold in folds]
    regressor = models[0]
    if len(models) > 1:
        regressor = CrossFitted(clone(models[0]), cv=len(models), n_repeats=1)
        regressor.models_, regressor.history_ = average_linear(models), []
        check_columns(regressor, X, reset=True)
    partition = clone_connected(rule.partition, regressor=clone(models[0]))
    learned = with_regressor(clone_connected(rule, partition=partition), regressor)
    for estimator in (learned, learned.partition_):
        check_columns(estimator, X, reset=True)
    return learned, cast(DaskBlocks, rows.keep(predict_out_of_fold, models, rule.random_state))


def _fit_without_fold(rule: PLCP, X: Any, rows: Passes, fold: int | None) -> Any:
    """Return a local model, fitted to the rows of all other folds; None: of all folds."""
    regressor = distributed_regressor(rule)
    given = regressor.get_params(deep=False)
    is_quantile = given.get("objective") == "quantile" and "alpha" not in given
    regressor = clone_connected(regressor, **({"alpha": 1 - rule.alpha} if is_quantile else {}))
    left = cast(DaskBlocks, rows.keep(_other_folds, fold, rule.cv, rule.random_state, meta_of(X)))
    with default_client(left.client).as_current():  # LightGBM computes on the current client
        return regressor.fit(*_collections(X, left.blocks)).to_local()


def _other_folds(
    X: Any, scores: FloatArray, fold: int | None, n_folds: int, seed: int, like: Any
) -> Block:
    check_categories(X, like)
    if fold is None:
        return X, scores
    rows = np.flatnonzero(fold_of(hash_rows(X, scores, seed), n_folds) != fold)
    return take(X, rows), scores[rows]


def _collections(X: Any, blocks: list[Any]) -> tuple[Any, Array]:
    """Features and scores of blocks as Dask collections of the same kind as X."""
    features, scores = ([block[i] for block in blocks] for i in range(2))
    y = concatenate([from_delayed(part, (math.nan,), float) for part in scores])
    meta = meta_of(X)
    if hasattr(meta, "columns"):
        return frame_from_delayed(features, meta=meta, verify_meta=False), y
    shape = math.nan, *meta.shape[1:]
    return concatenate([from_delayed(part, shape, meta.dtype) for part in features]), y


def predict_out_of_fold(X: Any, scores: FloatArray, models: list[Any], seed: int) -> Block:
    """Predictions of training rows, each by the model not fitted to it, and their scores."""
    if len(models) == 1 and len(scores):
        return check_predictions(models[0].predict(X), len(scores)), scores
    folds, predicted = fold_of(hash_rows(X, scores, seed), len(models)), np.empty(len(scores))
    for fold, model in enumerate(models):
        own = np.flatnonzero(folds == fold)
        if len(own):
            predicted[own] = check_predictions(model.predict(take(X, own)), len(own))
    return predicted, scores
