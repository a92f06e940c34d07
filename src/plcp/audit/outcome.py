"""What happened to each row: whether its set holds the outcome, and how large the set is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Outcome:
    """Whether each row is covered, and the size of its set.

    Parameters
    ----------
    covered : array of bool, shape (n,)
        Whether each set holds its outcome.
    size : array of shape (n,), optional
        Length of each interval or number of labels of each set; None if nobody knows.
    """

    covered: NDArray[np.bool_]
    size: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.covered)

    def take(self, rows: IntArray | None) -> Outcome:
        """Some of the rows; all of them for None."""
        if rows is None:
            return self
        return Outcome(self.covered[rows], None if self.size is None else self.size[rows])
