"""Hilbert-Schmidt independence criterion of size and coverage."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from plcp.metrics.kernel_sums import kernel_sums
from plcp.metrics.measure import Measure
from plcp.metrics.size_counts import SizeCounts, count_sizes
from plcp.quantiles import FloatArray
from plcp.validation import check_share

# the kernel of the coverage indicator is 1 where two rows agree and exp(-1) where they do not
CONTRAST = 1 - math.exp(-1)
LIMIT = CONTRAST / 4  # half of the rows covered, and no covered one near a missed one
MEANING = (
    "The interval holds the dependence that endless rows would show; the estimate is too large by "
    "O(1/n), and may lie above the interval."
)
ALL_ALIKE = "All rows are covered, or none: nothing can be told of dependence."


def hsic(
    covered: ArrayLike,
    size: ArrayLike,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Hilbert-Schmidt independence criterion of set size and coverage: any kind of dependence.

    trace(K H L H) / (n - 1)², the biased estimator, without a square root: K and L are the n × n
    matrices of the kernel k(a, b) = exp(-(a - b)²) on sizes and on the coverage indicator, and
    H = I - 1/n. No such matrix is made: the value comes from the counts of each distinct size,
    exactly for up to 5,000 distinct sizes. For more, kernel values are interpolated, and the
    estimate is off by less than 4e-16 (n / (n - 1))² before rounding (`kernel_sums`).

    Where all x are covered alike, coverage depends on nothing, not on the size either; so a
    dependence shows that they are not, and its absence shows nothing. Independent pairs give
    O(1/n) rather than 0, and the kernel knows the units of size, of which one is near and six are
    far: divide sizes in dollars by a typical one first, and compare on the same rows.

    The interval inverts a test, as Wilson's does: all values θ that differ from the unbiased
    estimate (Song et al. 2012) by no more than the quantile of Student's law times √(4 θ σ² + τ²),
    where σ² is the variance along the direction of dependence and τ² that of the estimate where
    there is none. So it holds under independence too, where the normal law of the estimate fails;
    the estimate, being too large by O(1/n), may then lie above it. Sets of one size have exactly 0,
    with an interval of [0, 0]. Where all rows are covered, or none, or n < 4, nothing can be told,
    and the interval is all that is possible.

    Parameters
    ----------
    covered : array-like of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    size : array-like of shape (n,)
        Size of each set, finite: ``sets.size``.
    confidence : float
        Probability with which the interval holds the dependence of endless rows.
    sample_weight : array-like of shape (n,), optional
        How many rows each row stands for.

    Returns
    -------
    Measure
        Its table is coverage by bins of size.

    References
    ----------
    Gretton, Bousquet, Smola, Schölkopf (2005). Measuring statistical dependence with
    Hilbert-Schmidt norms. ALT.
    Song, Smola, Gretton, Bedo, Borgwardt (2012). Feature selection via dependence maximization.
    JMLR.
    Feldman, Bates, Romano (2021). Improving conditional coverage via orthogonal quantile
    regression. NeurIPS.

    Examples
    --------
    >>> print(hsic([True, True, False, True] * 25, [1, 1, 2, 3] * 25))
    HSIC: 0.03755, 95 % interval [0.02294, 0.05868]
    >>> float(hsic([True, False, True, False], [1, 1, 2, 2]))
    0.0
    """
    confidence = check_share("confidence", confidence)
    counts = count_sizes(covered, size, sample_weight)
    n, hits = counts.n, counts.n_hits
    # n² times joint minus product frequency, in whole numbers: independence is 0 without rounding
    excess = (n * counts.hits - counts.rows * hits).astype(float)
    # the excess sums to 0, so k - 1 serves as well as k, and keeps its digits where sizes are close
    sums = kernel_sums(counts.size, np.column_stack([excess, counts.rows]))
    estimate = 2 * CONTRAST * float(excess @ sums[:, 0]) / (n * (n - 1)) ** 2
    influence = _influence(counts, sums[:, 0] / n**2)
    known = n > 3 and 0 < hits < n
    low, high, error = (
        _interval(counts, excess, sums, influence, confidence) if known else (0.0, LIMIT, np.nan)
    )
    return Measure(
        "HSIC",
        estimate,
        low,
        high,
        confidence,
        error,
        exact=False,
        meaning=MEANING if known else ALL_ALIKE,
        table=counts.table(confidence),
        terms=estimate + counts.by_row(influence),
        weights=counts.weights,
    )


def _influence(counts: SizeCounts, witness: FloatArray) -> FloatArray:
    """Influence of a missed and of a covered row of each size: shape (sizes, 2)."""
    residual = np.array([0.0, 1.0]) - counts.n_hits / counts.n
    products = residual * (witness - counts.rows @ witness / counts.n)[:, None]
    mean = np.vdot(counts.cells, products) / counts.n
    return np.asarray(4 * CONTRAST * (products - mean))


def _interval(
    counts: SizeCounts,
    excess: FloatArray,
    sums: FloatArray,
    influence: FloatArray,
    confidence: float,
) -> tuple[float, float, float]:
    """Ends of the interval, and the standard error."""
    n = counts.n
    biased = 2 * CONTRAST * float(excess @ sums[:, 0]) / n**4
    centre = unbiased_hsic(counts, excess, sums)
    spread = np.vdot(counts.cells, influence**2) / (n * (n - 1))
    along = spread / (4 * biased) if biased > 0 else 0.0
    null = _null_variance(counts, sums[:, 1])
    quantile = student.isf((1 - confidence) / 2, n - 1)
    # the roots of (centre - θ)² = quantile² (4 θ along + null)
    shift = 2 * quantile**2 * along
    reach = math.sqrt(max((centre + shift) ** 2 - centre**2 + quantile**2 * null, 0.0))
    low, high = np.clip([centre + shift - reach, centre + shift + reach], 0.0, LIMIT)
    return float(low), float(high), math.sqrt(4 * along * max(centre, 0.0) + null)


def unbiased_hsic(counts: SizeCounts, excess: FloatArray, sums: FloatArray) -> float:
    """Estimate without bias (Song et al. 2012, eq. 5), for a coverage that is 0 or 1; n > 3."""
    n, p = counts.n, counts.n_hits / counts.n
    dependence, tilt = excess @ sums / n**2 * [1.0, n]
    total = counts.rows @ sums[:, 1]
    inside = dependence + 2 * (1 - 2 * p) / (n - 2) * tilt + p * (1 - p) / (n - 1) * total
    return float(2 * CONTRAST * inside / (n * (n - 3)))


def _null_variance(counts: SizeCounts, row_sums: FloatArray) -> float:
    """Variance of the unbiased estimate if size and coverage were independent, to order 1/n²."""
    n, p, rows = counts.n, counts.n_hits / counts.n, counts.rows
    squares = rows @ kernel_sums(counts.size, rows[:, None].astype(float), power=2)[:, 0] / n**2
    centred = float(squares - 2 * rows @ (row_sums / n) ** 2 / n + (rows @ row_sums / n**2) ** 2)
    return 2 * (2 * CONTRAST * p * (1 - p) / n) ** 2 * max(centred, 0.0)
