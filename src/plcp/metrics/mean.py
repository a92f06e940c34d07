"""A mean over rows, with an interval and a test for terms that may be skewed."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from plcp.metrics.measure import Measure, Table
from plcp.quantiles import FloatArray

UNBOUNDED = (-np.inf, np.inf)


@dataclass(frozen=True)
class SkewedMean:
    """Mean of terms, by Hall's transformation of Student's statistic.

    A mean of skewed terms and its standard error are correlated, so that Student's interval errs
    on one side too often. With g the skewness of the terms over √n, t + g t²/3 + g² t³/27 + g/6
    has lost its skewness, and rises with t.

    References
    ----------
    Hall (1992). On the removal of skewness by transformation. Journal of the Royal Statistical
    Society B.

    Examples
    --------
    >>> law = skewed_mean(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 3.0]))
    >>> [round(end, 4) for end in law.interval(0.95)]
    [-0.2157, 5.307]
    """

    mean: float
    error: float
    degrees: float
    skewness: float

    def interval(self, confidence: float) -> tuple[float, float]:
        """Both ends; infinite if one row alone gives no spread."""
        if self.degrees == 0:
            return -np.inf, np.inf
        quantile = student.isf((1 - confidence) / 2, self.degrees)
        ends = np.array([quantile, -quantile]) - self.skewness / 6
        root = np.cbrt(1 + self.skewness * ends)
        # 3 (root - 1) / skewness, without the division by a skewness near 0
        low, high = self.mean - self.error * 3 * ends / (root**2 + root + 1)
        return float(low), float(high)

    def p_value(self) -> float:
        """Of the hypothesis that the expectation is 0: that of the interval which ends there."""
        if self.degrees == 0:
            return 1.0
        if self.error == 0:
            return float(self.mean == 0)
        t, g = self.mean / self.error, self.skewness
        return float(2 * student.sf(abs(t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6), self.degrees))


def skewed_mean(terms: FloatArray, weights: FloatArray | None = None) -> SkewedMean:
    """Mean of the terms, with what is needed for its interval; weights count rows."""
    mean, error, degrees = mean_and_error(terms, weights)
    spread = error * np.sqrt(degrees) if degrees > 0 else 0.0
    if spread == 0:
        return SkewedMean(mean, error, degrees, 0.0)
    cubes = np.average(((terms - mean) / spread) ** 3, weights=weights)
    return SkewedMean(mean, error, degrees, float(cubes / np.sqrt(degrees + 1)))


def mean_and_error(terms: FloatArray, weights: FloatArray | None) -> tuple[float, float, float]:
    """Mean of the terms, its standard error, and the degrees of freedom of that."""
    n = float(len(terms) if weights is None else weights.sum())
    mean = float(np.average(terms, weights=weights))
    if n <= 1:
        return mean, np.nan, 0.0
    spread = np.average((terms - mean) ** 2, weights=weights)
    return mean, float(np.sqrt(spread / (n - 1))), n - 1


def mean_measure(
    name: str,
    terms: FloatArray,
    weights: FloatArray | None = None,
    *,
    meaning: str,
    confidence: float = 0.95,
    limits: tuple[float, float] = UNBOUNDED,
    table: Table | None = None,
) -> Measure:
    """Mean of one term a row, its interval cut to the ``limits`` of what the mean can be.

    Weights count rows: a row of weight two is two rows. From a single row no spread can be told,
    and the interval is all that is possible. One infinite term is proof that the expectation is
    infinite: estimate and interval are then, too.
    """
    if weights is not None:
        terms = np.where(weights > 0, terms, 0.0)  # 0 · inf is not 0
    if np.isposinf(terms).any():
        estimate, low, high, error = np.inf, np.inf, np.inf, np.nan
    else:
        law = skewed_mean(terms, weights)
        estimate, error = law.mean, law.error
        low, high = np.clip(law.interval(confidence), *limits).tolist()
    return Measure(
        name,
        estimate,
        low,
        high,
        confidence,
        error,
        exact=False,
        meaning=meaning,
        table={} if table is None else table,
        terms=terms,
        weights=weights,
    )
