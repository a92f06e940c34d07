"""The interval score: length and misses in one number."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plcp.floats import as_floats
from plcp.metrics.mean import mean_measure
from plcp.metrics.measure import Measure, Table
from plcp.metrics.outcomes import check_counts, check_numbers
from plcp.quantiles import FloatArray
from plcp.sets import Intervals
from plcp.validation import check_alpha, check_share

MEANING = "The interval holds the expected score of a new row; the estimate has no bias."


def interval_score(
    intervals: Intervals | ArrayLike,
    y: ArrayLike,
    alpha: float,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Length of the interval plus 2/alpha times the distance of y from it; smaller is better.

    No intervals score less, in expectation, than those between the conditional quantiles of level
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
    alpha : float
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
    >>> score = interval_score([[0.0, 2.0], [1.0, 2.0]], [1.0, 2.5], alpha=0.1)
    >>> float(score)
    6.5
    >>> dict(zip(score.table["part"].tolist(), score.table["mean"].tolist()))
    {'length': 1.5, 'below': 0.0, 'above': 5.0}
    """
    alpha, confidence = check_alpha(alpha), check_share("confidence", confidence)
    lower, upper = _ends(intervals)
    labels = check_numbers("y", y, len(lower))
    weights = check_counts(sample_weight, len(lower))
    parts: dict[str, FloatArray] = {
        "length": upper - lower,
        "below": 2 / alpha * np.maximum(lower - labels, 0),
        "above": 2 / alpha * np.maximum(labels - upper, 0),
    }
    return mean_measure(
        "interval score",
        np.sum(list(parts.values()), axis=0),
        weights,
        meaning=MEANING,
        confidence=confidence,
        limits=(0.0, np.inf),
        table=_table(parts, weights),
    )


def _ends(intervals: Any) -> tuple[FloatArray, FloatArray]:
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
    for name, end in (("lower end", checked.lower), ("upper end", checked.upper)):
        check_numbers(name, end, len(ends), finite=False)
    return checked.lower, checked.upper


def _table(parts: dict[str, FloatArray], weights: FloatArray | None) -> Table:
    counts = None if weights is None else weights[weights > 0]  # 0 · inf is not 0
    seen = parts.values() if weights is None else (part[weights > 0] for part in parts.values())
    means = [np.average(part, weights=counts) for part in seen]
    return {"part": np.array(list(parts)), "mean": np.array(means)}
