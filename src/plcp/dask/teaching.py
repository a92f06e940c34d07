"""How the rows of a cluster teach a partition: a sample on one worker."""

import os
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from plcp.blocks.passes import Block, Passes
from plcp.blocks.sample import drawn, in_hash_order, joined, largest_draw, not_drawn
from plcp.dask.cluster import Spread
from plcp.quantiles import FloatArray
from plcp.rows import count
from plcp.thresholds import PLCP
from plcp.thresholds.blockwise import teach


class Taught(NamedTuple):
    """A rule with a partition, and evidence in blocks: of the rows that taught, and of others."""

    rule: PLCP
    seen: Passes
    others: Passes
    all_rows: Passes


def teach_by_sample(rule: PLCP, pairs: Spread, n: int, size: int) -> Taught:
    """Teach a rule by ``size`` of n rows, which meet on one worker."""
    choice = rule.random_state, largest_draw(pairs, size, n, rule.random_state)
    taught = pairs.then(drawn, *choice).gather(_taught, rule)
    seen = Spread([taught[1]], pairs.client)
    if size == n:
        return Taught(pairs.fetch(taught[0]), seen, Spread([], pairs.client), seen)
    others = pairs.then(not_drawn, *choice).keep(_evidence, taught[0])
    return Taught(pairs.fetch(taught[0]), seen, others, others.beside(taught[1]))


def _taught(blocks: list[Block], rule: PLCP) -> tuple[PLCP, Block]:
    """Rule taught by all rows of the blocks, and their evidence."""
    X, scores = joined(blocks)
    blocks.clear()
    X, scores = in_hash_order(X, scores, rule.random_state)
    # The other workers wait for this one, and may have left it a single thread.
    with threadpool_limits(os.cpu_count(), "openmp"):
        rule, index = teach(rule, X, scores)
    return rule, (index, scores)


def _evidence(X: Any, scores: FloatArray, rule: PLCP) -> Block:
    """Evidence of rows that have not taught the rule."""
    index = rule.partition_.predict_index(X) if count(X) else np.empty(0)
    return index, scores
