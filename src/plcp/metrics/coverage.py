"""Coverage and size, overall and by group."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class GroupCoverage(NamedTuple):
    """Coverage and mean size of the sets in each group."""

    group: NDArray[Any]
    n: NDArray[np.intp]
    coverage: Floats
    size: Floats


def coverage_by_group(covered: ArrayLike, size: ArrayLike, groups: ArrayLike) -> GroupCoverage:
    """Share of covered rows and mean set size in each group of a disjoint grouping.

    Examples
    --------
    >>> table = coverage_by_group([True, False, True], [1.0, 3.0, 2.0], ["a", "a", "b"])
    >>> table.coverage.tolist(), table.size.tolist()
    ([0.5, 1.0], [2.0, 2.0])
    """
    labels, codes = np.unique(np.asarray(groups), return_inverse=True)
    n = np.bincount(codes)
    covered_n = np.bincount(codes, np.asarray(covered, dtype=float))
    total_size = np.bincount(codes, np.asarray(size, dtype=float))
    return GroupCoverage(labels, n, covered_n / n, total_size / n)
