"""What calibration foretells of misses to come: an urn that holds what was seen so far."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray, conformal_rank


class Urn(NamedTuple):
    """Weights of misses and hits that calibration has put into the urn.

    A threshold that is the k-th of n calibration scores is missed by the next row with probability
    (n + 1 - k) / (n + 1) if rows are exchangeable and no scores tie: the new score falls into each
    of the n + 1 gaps alike. Given what happened to rows before, the same holds with these rows
    among the others: the chance of a miss is ``misses / (misses + hits)``, and each row adds one
    to its kind (Pólya's urn). So chance in the calibration is accounted for exactly: the rate of
    misses is not alpha, but follows the law Beta(misses, hits), and the urn learns it.

    Examples
    --------
    >>> Urn.of(19, alpha=0.1)
    Urn(misses=2.0, hits=18.0)
    >>> Urn.of(19, alpha=0.1).chances(np.array([True, False, False])).round(3).tolist()
    [0.1, 0.143, 0.136]
    """

    misses: float
    hits: float

    @classmethod
    def of(cls, n: float, alpha: float, weighted: bool = False) -> "Urn":
        """Return the urn of a conformal threshold of n rows, or about that of weighted ones.

        What weighs as much as n equal rows has no rank among n: eight rows of weight two reach
        90 %, and eight rows do not.
        """
        if not weighted and float(n).is_integer():
            rank = conformal_rank(int(n), alpha)  # n + 1 where no score reaches so far
            return cls(float(int(n) + 1 - rank), float(rank))
        return cls(alpha * (n + 1), (1 - alpha) * (n + 1))

    def chances(self, missed: NDArray[np.bool_], n: int = 0, misses: int = 0) -> FloatArray:
        """Probability that each row in turn misses, given n rows before them and each other."""
        before = misses + np.cumsum(missed) - missed  # whole numbers first: no digit is lost
        seen = n + np.arange(len(missed))
        return (self.misses + before) / (self.misses + self.hits + seen)
