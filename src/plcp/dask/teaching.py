"""How the rows of a cluster teach a partition: a sample on one worker, or rows where they lie."""

import os
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from plcp.blocks.passes import Block, Passes
from plcp.blocks.sample import drawn, in_hash_order, joined, not_drawn
from plcp.dask.cluster import Spread
from plcp.dask.collections import check_columns
from plcp.dask.learners import anew, evidence_of, index_of, learner_of, teach_models
from plcp.quantiles import FloatArray
from plcp.rows import count
from plcp.thresholds import PLCP
from plcp.thresholds.blockwise import teach, with_index


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
    local = anew(rule, partition=anew(rule.partition, index=clone(models[0])))
    taught = with_index(local, index_of(models, X))
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
        rule, index = teach(rule, X, scores)
    return rule, (index, scores)


def _evidence(X: Any, scores: FloatArray, rule: PLCP) -> Block:
    """Evidence of rows that have not taught the rule."""
    index = rule.partition_.predict_index(X) if count(X) else np.empty(0)
    return index, scores
