"""What is measured of each method on the same rows, and which methods may be the best."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm as normal

from plcp._folds import Fold
from plcp._rows import is_frame
from plcp.metrics.binomial import clopper_pearson, holm
from plcp.metrics.compare import Comparison
from plcp.metrics.ert import default_classifier, excess_risk, predict_coverage
from plcp.metrics.groups import Grouping
from plcp.metrics.measure import (
    Difference,
    Measure,
    mean_and_error,
    mean_measure,
    paired_difference,
    paired_terms,
    skewed_mean,
)
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.encoding import TableEncoder

BLOCKS = 5  # of rows, each judged by what all rows before it show
LEAST_ROWS = 30  # of a group, among rows that choose the worst
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
    >>> from plcp.metrics import quantile_bins
    >>> from plcp.metrics.ert import blocks_after_others
    >>> x = np.arange(1000) / 1000
    >>> covered = (x > 0.2) | (np.arange(1000) % 2 == 0)  # half of the first fifth
    >>> blocks = list(blocks_after_others(np.arange(1000), 5, 0))
    >>> measure = worst_group(covered, quantile_bins(x, 5), blocks)
    >>> measure.table["group"][-1], bool(measure.low < 0.5 < measure.high)
    (np.str_('[0, 0.199]'), True)
    """
    everyone = np.arange(groups.n_rows) if groups.rows is None else groups.rows
    chosen, tested = np.zeros((2, len(covered)), dtype=bool)
    names, counts = [], []
    for known, block in blocks:
        before = np.zeros(len(covered))
        before[known] = 1.0
        n, hits = groups.tally(covered, before)
        if n.max(initial=0) < LEAST_ROWS:
            continue
        high = np.where(n >= LEAST_ROWS, clopper_pearson(hits, n, confidence)[1], np.inf)
        worst = int(np.argmin(high))
        own = np.intersect1d(block, everyone[groups.codes == worst])
        chosen[own], tested[block] = True, True
        names.append(str(groups.names[worst]))
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
        table={"group": np.array(names), "n": np.array(counts)[:, 0]},
        terms=terms,
        weights=tested.astype(float),
    )


def share_missed(coverage: Measure) -> Measure:
    """Turn a coverage into the share that is missed.

    Examples
    --------
    >>> from plcp.metrics import coverage
    >>> round(share_missed(coverage([True, True, True, False])).estimate, 3)
    0.25
    """
    terms: Any = coverage.terms
    return replace(
        coverage,
        name="share missed",
        estimate=1 - coverage.estimate,
        low=1 - coverage.high,
        high=1 - coverage.low,
        terms=1 - terms,
    )


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


def difference_of(measure: Measure, other: Measure, confidence: float = 0.95) -> Difference:
    """Paired difference of two measures of the same rows.

    Errors of methods that are much alike differ in few rows, or in none, and the spread of so few
    says little. As Bonett and Price do for proportions, some more rows are imagined, of which one
    method covers each that the other misses: z² / 4 gained and as many lost, about one of each at
    95 %. Means of sizes and times are compared as in `plcp.metrics.compare`.

    References
    ----------
    Bonett, Price (2012). Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data. Journal of Educational and Behavioral Statistics.

    Examples
    --------
    >>> from plcp.metrics import ert
    >>> x, covered = np.linspace([0.0], [1.0], 300), np.arange(300) % 10 > 0
    >>> measure = ert(x, covered)
    >>> [round(number, 4) for number in difference_of(measure, measure)]
    [0.0, -0.0136, 0.0136, 1.0]
    """
    terms = paired_terms({"one": measure, "other": other})
    weights = measure.weights
    step = max(_step_of(measure), _step_of(other))
    if step == 0:
        return paired_difference(terms["one"], terms["other"], weights, confidence)
    weights = np.ones(len(terms["one"])) if weights is None else weights
    imagined = normal.isf((1 - confidence) / 2) ** 2 / 4
    differences = terms["one"] - terms["other"]
    law = skewed_mean(
        np.append(differences, [step, -step]), np.append(weights, [imagined, imagined])
    )
    estimate = float(np.average(differences, weights=weights))
    return Difference(estimate, *law.interval(confidence), law.p_value())


def _step_of(measure: Measure) -> float:
    """Return what one more covered row adds to a sum of terms; 0 where terms are no counts."""
    if measure.name.startswith("ERT"):
        return 1.0
    if "group" in measure.table and measure.weights is not None:
        return float(measure.weights.sum() / measure.table["n"].sum())
    return 0.0


def differences(
    measures: Mapping[str, Measure], reference: str, confidence: float = 0.95
) -> Comparison:
    """Return the differences of all methods from one, as `plcp.metrics.compare` does."""
    one = measures[reference]
    found = {
        name: difference_of(measure, one, confidence)
        for name, measure in measures.items()
        if name != reference
    }
    corrected = holm([difference.p_value for difference in found.values()]).tolist()
    p_holm = dict(zip(found, corrected, strict=True))
    return Comparison(one.name, reference, confidence, dict(measures), found, p_holm)


def may_be_smallest(
    measures: Mapping[str, Measure],
    confidence: float = 0.95,
    *,
    floor: float | None = None,
    margin: float = 0.0,
) -> list[str]:
    """Names of the methods that may have the smallest expectation, in the order of the estimates.

    A method is ruled out if another is smaller beyond chance: if the lower bound of their paired
    difference is above zero, where the bounds for all k - 1 others hold at once (Bonferroni). So
    the one that is smallest in truth is among those that remain with the given confidence,
    whichever it is and however many there are: nothing is lost by looking at the estimates first.

    Of expectations below the ``floor`` none is smaller than another: a method is then ruled out
    only if its own lower bound is above the floor, too. An excess risk below zero, for one, is that
    of a classifier which predicts noise. With a ``margin`` of 0.05 a method is ruled out only if it
    is more than 5 % larger than another, beyond chance.

    References
    ----------
    Hsu (1984). Constrained simultaneous confidence intervals for multiple comparisons with the
    best. Annals of Statistics.

    Examples
    --------
    >>> from plcp.metrics import mean_size
    >>> size = np.arange(100.0)
    >>> sizes = {"a": size, "b": size + 1 + np.arange(100) % 2, "c": size[::-1]}
    >>> may_be_smallest({name: mean_size(each) for name, each in sizes.items()})
    ['a', 'c']
    >>> may_be_smallest({name: mean_size(each) for name, each in sizes.items()}, margin=0.1)
    ['a', 'c', 'b']
    """
    each = 1 - 2 * (1 - confidence) / max(len(measures) - 1, 1)
    order = sorted(measures, key=lambda name: (measures[name].estimate, name))

    def is_above_floor(one: Measure) -> bool:
        terms: Any = one.terms
        return floor is None or skewed_mean(terms, one.weights).interval(each)[0] > floor

    def is_beaten(one: Measure) -> bool:
        return any(
            difference_of(one, _larger(other, margin), each).low > 0
            for other in measures.values()
            if other.estimate < one.estimate
        )

    return [
        name for name in order if not (is_above_floor(measures[name]) and is_beaten(measures[name]))
    ]


def _larger(measure: Measure, margin: float) -> Measure:
    """Return a measure of which each term is larger by a share."""
    terms: Any = measure.terms
    return replace(measure, terms=(1 + margin) * terms) if margin else measure
