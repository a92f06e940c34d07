"""What is measured of each method on the same rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp._folds import Fold
from plcp.metrics.binomial import clopper_pearson
from plcp.metrics.ert import default_classifier, excess_risk, predict_coverage
from plcp.metrics.measure import Measure, mean_and_error
from plcp.quantiles import IntArray
from plcp.regressors.encoding import TableEncoder

BLOCKS = 5  # of rows, each judged by what all rows before it show
LEAST_ROWS = 30  # of a group, among rows that choose the worst
WORST = (
    "The interval holds the coverage of the groups that the rows before each block show to be "
    "covered least: the worst group may be worse, as it may be another."
)


def conditional_errors(
    X: Any,
    covered: Mapping[str, NDArray[np.bool_]],
    alpha: float,
    *,
    ids: IntArray,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Measure]:
    """ERT in L1 of each method, all with the same blocks of rows and the same classifier."""
    encoder = TableEncoder().fit(X)
    X, classifier = encoder.transform(X), default_classifier(seed, encoder.categorical_)
    options: Any = {"classifier": classifier, "cv": BLOCKS, "random_state": seed, "ids": ids}
    measured: dict[bytes, Measure] = {}  # methods that give the same sets are judged once
    for hits in covered.values():
        if hits.tobytes() not in measured:
            predicted = predict_coverage(X, hits, **options)
            one = excess_risk(predicted, hits, alpha, "L1", confidence=confidence)
            measured[hits.tobytes()] = one
    return {name: measured[hits.tobytes()] for name, hits in covered.items()}


def worst_group(
    covered: NDArray[np.bool_],
    names: Sequence[str],
    members: NDArray[np.bool_],
    blocks: Sequence[Fold],
    confidence: float = 0.95,
) -> Measure | None:
    """Coverage of the group that is covered least; None if all groups are small.

    The smallest of noisy shares is too low. So rows choose and others measure, as in
    `plcp.metrics.ert`: the group of a block is the one whose bound from above is lowest among the
    rows before it, the bound of Clopper and Pearson; coverage is that of the block's rows in its
    group, all blocks together. The table has the group of each block, and how many rows it has
    there.

    The terms of rows are linear in them: those of a group of share p have
    θ + (covered - θ) / p, others θ, the coverage itself.

    Examples
    --------
    >>> from plcp.metrics.ert import blocks_after_others
    >>> x = np.arange(1000)
    >>> covered = (x >= 200) | (x % 2 == 0)  # half of the first fifth
    >>> blocks = list(blocks_after_others(x, 5, 0))
    >>> low = x < 200
    >>> measure = worst_group(covered, ["low", "high"], np.column_stack([low, ~low]), blocks)
    >>> measure.table["group"][-1], bool(measure.low < 0.5 < measure.high)
    (np.str_('low'), True)
    """
    chosen, tested = np.zeros((2, len(covered)), dtype=bool)
    groups, counts = [], []
    for known, block in blocks:
        n, hits = members[known].sum(axis=0), members[known][covered[known]].sum(axis=0)
        if n.max(initial=0) < LEAST_ROWS:
            continue
        high = np.where(n >= LEAST_ROWS, clopper_pearson(hits, n, confidence)[1], np.inf)
        worst = int(np.argmin(high))
        own = block[members[block, worst]]
        chosen[own], tested[block] = True, True
        groups.append(str(names[worst]))
        counts.append((len(own), int(covered[own].sum())))
    if not chosen.any():
        return None
    rows, held = np.array(counts).sum(axis=0).tolist()
    share, estimate = rows / int(tested.sum()), held / rows
    low, high_end = (float(end) for end in clopper_pearson(held, rows, confidence))
    terms = np.where(tested, estimate, 0.0)
    terms[chosen] += (covered[chosen] - estimate) / share
    _, error, _ = mean_and_error(terms, tested.astype(float))
    return Measure(
        "coverage of the worst group",
        estimate,
        low,
        high_end,
        confidence,
        error,
        exact=False,
        meaning=WORST,
        table={"group": np.array(groups), "n": np.array(counts)[:, 0]},
        terms=terms,
        weights=tested.astype(float),
        step=1 / share,
    )
