"""Coverage of the worst stratum."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plcp.metrics.bins import cut_bins, quantile_bins
from plcp.metrics.group_counts import count_groups, coverage_columns
from plcp.metrics.measure import Measure
from plcp.metrics.outcomes import check_covered, check_size
from plcp.validation import check_share


def feature_stratified_coverage(
    covered: ArrayLike,
    groups: Any,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Smallest coverage among the values of a feature: how the worst stratum fares.

    The smallest of noisy shares is too low on average, the more so the more strata there are and
    the fewer rows they hold; the interval is not misled by that, since its ends are the smallest
    of bounds that hold for all strata at once. A stratum of few rows may be as bad as it likes, and
    pulls the lower end down: join small ones. The interval is exact for strata fixed beforehand.
    Bins whose edges come from the same rows have no coverage of their own to speak of: read it as
    one for the smallest mean of P(covered | x) over the rows of a bin.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    groups : labels, masks, mapping or Grouping
        As in `coverage_by_group`: of a column of labels each value is a stratum, and a column of
        numbers goes through `quantile_bins` or `cut_bins` first. Groups without rows are left out.
    confidence : float, default=0.95
        Probability with which the interval holds the smallest coverage, at least.
    sample_weight : array of shape (n,), optional
        How many rows each row stands for.

    References
    ----------
    Angelopoulos, Bates (2023). Conformal prediction: a gentle introduction. Foundations and Trends
    in Machine Learning.

    Examples
    --------
    >>> covered = [True] * 95 + [False] * 5 + [True] * 80 + [False] * 20
    >>> print(feature_stratified_coverage(covered, ["a"] * 100 + ["b"] * 100))
    feature-stratified coverage: 0.8, 95 % interval [0.6948, 0.8819]
    """
    return _smallest("feature-stratified coverage", covered, groups, confidence, sample_weight)


def size_stratified_coverage(
    covered: ArrayLike,
    size: ArrayLike,
    *,
    bins: int | ArrayLike = 5,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Smallest coverage among bins of set size: sets of some size may cover too little.

    Bias and interval are those of `feature_stratified_coverage`. Infinite sizes are allowed.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    size : array of shape (n,)
        Size of each set: ``sets.size``.
    bins : int or array of edges, default=5
        Number of bins of about as many rows each, or the inner edges, [1, 3, 10, 100] for
        example. To compare methods give edges, since their quantiles differ.
    confidence : float, default=0.95
        Probability with which the interval holds the smallest coverage, at least.
    sample_weight : array of shape (n,), optional
        How many rows each row stands for.

    References
    ----------
    Angelopoulos, Bates, Malik, Jordan (2021). Uncertainty sets for image classifiers using
    conformal prediction. ICLR.

    Examples
    --------
    >>> covered = [True] * 95 + [False] * 5 + [True] * 80 + [False] * 20
    >>> measure = size_stratified_coverage(covered, [1] * 100 + [2] * 100, bins=[1])
    >>> print(measure)
    size-stratified coverage: 0.8, 95 % interval [0.6948, 0.8819]
    >>> measure.table["group"].tolist()
    ['<= 1', '> 1']
    """
    sizes = check_size(size, len(check_covered(covered)))
    strata = (
        quantile_bins(sizes, bins, sample_weight=sample_weight)
        if isinstance(bins, Integral)
        else cut_bins(sizes, bins)
    )
    return _smallest("size-stratified coverage", covered, strata, confidence, sample_weight)


def _smallest(
    name: str, covered: ArrayLike, groups: Any, confidence: float, sample_weight: ArrayLike | None
) -> Measure:
    """Smallest coverage among groups, between the smallest of the bounds for all at once."""
    confidence = check_share("confidence", confidence)
    counted = count_groups(covered, groups, sample_weight)
    table = coverage_columns(counted, confidence)
    estimate, low, high = (
        float(table[column][counted.present].min())
        for column in ("coverage", "low_all", "high_all")
    )
    return Measure(
        name,
        estimate,
        low,
        high,
        confidence,
        np.nan,
        exact=True,
        meaning="The interval holds the smallest P(covered | stratum); the estimate is too low on "
        "average, as the smallest of noisy shares.",
        table=table,
    )
