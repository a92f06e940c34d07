"""A slab of the feature space: all x between two parallel planes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from plcp.metrics.outcomes import LARGEST
from plcp.quantiles import FloatArray
from plcp.rows import plain
from plcp.validation import check_rows, naming_the_boosted_index


@dataclass(frozen=True, eq=False)
class Slab:
    """All x between two parallel planes: low ≤ coefficients · x ≤ high.

    Parameters
    ----------
    coefficients : array of shape (d,)
        What each column of X, in its own unit, is multiplied by.
    low, high : float
        The planes; infinite where the slab is a half-space.
    """

    coefficients: FloatArray
    low: float
    high: float

    def contains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Whether each row of X lies in the slab."""
        numbers, d = finite_numbers(X), len(self.coefficients)
        if numbers.shape[1] != d:
            raise ValueError(
                f"X has {numbers.shape[1]} columns, but the slab is one of {d}: give the columns "
                "it was chosen on"
            )
        position = positions(numbers, self.coefficients)
        return np.asarray((position >= self.low) & (position <= self.high))


def finite_numbers(X: ArrayLike) -> FloatArray:
    """X as a matrix of numbers, none of them missing or infinite."""
    check_rows(X)
    with naming_the_boosted_index():
        numbers: FloatArray = check_array(
            plain(X), dtype=float, ensure_all_finite=False, ensure_min_samples=0, input_name="X"
        )
    good = np.abs(numbers) <= LARGEST  # NaN is not
    if not good.all():
        row, column = np.argwhere(~good)[0]
        raise ValueError(
            f"X must be at most {LARGEST:g} and finite, got {numbers[row, column]} in column "
            f"{column} at row {row}: impute it, or leave the column out"
        )
    return numbers


def positions(X: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Where each row lies across the slabs of one direction."""
    # a matrix product may round equal rows differently, and so part them
    return np.asarray((X * coefficients).sum(axis=1))
