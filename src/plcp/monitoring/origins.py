"""Where the likelihood of each tilt was lowest: if there is a drift, it began there."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plcp.monitoring.evidence import TILTS
from plcp.quantiles import FloatArray, IntArray


class Rows(NamedTuple):
    """Rows of one group in the order in which they came.

    ``numbers`` count the rows of all groups, from zero; ``stamps`` are the caller's times, if any.
    """

    missed: NDArray[np.bool_]
    chances: FloatArray
    numbers: IntArray
    stamps: NDArray[Any]

    def cut(self, start: int, end: int) -> "Rows":
        """Return some of them."""
        rows = slice(start, end)
        return Rows(self.missed[rows], self.chances[rows], self.numbers[rows], self.stamps[rows])


@dataclass(frozen=True)
class Origins:
    """The row at which a drift by each tilt most likely began (Page's cumulative sum).

    ``growth`` is what the tilt's likelihood was before that row, the lowest so far; ``n`` and
    ``misses`` count the group's rows before it.
    """

    growth: FloatArray
    n: IntArray
    misses: IntArray
    row: IntArray
    stamp: NDArray[Any]

    @classmethod
    def none(cls) -> "Origins":
        """Return those of no rows."""
        whole = np.zeros(len(TILTS), dtype=np.int64)
        return cls(np.zeros(len(TILTS)), whole, whole, whole, np.full(len(TILTS), None))

    def after(self, rows: Rows, growth: FloatArray, n: int, misses: int) -> "Origins":
        """Return them after more rows, given the growth before each, and n rows before all."""
        place = len(growth) - 1 - np.argmin(growth[::-1], axis=0)  # of equals the last
        lowest = growth[place, np.arange(len(TILTS))]
        new = lowest <= self.growth
        missed_before = misses + np.cumsum(rows.missed) - rows.missed
        found = (lowest, n + place, missed_before[place], rows.numbers[place], rows.stamps[place])
        kept = (self.growth, self.n, self.misses, self.row, self.stamp)
        return Origins(*(np.where(new, now, was) for now, was in zip(found, kept, strict=True)))

    def likeliest(self, growth: FloatArray) -> int:
        """Return the tilt of the largest likelihood ratio, counted from its own origin."""
        return int(np.argmax(growth - self.growth))
