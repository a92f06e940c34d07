"""Mean distance of the groups' coverage from the target."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plcp.metrics.binomial import mean_deviation
from plcp.metrics.group_counts import GroupCounts, count_groups, coverage_columns
from plcp.metrics.mean_gap import mean_gap_bounds
from plcp.metrics.measure import Measure, Table
from plcp.validation import check_alpha, check_share


def coverage_gap(
    covered: ArrayLike,
    groups: Any,
    alpha: float,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Measure:
    """Mean over groups of |coverage - (1 - alpha)|, known as CovGap; each group counts alike.

    Noise only adds to a distance, so the estimate is too high on average; ``meaning`` tells what
    coverage of exactly 1 - alpha in every group would show. The interval is exact: for disjoint
    groups by Fisher's combination (`plcp.metrics.mean_gap`), for overlapping ones, whose counts
    depend on each other, from bounds that hold for all at once, which are wider.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its label: ``sets.contains(y)``.
    groups : labels, masks, mapping or Grouping
        As in `coverage_by_group`; the labels y themselves give the gap among classes. Groups
        without rows are left out.
    alpha : float
        Miscoverage rate.
    confidence : float, default=0.95
        Probability with which the interval holds the mean gap, at least.
    sample_weight : array of shape (n,), optional
        How many rows each row stands for.

    References
    ----------
    Ding, Angelopoulos, Bates, Jordan, Tibshirani (2023). Class-conditional conformal prediction
    with many classes. NeurIPS.

    Examples
    --------
    >>> covered = [True] * 95 + [False] * 5 + [True] * 80 + [False] * 20
    >>> measure = coverage_gap(covered, ["a"] * 100 + ["b"] * 100, alpha=0.1)
    >>> print(measure)
    coverage gap: 0.075, 95 % interval [0.01484, 0.1409]
    >>> print(measure.meaning.split(": ")[-1])
    coverage of 0.9 in every group would show 0.0237.
    """
    target, confidence = 1 - check_alpha(alpha), check_share("confidence", confidence)
    counted = count_groups(covered, groups, sample_weight)
    table = coverage_columns(counted, confidence)
    n, hits = counted.n[counted.present], counted.hits[counted.present]
    if counted.groups.is_disjoint:
        low, high = mean_gap_bounds(hits, n, target, confidence)
    else:
        low, high = _projected_gap(table, counted, target)
    chance = mean_deviation(n, target).mean()
    return Measure(
        "coverage gap",
        float(np.abs(hits / n - target).mean()),
        low,
        high,
        confidence,
        np.nan,
        exact=True,
        meaning="The interval holds the mean over groups of |P(covered | group) - "
        f"{target:g}|; the estimate is too high on average: coverage of {target:g} in every group "
        f"would show {chance:.3g}.",
        table=table,
    )


def _projected_gap(table: Table, counted: GroupCounts, target: float) -> tuple[float, float]:
    """Least and largest mean gap that bounds for all groups at once permit."""
    low, high = (table[end][counted.present] for end in ("low_all", "high_all"))
    nearest = np.maximum(0.0, np.maximum(low - target, target - high))
    return float(nearest.mean()), float(np.maximum(target - low, high - target).mean())
