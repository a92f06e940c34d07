"""Correlation of size and coverage."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from plcp.metrics.measure import Measure
from plcp.metrics.size_counts import SizeCounts, count_sizes
from plcp.quantiles import FloatArray
from plcp.validation import check_share

FEW = 4  # times the product of the kurtoses: of fewer rows, influences do not tell their own spread
MEANING = (
    "The interval holds the correlation that endless rows would show; the estimate is biased by "
    "O(1/n)."
)


def size_correlation(
    covered: ArrayLike,
    size: ArrayLike,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Pearson correlation of set size and coverage indicator.

    Negative where large sets cover less often than small ones. Zero, up to noise of 1/√n, where all
    x are covered alike, and perhaps elsewhere; `hsic` sees more than straight lines. Orthogonal
    quantile regression penalises the absolute value.

    Fisher's interval is for normal pairs, and coverage is 0 or 1. This one is symmetric about
    artanh r too, but its width comes from the influence of each row, divided by one less its
    leverage, and from Student's law with as many degrees of freedom as the kurtosis of those
    influences leaves (Satterthwaite). Where all rows lie on one line no spread can be told, and
    the interval is [-1, 1].

    Where hardly any large set is missed, those few rows make most of the spread, and may not be
    among these rows: 200 rows, 5 % of them missed, 10 % of the sets large. There, where rows are
    fewer than four times the product of both kurtoses, the interval is not shorter than Fisher's:
    too long where there is no dependence, and still too short where misses are rarer and depend
    on size (87 % for 2 % missed of 200 rows, instead of 95 %).

    Parameters
    ----------
    covered : array-like of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    size : array-like of shape (n,)
        Size of each set, finite: ``sets.size``.
    confidence : float
        Probability with which the interval holds the correlation of endless rows.
    sample_weight : array-like of shape (n,), optional
        How many rows each row stands for.

    Returns
    -------
    Measure
        Its table is coverage by bins of size.

    References
    ----------
    Feldman, Bates, Romano (2021). Improving conditional coverage via orthogonal quantile
    regression. NeurIPS.

    Examples
    --------
    >>> print(size_correlation([True, True, False, True] * 25, [1, 1, 2, 3] * 25))
    size correlation: -0.1741, 95 % interval [-0.3004, -0.04171]
    """
    confidence = check_share("confidence", confidence)
    counts = count_sizes(covered, size, sample_weight)
    sizes, hits = _standard_scores(counts)
    r = float(np.clip(np.vdot(counts.cells, sizes * hits) / counts.n, -1, 1))
    influence = sizes * hits - r * (sizes**2 + hits**2) / 2
    # a row far out draws the line to itself, and so looks closer to it than it is
    error, degrees = _error(
        influence / (1 - sizes**2 / counts.n) / (1 - hits**2 / counts.n), counts
    )
    if counts.n < FEW * _fourth_moment(sizes, counts) * _fourth_moment(hits, counts):
        error, degrees = max((error, degrees), ((1 - r**2) / np.sqrt(counts.n - 1), counts.n - 1))
    on_a_line = 1 - abs(r) < counts.n * np.finfo(float).eps
    low, high = (-1.0, 1.0) if on_a_line else _interval(r, error, degrees, confidence)
    return Measure(
        "size correlation",
        r,
        low,
        high,
        confidence,
        np.nan if on_a_line else error,
        exact=False,
        meaning=MEANING,
        table=counts.table(confidence),
        terms=r + counts.by_row(influence),
        weights=counts.weights,
    )


def _standard_scores(counts: SizeCounts) -> tuple[FloatArray, FloatArray]:
    """Size and coverage of each cell, less their means, in standard deviations."""
    for name, constant, value in (
        ("size", len(counts.size) == 1, counts.size[0]),
        ("covered", counts.n_hits in (0, counts.n), counts.n_hits > 0),
    ):
        if constant:
            raise ValueError(
                f"{name} is {value} in all {counts.n} rows: dependence on a constant is not "
                "defined, so report coverage and size alone"
            )
    centred = counts.size - counts.rows @ counts.size / counts.n
    centred /= np.abs(centred).max()  # units so small that squares are 0 do not matter
    sizes = centred / np.sqrt(counts.rows @ centred**2 / counts.n)
    p = counts.n_hits / counts.n
    return sizes[:, None], (np.array([0.0, 1.0]) - p) / np.sqrt(p * (1 - p))


def _fourth_moment(scores: FloatArray, counts: SizeCounts) -> float:
    return float(np.sum(counts.cells * scores**4) / counts.n)


def _error(influence: FloatArray, counts: SizeCounts) -> tuple[float, float]:
    """Standard error of a mean of influences, and its degrees of freedom."""
    n = counts.n
    squares = (influence - np.vdot(counts.cells, influence) / n) ** 2
    spread = np.vdot(counts.cells, squares) / n
    if spread == 0:
        return 0.0, n - 1
    kurtosis = np.vdot(counts.cells, squares**2) / n / spread**2
    return float(np.sqrt(spread / (n - 1))), float(min(2 * n / (kurtosis - 1 + 2 / n), n - 1))


def _interval(r: float, error: float, degrees: float, confidence: float) -> tuple[float, float]:
    reach = student.isf((1 - confidence) / 2, degrees) * error / (1 - r**2)
    low, high = np.tanh(np.arctanh(r) + np.array([-reach, reach]))
    return float(low), float(high)
