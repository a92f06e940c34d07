"""Thresholds along one or two features: middle and spread in each cell."""

from dataclasses import dataclass

import numpy as np

from plcp.plotting.features import Cells
from plcp.quantiles import FloatArray, IntArray

LEVELS = (0.1, 0.5, 0.9)  # of the band's lower end, the line, and the band's upper end


@dataclass(frozen=True, eq=False)
class Profile:
    """Thresholds of the rows in each cell of one feature, or of two.

    Parameters
    ----------
    cells : tuple of one or two Cells
    n : array of shape (k,) or (k, l)
        Number of rows of each cell.
    low, median, high : array of the same shape
        Lowest tenth, middle and highest tenth of their thresholds: each is the threshold of a row,
        so that infinite ones do no harm. NaN where a cell holds no row.
    """

    cells: tuple[Cells, ...]
    n: IntArray
    low: FloatArray
    median: FloatArray
    high: FloatArray


def profile_of(cells: tuple[Cells, ...], thresholds: FloatArray) -> Profile:
    """Middle and spread of the thresholds in each cell.

    Examples
    --------
    >>> from plcp.plotting.features import cut_feature
    >>> cells = cut_feature("sex", np.array(["m", "f", "m", "m"]), most=2)
    >>> profile_of((cells,), np.array([3.0, 1.0, 4.0, np.inf])).median
    array([1., 4.])
    """
    shape = tuple(len(each) for each in cells)
    inside = np.all([each.codes >= 0 for each in cells], axis=0)
    codes = np.ravel_multi_index(tuple(each.codes[inside] for each in cells), shape)
    n = np.bincount(codes, minlength=int(np.prod(shape)))
    order = np.lexsort((thresholds[inside], codes))
    ordered = thresholds[inside][order]
    first = np.cumsum(n) - n
    found = []
    for level in LEVELS:
        rank = np.maximum(np.ceil(level * n).astype(np.intp), 1) - 1
        at = np.minimum(first + rank, len(ordered) - 1)
        found.append(np.where(n > 0, ordered[at], np.nan).reshape(shape))
    return Profile(cells, n.reshape(shape), *found)
