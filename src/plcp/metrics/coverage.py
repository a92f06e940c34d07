"""Marginal metrics: coverage, mean size and interval score."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp._options import check_alpha, check_same_rows, check_share
from plcp._validation import as_floats
from plcp.metrics.binomial import clopper_pearson
from plcp.metrics.groups import count_quantiles
from plcp.metrics.measure import (
    Measure,
    Table,
    check_counts,
    check_covered,
    check_numbers,
    check_size,
    mean_and_error,
    mean_measure,
)
from plcp.quantiles import FloatArray
from plcp.sets import Intervals

BINS = 10


@dataclass(frozen=True, eq=False)
class SizeCounts:
    """Rows by distinct size, ascending: how many there are, and how many of them are covered.

    ``code`` is the position of each row's size, ``weights`` how many rows each row stands for.
    """

    size: FloatArray
    rows: NDArray[np.int64]
    hits: NDArray[np.int64]
    code: NDArray[np.intp]
    covered: NDArray[np.bool_]
    weights: FloatArray | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    @property
    def n_hits(self) -> int:
        """Number of covered rows."""
        return int(self.hits.sum())

    @property
    def cells(self) -> NDArray[np.int64]:
        """Number of missed and of covered rows of each size: shape (k, 2)."""
        return np.column_stack([self.rows - self.hits, self.hits])

    def by_row(self, cells: FloatArray) -> FloatArray:
        """Value of each row's cell."""
        return np.asarray(cells[self.code, self.covered.astype(np.intp)])

    def table(self, confidence: float) -> Table:
        """Coverage in at most ten bins of about as many rows, one size never in two of them."""
        middle = np.cumsum(self.rows) - self.rows / 2
        first = np.flatnonzero(np.diff(BINS * middle // self.n, prepend=-1))
        last = np.append(first[1:], len(self.size)) - 1
        rows, hits = np.add.reduceat(self.rows, first), np.add.reduceat(self.hits, first)
        low, high = clopper_pearson(hits, rows, confidence)
        return {
            "smallest": self.size[first],
            "largest": self.size[last],
            "n": rows,
            "coverage": hits / rows,
            "low": low,
            "high": high,
        }


def count_sizes(covered: ArrayLike, size: ArrayLike, sample_weight: ArrayLike | None) -> SizeCounts:
    """Count rows and hits of each size; at least two rows must count."""
    check_same_rows(covered, size=size, sample_weight=sample_weight)
    indicator = check_covered(covered)
    sizes = check_size(size, len(indicator), finite=True)
    weights = check_counts(sample_weight, len(indicator))
    if weights is not None:  # a row that does not count brings no size of its own
        sizes = np.where(weights > 0, sizes, sizes[np.argmax(weights > 0)])
    distinct, code = np.unique(sizes, return_inverse=True)
    rows, hits = (
        np.bincount(code, counts, len(distinct)).astype(np.int64)
        for counts in (weights, indicator if weights is None else weights * indicator)
    )
    if rows.sum() < 2:
        raise ValueError("dependence needs two rows at least, got 1: measure coverage instead")
    return SizeCounts(distinct, rows, hits, code, indicator, weights)


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
    >>> from plcp.metrics import coverage
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
    """Mean size of the sets, with Student's interval corrected for skewed sizes.

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
    >>> import numpy as np
    >>> from plcp.metrics import mean_size
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


MEANING = "The interval holds the expected score of a new row; the estimate has no bias."


def interval_score(
    intervals: Intervals | ArrayLike,
    y: ArrayLike,
    alpha: float = 0.1,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Length of the interval plus 2/alpha times the distance of y from it; smaller is better.

    No intervals score less, in expectation, than those between the conditional quantiles
    alpha/2 and 1 - alpha/2: the score rewards both coverage and length, for each x.

    Scores are skewed, since few rows are missed and some by far; the interval corrects Student's
    for that (Hall 1992). One infinite interval is proof that the expected score is infinite:
    estimate and interval are then infinite.

    Parameters
    ----------
    intervals : Intervals or array-like of shape (n, 2)
        Lower and upper end of each interval; none may be empty, as no distance to it is defined.
    y : array-like of shape (n,)
        The labels.
    alpha : float, default=0.1
        Miscoverage rate the intervals were made for.
    confidence : float, default=0.95
        Probability with which the interval holds the expected score, as rows grow many.
    sample_weight : array-like of shape (n,), optional
        How many rows each row stands for.

    Returns
    -------
    Measure
        Its table has the mean of each part of the score: length, and penalties of the labels below
        and above.

    References
    ----------
    Gneiting, Raftery (2007). Strictly proper scoring rules, prediction, and estimation. JASA.

    Examples
    --------
    >>> from plcp.metrics import interval_score
    >>> score = interval_score([[0.0, 2.0], [1.0, 2.0]], [1.0, 2.5], alpha=0.1)
    >>> float(score)
    6.5
    >>> dict(zip(score.table["part"].tolist(), score.table["mean"].tolist()))
    {'length': 1.5, 'below': 0.0, 'above': 5.0}
    """
    alpha, confidence = check_alpha(alpha), check_share("confidence", confidence)
    check_same_rows(intervals, y=y, sample_weight=sample_weight)
    ends = as_floats("intervals", intervals)
    if ends.ndim != 2 or ends.shape[1] != 2 or len(ends) == 0:
        raise ValueError(
            f"intervals must have shape (n, 2), n at least 1, got {ends.shape}: "
            "pass Intervals, or columns lower and upper"
        )
    checked = Intervals(ends[:, 0], ends[:, 1])
    if checked.is_empty.any():
        row = int(np.argmax(checked.is_empty))
        raise ValueError(
            f"the interval of row {row} is empty, got {ends[row, 0]} and {ends[row, 1]}: no "
            "distance to it is defined, so put a point there, such as the prediction, or drop it"
        )
    lower, upper = (
        check_numbers(name, end, len(ends), finite=False)
        for name, end in (("lower end", checked.lower), ("upper end", checked.upper))
    )
    labels = check_numbers("y", y, len(lower))
    weights = check_counts(sample_weight, len(lower))
    parts: dict[str, FloatArray] = {
        "length": upper - lower,
        "below": 2 / alpha * np.maximum(lower - labels, 0),
        "above": 2 / alpha * np.maximum(labels - upper, 0),
    }
    counted = slice(None) if weights is None else weights > 0  # 0 · inf is not 0
    counts = None if weights is None else weights[counted]
    means = [np.average(part[counted], weights=counts) for part in parts.values()]
    return mean_measure(
        "interval score",
        np.sum(list(parts.values()), axis=0),
        weights,
        meaning=MEANING,
        confidence=confidence,
        limits=(0.0, np.inf),
        table={"part": np.array(list(parts)), "mean": np.array(means)},
    )
