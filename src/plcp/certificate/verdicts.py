"""Whether coverage reaches a target, and how many rows it takes to tell."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from plcp.quantiles import IntArray

CHANCE = 0.8  # of a verdict, among the rows asked for, if coverage is what was seen
MOST_ROWS = 10**9  # nobody has more: the coverage is too close to the target to tell


def reaches(low: float, high: float, target: float) -> bool | None:
    """Whether a probability between two bounds reaches the target; None if they leave it open."""
    if low >= target:
        return True
    return False if high < target else None


def rows_to_decide(hits: ArrayLike, n: ArrayLike, target: float, tail: float) -> IntArray:
    """Number of rows by which exact bounds decide, if coverage is what n undecided rows show.

    With that many rows a bound that errs with probability ``tail`` is on one side of the target
    with probability `CHANCE`. Zero: there is no row to go by, or the share is too close to the
    target.

    Examples
    --------
    >>> rows_to_decide([19, 18, 0], [20, 20, 0], 0.9, 0.025)
    array([243,   0,   0])
    """
    hits, n = np.asarray(hits), np.asarray(n)
    share = hits / np.maximum(n, 1)
    # misses are to a share too low what hits are to one too high
    share, goal = np.where(share < target, [1 - share, 0 * n + 1 - target], [share, 0 * n + target])

    def is_enough(rows: IntArray) -> NDArray[np.bool_]:
        # decided from one hit above the number that is exceeded with probability tail at most
        return np.asarray(binom.sf(binom.isf(tail, rows, goal), rows, share) >= CHANCE)

    few, many = n, 2 * n
    while (short := ~is_enough(many) & (many > 0) & (many < MOST_ROWS)).any():
        few, many = np.where(short, many, few), np.where(short, 2 * many, many)
    found = is_enough(many) & (n > 0)
    while (found & (many - few > 1)).any():
        middle = (few + many) // 2
        reached = is_enough(middle)
        few, many = np.where(reached, few, middle), np.where(reached, middle, many)
    return np.where(found, many, 0)


def sentence(covers: bool | None, target: float, needed: int | None, n: int) -> str:
    """Return the verdict as a person would say it."""
    if covers is not None:
        return f"covers at least {target:g}" if covers else f"falls short of {target:g}"
    if n == 0:
        return "undecided, holds no row"
    if needed is None:
        return f"undecided, too close to {target:g} to tell"
    return f"undecided, needs about {rounded(needed):,} rows"


def rounded(rows: int) -> int:
    """Two digits of a number of rows, rounded up.

    Examples
    --------
    >>> rounded(7), rounded(12_345)
    (7, 13000)
    """
    unit = 10 ** max(len(str(rows)) - 2, 0)
    return -(-rows // unit) * unit
