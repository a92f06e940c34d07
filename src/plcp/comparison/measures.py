"""What is measured of each method on the same rows, and which methods may be the best."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp._folds import Fold
from plcp._rows import is_frame
from plcp.metrics.binomial import clopper_pearson
from plcp.metrics.ert import default_classifier, excess_risk, predict_coverage
from plcp.metrics.groups import Grouping
from plcp.metrics.measure import Measure, mean_measure, paired_difference, paired_terms
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.encoding import TableEncoder

BLOCKS = 5  # of rows, each judged by what all rows before it show
LEAST_ROWS = 50  # of a group, among rows that choose the worst
SIZE = "The interval holds the mean size of the sets of new rows."
SECONDS = "The interval holds the mean time of a fold, fit and prediction, on a machine as busy."
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
    categorical = None
    if is_frame(X):
        encoder = TableEncoder().fit(X)
        X, categorical = encoder.transform(X), encoder.categorical_
    classifier = default_classifier(seed, categorical)
    options: Any = {"classifier": classifier, "cv": BLOCKS, "random_state": seed, "ids": ids}
    return {
        name: excess_risk(
            predict_coverage(X, hits, **options), hits, alpha, "L1", confidence=confidence
        )
        for name, hits in covered.items()
    }


def worst_group(
    covered: NDArray[np.bool_],
    groups: Grouping,
    blocks: list[Fold],
    confidence: float = 0.95,
) -> tuple[Measure, str] | None:
    """Coverage of the group that is covered least, and its name; None if all groups are small.

    The smallest of noisy shares is too low. So rows choose and others measure, as in
    `plcp.metrics.ert`: the group of a block is the one whose bound from above is lowest among the
    rows before it, the bound of Clopper and Pearson; coverage is that of the block's rows in its
    group, all blocks together. The name is that of the last block's group, chosen by most rows.

    The terms of rows are linear in them: those of a group of share p have
    θ + (covered - θ) / p, others θ, the coverage itself.

    Examples
    --------
    >>> from plcp.metrics import quantile_bins
    >>> from plcp.metrics.ert import blocks_after_others
    >>> x = np.arange(1000) / 1000
    >>> covered = (x > 0.2) | (np.arange(1000) % 2 == 0)  # half of the first fifth
    >>> blocks = list(blocks_after_others(np.arange(1000), 5, 0))
    >>> measure, name = worst_group(covered, quantile_bins(x, 5), blocks)
    >>> name, bool(measure.low < 0.5 < measure.high)
    ('[0, 0.199]', True)
    """
    chosen = np.zeros(len(covered), dtype=bool)
    tested = np.zeros(len(covered), dtype=bool)
    name = ""
    for known, block in blocks:
        before = np.zeros(len(covered))
        before[known] = 1.0
        n, hits = groups.tally(covered, before)
        if n.max(initial=0) < LEAST_ROWS:
            continue
        high = np.where(n >= LEAST_ROWS, clopper_pearson(hits, n, confidence)[1], np.inf)
        worst = int(np.argmin(high))
        own = np.zeros(len(covered), dtype=bool)
        member = groups.codes == worst
        own[member if groups.rows is None else groups.rows[member]] = True
        chosen[block] = own[block]
        tested[block] = True
        name = str(groups.names[worst])
    if not chosen.any():
        return None
    n, hits = int(chosen.sum()), int(covered[chosen].sum())
    share, estimate = n / tested.sum(), hits / n
    low, high = (float(end) for end in clopper_pearson(hits, n, confidence))
    terms = np.full(len(covered), estimate)
    terms[chosen] += (covered[chosen] - estimate) / share
    error = float(terms[tested].std() / np.sqrt(tested.sum()))
    measure = Measure(
        "coverage of the worst group",
        estimate,
        low,
        high,
        confidence,
        error,
        exact=False,
        meaning=WORST,
        terms=np.where(tested, terms, 0.0),
        weights=tested.astype(float),
    )
    return measure, name


def mean_of_sizes(size: FloatArray, confidence: float = 0.95) -> Measure:
    """Mean size of the sets."""
    return mean_measure(
        "mean size", size, meaning=SIZE, confidence=confidence, limits=(0.0, np.inf)
    )


def mean_of_seconds(seconds: FloatArray, confidence: float = 0.95) -> Measure:
    """Mean time of a fold."""
    return mean_measure(
        "seconds per fold",
        seconds,
        meaning=SECONDS,
        confidence=confidence,
        limits=(0.0, np.inf),
    )


def may_be_smallest(measures: Mapping[str, Measure], confidence: float = 0.95) -> list[str]:
    """Names of the methods that may have the smallest expectation, in the order of the estimates.

    A method is ruled out if another is smaller beyond chance: if the lower bound of their paired
    difference is above zero, where the bounds for all k - 1 others hold at once (Bonferroni). So
    the one that is smallest in truth is among those that remain with the given confidence,
    whichever it is and however many there are: nothing is lost by looking at the estimates first.

    References
    ----------
    Hsu (1984). Constrained simultaneous confidence intervals for multiple comparisons with the
    best. Annals of Statistics.

    Examples
    --------
    >>> from plcp.metrics import mean_size
    >>> size = np.arange(100.0)
    >>> sizes = {"a": size, "b": size + 1 + np.arange(100) % 2, "c": size + np.arange(100) % 2 * 1e-9}
    >>> may_be_smallest({name: mean_size(each) for name, each in sizes.items()})
    ['a']
    """
    terms = paired_terms(measures)
    weights = next(iter(measures.values())).weights
    each = 1 - 2 * (1 - confidence) / max(len(terms) - 1, 1)
    order = sorted(terms, key=lambda name: (measures[name].estimate, name))

    def is_beaten(name: str) -> bool:
        return any(
            paired_difference(terms[name], terms[other], weights, each).low > 0
            for other in order
            if measures[other].estimate < measures[name].estimate
        )

    return [name for name in order if not is_beaten(name)]
