"""How many rows of each group there are, how many are covered, and what follows exactly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.metrics.binomial import clopper_pearson
from plcp.metrics.grouping import Grouping, as_grouping
from plcp.metrics.measure import Table
from plcp.metrics.outcomes import check_counts, check_covered
from plcp.quantiles import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Rows and covered rows of each group, and how many rows each row stands for."""

    groups: Grouping
    n: IntArray
    hits: IntArray
    weights: FloatArray | None

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which groups hold a row."""
        return self.n > 0


def count_groups(covered: ArrayLike, groups: Any, sample_weight: ArrayLike | None) -> GroupCounts:
    """Check and count; at least one group must hold a row."""
    indicator = check_covered(covered)
    weights = check_counts(sample_weight, len(indicator))
    grouping = as_grouping(groups, len(indicator))
    n, hits = grouping.tally(indicator, weights)
    if not n.any():
        raise ValueError(
            f"no row is in any of the groups {grouping.names.tolist()}: "
            "give groups of the rows that covered is about"
        )
    return GroupCounts(grouping, n, hits, weights)


def coverage_columns(counted: GroupCounts, confidence: float) -> Table:
    """Coverage of each group with bounds for each, and for all at once by Bonferroni.

    Groups without rows have the bounds 0 and 1, which never err, so they are not counted.
    """
    n, hits = counted.n, counted.hits
    low, high = clopper_pearson(hits, n, confidence)
    together = 1 - (1 - confidence) / counted.present.sum()
    low_all, high_all = clopper_pearson(hits, n, together)
    share = np.full(len(n), np.nan)
    np.divide(hits, n, out=share, where=counted.present)
    return {
        "group": counted.groups.names,
        "n": n,
        "hits": hits,
        "coverage": share,
        "low": low,
        "high": high,
        "low_all": low_all,
        "high_all": high_all,
    }
