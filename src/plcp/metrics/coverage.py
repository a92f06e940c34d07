"""Share of rows whose set holds the label, and how large the sets are."""

import numpy as np
from numpy.typing import ArrayLike

from plcp.metrics.binomial import clopper_pearson
from plcp.metrics.bins import count_quantiles
from plcp.metrics.mean import mean_and_error, mean_measure
from plcp.metrics.measure import Measure
from plcp.metrics.outcomes import check_counts, check_covered, check_size
from plcp.validation import check_share

PERCENT = np.array([0, 5, 25, 50, 75, 95, 100])


def coverage(
    covered: ArrayLike, *, confidence: float = 0.95, sample_weight: ArrayLike | None = None
) -> Measure:
    """Share of covered rows, with Clopper and Pearson's interval for the probability behind it.

    The interval is exact for independent rows that the sets were not made from: the coverage it
    holds is that of the sets as they are, given the rows that they were calibrated on.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    confidence : float, default=0.95
        Probability with which the interval holds the coverage, at least.
    sample_weight : array of shape (n,), optional
        How many rows each row stands for.

    References
    ----------
    Clopper, Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. Biometrika.

    Examples
    --------
    >>> print(coverage([True] * 9 + [False]))
    coverage: 0.9, 95 % interval [0.555, 0.9975]
    """
    confidence = check_share("confidence", confidence)
    indicator = check_covered(covered)
    terms, weights = indicator.astype(float), check_counts(sample_weight, len(indicator))
    estimate, error, _ = mean_and_error(terms, weights)
    n = len(terms) if weights is None else int(weights.sum())
    hits = int(terms.sum() if weights is None else terms @ weights)
    low, high = (float(end) for end in clopper_pearson(hits, n, confidence))
    columns = {"n": n, "hits": hits, "coverage": estimate, "low": low, "high": high}
    return Measure(
        "coverage",
        estimate,
        low,
        high,
        confidence,
        error,
        exact=True,
        meaning="The interval holds the probability that a new row is covered by such a set; the "
        "estimate has no bias.",
        table={key: np.array([value]) for key, value in columns.items()},
        terms=terms,
        weights=weights,
    )


def mean_size(
    size: ArrayLike, *, confidence: float = 0.95, sample_weight: ArrayLike | None = None
) -> Measure:
    """Mean size of the sets, with Student's interval mended for skewed sizes.

    The table holds quantiles of size. The interval has its confidence as rows grow many; it has
    less where nearly all sets have one size and the rare others were not met in these rows.

    One infinite set is proof that the expected size is infinite: estimate and interval are then
    infinite, and the quantiles in the table are what is left to compare.

    Parameters
    ----------
    size : array of shape (n,)
        Size of each set: ``sets.size``.
    confidence : float, default=0.95
        Probability with which the interval holds the expected size, about.
    sample_weight : array of shape (n,), optional
        How many rows each row stands for.

    References
    ----------
    Hall (1992). On the removal of skewness by transformation. Journal of the Royal Statistical
    Society B.

    Examples
    --------
    >>> measure = mean_size([1, 2, 3, 2])
    >>> print(measure)
    mean size: 2, 95 % interval [0.7008, 3.299]
    >>> print(mean_size([1, 2, np.inf]))
    mean size: inf, 95 % interval [inf, inf]
    """
    confidence = check_share("confidence", confidence)
    sizes = check_size(size)
    weights = check_counts(sample_weight, len(sizes))
    return mean_measure(
        "mean size",
        sizes,
        weights,
        meaning="The interval holds the expected size of a new row's set; the estimate has no "
        "bias.",
        confidence=confidence,
        limits=(0.0, np.inf),
        table={"percent": PERCENT, "size": count_quantiles(sizes, PERCENT, 100, weights)},
    )
