"""Sums of products of whole numbers, exact: the same in any order and however they are cut."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray

Whole = NDArray[np.object_]  # Python's whole numbers, which do not overflow

# A product of the digits of two numbers, added up over ROWS rows, stays within the 53 bits in
# which floating-point numbers are exact: 2^15 · 2^26 · 2^12. So does every sum on the way there,
# in whatever order a matrix product takes them.
LEFT, RIGHT, ROWS = 15, 26, 2**12
MOST_ROWS = 2**22  # sums of as many rows fit in 64 bits


def exact_product(left: FloatArray, right: FloatArray) -> Whole:
    """Return ``left.T @ right`` of floating-point numbers that are whole, of any size.

    Examples
    --------
    >>> left, right = np.array([[1.0], [1.0], [-1.0]]), np.array([[1e30], [1.0], [1e30]])
    >>> exact_product(left, right), left.T @ right
    (array([[1]], dtype=object), array([[0.]]))
    """
    total: Whole = np.zeros((left.shape[1], right.shape[1]), dtype=object)
    for start in range(0, len(left), MOST_ROWS):
        rows = slice(start, start + MOST_ROWS)
        for low, digit in _digits(left[rows], LEFT):
            for high, other in _digits(right[rows], RIGHT):
                total += _product(digit, other).astype(object) * 2 ** (low + high)
    return total


def _digits(values: FloatArray, bits: int) -> Iterator[tuple[int, FloatArray]]:
    """Whole numbers, each at most 2^bits in size, and the powers of two they are worth."""
    place = 0
    while (largest := np.abs(values).max(initial=0.0)) > 2.0**bits:
        if not np.isfinite(largest):
            raise ValueError("numbers so far apart cannot be added in double precision")
        above = np.rint(values * 2.0**-bits)
        yield place, values - above * 2.0**bits  # both are whole, and their difference is small
        values, place = above, place + bits
    yield place, values


def _product(left: FloatArray, right: FloatArray) -> NDArray[np.int64]:
    total: Any = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
    for start in range(0, len(left), ROWS):
        rows = slice(start, start + ROWS)
        total += (left[rows].T @ right[rows]).astype(np.int64)
    return total
