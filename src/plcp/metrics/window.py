"""The stretch of rows along a line with the smallest coverage."""

from typing import NamedTuple

import numpy as np

from plcp.quantiles import FloatArray, IntArray


class Window(NamedTuple):
    """All positions from ``low`` to ``high``: how many rows are there, and how many are covered."""

    low: float
    high: float
    n: int
    hits: int


def worst_window(
    position: FloatArray, hits: IntArray, n: IntArray, least: int, than: Window
) -> Window:
    """Window of at least ``least`` rows with the smallest coverage, if that is below ``than``'s.

    A window of n rows, h of them covered, is covered less than H in N if and only if N h - H n is
    negative. Where this is smallest is found in one pass; that window is then the one to beat,
    until no other beats it (Dinkelbach 1967). In whole numbers nothing is rounded, so the window
    found is the best of all; a few passes do, since coverage falls faster than linearly.

    Rows at one position are in the window together or not at all. Its ends lie halfway to the next
    rows, or at infinity where there is none.

    References
    ----------
    Dinkelbach (1967). On nonlinear fractional programming. Management Science.

    Examples
    --------
    >>> everything = Window(-np.inf, np.inf, n=6, hits=4)
    >>> ones = np.ones(6, dtype=int)
    >>> worst_window(np.arange(6.0), np.array([1, 1, 0, 0, 1, 1]), ones, 2, everything)
    Window(low=1.5, high=3.5, n=2, hits=0)
    """
    order = np.argsort(position)
    places = position[order]
    is_last = np.append(places[1:] > places[:-1], True)  # of the rows at one position
    places = places[is_last]
    # rows, and covered rows, before each place and in all
    rows, covered = (np.append(0, np.cumsum(c[order])[is_last]) for c in (n, hits))
    ends = np.arange(np.searchsorted(rows, least), len(rows))
    starts = np.searchsorted(rows, rows[ends] - least, side="right")  # these many leave enough rows
    if len(ends) == 0:
        return than
    while True:
        balance = than.n * covered - than.hits * rows
        gain = balance[ends] - np.maximum.accumulate(balance)[starts - 1]
        best = int(np.argmin(gain))
        if gain[best] >= 0:
            return than
        start, end = int(np.argmax(balance[: starts[best]])), int(ends[best])
        low = (places[start - 1] + places[start]) / 2 if start else -np.inf
        high = (places[end - 1] + places[end]) / 2 if end < len(places) else np.inf
        than = Window(
            float(low),
            float(high),
            int(rows[end] - rows[start]),
            int(covered[end] - covered[start]),
        )
