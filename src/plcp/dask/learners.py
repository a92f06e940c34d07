"""Indices that learn where the rows lie: lines, and LightGBM's trees."""

import math
from typing import Any, cast

import numpy as np
from dask.array import Array, concatenate, from_delayed
from dask.dataframe import from_delayed as frame_from_delayed
from distributed import default_client
from sklearn.base import clone

from plcp.blocks.hashing import hash_rows
from plcp.blocks.linear import fit_folds, fit_line, fold_of
from plcp.blocks.passes import Block, Passes
from plcp.dask.cluster import Spread
from plcp.dask.collections import check_columns, promised
from plcp.dask.kinds import check_categories
from plcp.indices.crossfit import CrossFitted, average_linear
from plcp.quantiles import FloatArray
from plcp.rows import count, take
from plcp.thresholds import PLCP
from plcp.validation import check_index

Fold = int | None  # that a model has not seen; None: it has seen all rows given


def learner_of(rule: PLCP) -> Any:
    """Index of a rule that learns from collections of Dask, if it has one."""
    index = None if rule.partition is None else rule.partition.index
    return index if hasattr(index, "to_local") else None


def teach_models(rule: PLCP, X: Any, rows: Passes) -> list[Any]:
    """Local models of the index: one for each fold that it has not seen, or one of all rows.

    ``rows`` are blocks of X and scores.
    """
    index, level = learner_of(rule), 1 - rule.alpha
    crossed = rule.calibration == "cross"
    if hasattr(index, "quantile"):  # a line, which learns from blocks, all folds at once
        level = level if index.quantile is None else index.quantile
        if crossed:
            return [*fit_folds(rows, level, rule.cv, rule.random_state)]
        return [fit_line(rows, level, rule.random_state)]
    index = _at_level(index, level)
    folds: list[Fold] = [*range(rule.cv)] if crossed else [None]
    return [_taught_without(index, X, rows, fold, rule) for fold in folds]


def index_of(models: list[Any], X: Any) -> Any:
    """Index whose value is the mean of its fold models, or the one model's."""
    if len(models) == 1:
        return models[0]
    index = CrossFitted(clone(models[0]), cv=len(models), n_repeats=1)
    index.models_, index.history_ = average_linear(models), []
    check_columns(index, X, reset=True)
    return index


def evidence_of(X: Any, scores: FloatArray, models: list[Any], seed: int) -> Block:
    """Index of rows that taught, each by the model that has not seen it, and their scores."""
    if len(models) == 1:
        return (_asked(models[0], X) if len(scores) else np.empty(0)), scores
    folds, index = fold_of(hash_rows(X, scores, seed), len(models)), np.empty(len(scores))
    for fold, model in enumerate(models):
        own = np.flatnonzero(folds == fold)
        if len(own):
            index[own] = _asked(model, take(X, own))
    return index, scores


def _asked(model: Any, X: Any) -> FloatArray:
    return check_index(model.predict(X), count(X))


def _at_level(index: Any, level: float) -> Any:
    """Return the index at the level wanted, unless it has one of its own."""
    given = index.get_params(deep=False)
    wanted = given.get("objective") == "quantile" and "alpha" not in given
    return anew(index, alpha=level) if wanted else index


def anew(estimator: Any, **changed: Any) -> Any:
    """Return the estimator before any fit; a client among its options stays the same."""
    return type(estimator)(**{**estimator.get_params(deep=False), **changed})


def _taught_without(index: Any, X: Any, rows: Passes, fold: Fold, rule: PLCP) -> Any:
    """Local model, taught where the rows of other folds lie."""
    left = cast(Spread, rows.keep(_other_folds, fold, rule.cv, rule.random_state, promised(X)))
    with default_client(left.client).as_current():  # LightGBM asks for it
        return anew(index).fit(*_collections(X, left.blocks)).to_local()


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
