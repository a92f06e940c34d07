"""A linear predictor whose value for a row does not depend on the rows that stand around it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ENTRIES = 2**18  # of X at a time: they stay in the cache
FEWEST = 1024  # rows at a time: with fewer, calls cost more than sums


def line(X: NDArray[Any], coef: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``X @ coef`` in double precision, summed column after column.

    A matrix product sums the rows at the end of a block in another order than those in its middle;
    this sum is the same to the last bit wherever a row stands, and however X lies in memory.

    Examples
    --------
    >>> line(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    total = np.zeros(len(X))
    step = max(FEWEST, ENTRIES // max(1, X.shape[1]))
    for start in range(0, len(X), step):
        block, part = X[start : start + step], total[start : start + step]
        for column, weight in zip(block.T, coef, strict=True):
            part += np.multiply(column, weight, dtype=float)
    return total
