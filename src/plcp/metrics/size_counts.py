"""How many sets have each size, and how many of those cover."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.metrics.binomial import clopper_pearson
from plcp.metrics.measure import Table
from plcp.metrics.outcomes import check_counts, check_covered, check_size
from plcp.quantiles import FloatArray

BINS = 10


@dataclass(frozen=True, eq=False)
class SizeCounts:
    """All that dependence of size and coverage needs to know of the rows.

    Parameters
    ----------
    size : array of shape (k,)
        Distinct sizes, ascending.
    rows, hits : array of shape (k,)
        How many rows have each size, and how many of those are covered.
    code : array of shape (n,)
        Which of the sizes each row has.
    covered : array of shape (n,)
        Whether each row is covered.
    weights : array of shape (n,) or None
        How many rows each row stands for.
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
