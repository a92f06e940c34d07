"""Percentage of a reference's dependence that a method is rid of."""

import numpy as np
from scipy.stats import t as student

from plcp.metrics.measure import Measure
from plcp.metrics.paired import paired_terms
from plcp.quantiles import FloatArray

MEANING = (
    "The interval holds the percentage that endless rows would show, and is too wide with HSIC "
    "where little dependence is left; the estimate is biased by O(1/n), downwards where nearly all "
    "is gained."
)


def improvement(measure: Measure, reference: Measure) -> Measure:
    """Per cent of the reference's dependence that the method is rid of: 100 (1 - |m| / |r|).

    Meant for `hsic` or `size_correlation` of two methods on the same rows; 100 where no dependence
    is left, negative where there is more. The interval for the ratio m / r is Fieller's, of paired
    rows, and that of the percentage its image; where the reference itself can not be told from 0,
    nothing but "at most 100" is known.

    Fieller's interval takes both estimates for normal, which takes many rows: in simulations 95 %
    intervals held in 89 to 100 % of samples of 200 rows with `size_correlation`, in 93 to 98 % of
    1,000; with `hsic`, whose estimate is far from normal where little dependence is left, they
    held in 99 to 100 % and in 95 to 100 %: too wide, not too narrow.

    Parameters
    ----------
    measure, reference : Measure
        The same metric of two methods, on the same rows.

    References
    ----------
    Feldman, Bates, Romano (2021). Improving conditional coverage via orthogonal quantile
    regression. NeurIPS.
    Fieller (1954). Some problems in interval estimation. Journal of the Royal Statistical Society
    B.

    Examples
    --------
    >>> from plcp.metrics import size_correlation
    >>> covered = np.arange(1000) % 10 > 0
    >>> size = np.arange(1000) % 7.0
    >>> split, method = (size_correlation(covered, size + c * covered) for c in (4, 1))
    >>> print(improvement(method, split))
    improvement of size correlation in per cent: 70.48, 95 % interval [61.76, 80.71]
    """
    terms, others = paired_terms({"measure": measure, "reference": reference}).values()
    if reference.estimate == 0:
        raise ValueError(
            f"the {reference.name} of the reference is exactly 0, as that of sets of one size is: "
            "nothing can be gained relative to it, so clip its sets to the range of the labels, or "
            "report both values"
        )
    m, r = measure.estimate, reference.estimate
    ratio = m / r
    influence = (terms - m - ratio * (others - r)) / r
    counts = np.ones(len(terms)) if measure.weights is None else measure.weights
    n = counts.sum()
    if n < 2:
        raise ValueError("an improvement needs two rows at least, got 1: report both values")
    covariance = np.cov(terms, others, aweights=counts, ddof=0) / (n - 1)
    low, high = _fieller(m, r, covariance, student.isf((1 - measure.confidence) / 2, n - 1))
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return Measure(
        f"improvement of {measure.name} in per cent",
        100 * (1 - abs(ratio)),
        100 * (1 - max(abs(low), abs(high))),
        100 * (1 - nearest),
        measure.confidence,
        100 * float(np.sqrt(np.average(influence**2, weights=counts) / (n - 1))),
        exact=False,
        meaning=MEANING,
        table={
            "of": np.array(["measure", "reference"]),
            "estimate": np.array([m, r]),
            "low": np.array([measure.low, reference.low]),
            "high": np.array([measure.high, reference.high]),
        },
        terms=100 * (1 - abs(ratio) - np.sign(ratio) * influence),
        weights=measure.weights,
    )


def _fieller(m: float, r: float, covariance: FloatArray, quantile: float) -> tuple[float, float]:
    """Ends of all ratios ρ with |m - ρ r| at most ``quantile`` times its standard error."""
    a = r**2 - quantile**2 * covariance[1, 1]
    b = m * r - quantile**2 * covariance[0, 1]
    c = m**2 - quantile**2 * covariance[0, 0]
    if a <= 0:
        return -np.inf, np.inf
    root = np.sqrt(max(b**2 - a * c, 0.0))
    return float((b - root) / a), float((b + root) / a)
