"""The verdict on a coverage: what bounds say of the target, and how many rows decide."""

from enum import StrEnum
from math import ceil, floor, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from plcp.quantiles import FloatArray, IntArray


class Verdict(StrEnum):
    """What bounds on a coverage say of the target; equal to its word, as in JSON.

    One of ``ON_TARGET``, ``ABOVE``, ``BELOW``, ``UNDECIDED`` and, in monitoring, ``DRIFTING``.

    Examples
    --------
    >>> from plcp.metrics import Verdict
    >>> Verdict.BELOW == "below", Verdict.BELOW.explanation
    (True, 'the upper bound lies below the target')
    >>> print(Verdict.ON_TARGET.signed)
    ✓ on target
    """

    ON_TARGET = "on target"
    ABOVE = "above"
    BELOW = "below"
    UNDECIDED = "undecided"
    DRIFTING = "drifting"

    @property
    def explanation(self) -> str:
        """What the verdict means, in a clause."""
        return EXPLANATIONS[self]

    @property
    def signed(self) -> str:
        """The word after a sign, so that it never depends on a colour alone."""
        return f"{SIGNS[self]} {self}"


SIGNS = dict(zip(Verdict, "✓▲▼○◆", strict=True))
EXPLANATIONS = dict(
    zip(
        Verdict,
        (
            "the bounds contain the target and exclude twice the promised misses",
            "the lower bound reaches the target",
            "the upper bound lies below the target",
            "the bounds contain the target and twice the promised misses too",
            "there are more misses than calibration and chance explain",
        ),
        strict=True,
    )
)


def verdict_of(low: float, high: float, target: float) -> Verdict:
    """Return what bounds on the coverage say of the target.

    Examples
    --------
    >>> bounds = (0.91, 0.95), (0.85, 0.95), (0.7, 0.95), (0.7, 0.8)
    >>> [str(verdict_of(*pair, 0.9)) for pair in bounds]
    ['above', 'on target', 'undecided', 'below']
    """
    if low >= target:
        return Verdict.ABOVE
    if high < target:
        return Verdict.BELOW
    excludes_twice_the_misses = low > 0 and low >= 2 * target - 1
    return Verdict.ON_TARGET if excludes_twice_the_misses else Verdict.UNDECIDED


def explain_verdicts(*verdicts: Verdict) -> str:
    """Return a legend of verdicts, those of an audit unless others are named.

    Examples
    --------
    >>> explain_verdicts(Verdict.ABOVE, Verdict.BELOW)
    'above: the lower bound reaches the target; below: the upper bound lies below the target.'
    """
    named = verdicts or tuple(v for v in Verdict if v is not Verdict.DRIFTING)
    return "; ".join(f"{verdict}: {verdict.explanation}" for verdict in named) + "."


CHANCE = 0.8  # of a decision with that many rows, if coverage is the share observed
MOST_ROWS = 10**9  # beyond it, coverage is too close to the target to decide


def default_target(alpha: float) -> float:
    """Coverage 1 - alpha less a margin of sqrt(alpha (1 - alpha) / 100), rounded to one digit.

    The margin is a tenth of the standard deviation of one row's outcome, so that about as many
    rows decide whatever alpha is. It is also the standard deviation of the coverage that remains
    after calibration on 100 rows: less would fail rules that are as good as their rows allow.

    Examples
    --------
    >>> [default_target(alpha) for alpha in (0.2, 0.1, 0.05, 0.01)]
    [0.76, 0.87, 0.93, 0.98]
    """
    margin = float(f"{sqrt(alpha * (1 - alpha) / 100):.1g}")
    return round(1 - alpha - min(margin, (1 - alpha) / 2), 12)


def chance_to_decide(
    rows: ArrayLike, coverage: ArrayLike, target: ArrayLike, tail: float
) -> FloatArray:
    """Probability that an exact lower bound reaches the target, by the binomial law.

    The bound errs with probability ``tail``: (1 - confidence) / 2, shared out among the groups.

    Examples
    --------
    Rules that cover 0.9 of rows beside the default target of 0.87, at confidence 0.95: all rows
    without groups, then each of 5, 10 and 20 groups of one size (and all rows, one test more).

    >>> rows = np.array([1_000, 5_000, 20_000])
    >>> chance_to_decide(rows, 0.9, 0.87, 0.05 / 2).round(2)
    array([0.84, 1.  , 1.  ])
    >>> for k in (5, 10, 20):
    ...     print(k, chance_to_decide(rows // k, 0.9, 0.87, 0.05 / 2 / (k + 1)).round(2))
    5 [0.06 0.61 1.  ]
    10 [0.01 0.21 0.9 ]
    20 [0.01 0.03 0.44]
    """
    # decided from one hit above the number that is exceeded with probability tail at most
    return np.asarray(binom.sf(binom.isf(tail, rows, target), rows, coverage))


def rows_to_decide(hits: ArrayLike, n: ArrayLike, target: float, tail: float) -> IntArray:
    """Number of rows by which exact bounds exclude the target, if coverage is the share of n rows.

    With that many rows a bound that errs with probability ``tail`` is on one side of the target
    with probability `CHANCE`. Zero: there is no row, or the share is too close to the
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
        return np.asarray(chance_to_decide(rows, share, goal, tail) >= CHANCE)

    few, many = n, 2 * n
    while (short := ~is_enough(many) & (many > 0) & (many < MOST_ROWS)).any():
        few, many = np.where(short, many, few), np.where(short, 2 * many, many)
    found = is_enough(many) & (n > 0)
    while (found & (many - few > 1)).any():
        middle = (few + many) // 2
        reached = is_enough(middle)
        few, many = np.where(reached, few, middle), np.where(reached, middle, many)
    return np.where(found, many, 0)


def in_words(
    verdict: Verdict, target: float, bounds: tuple[float, float], needed: int | None
) -> str:
    """Return a verdict with what is certain, and with the rows that would decide an open one.

    Examples
    --------
    >>> in_words(Verdict.UNDECIDED, 0.87, (0.7412, 0.9199), 1402)
    'undecided, between 0.741 and 0.920: needs about 1,500 rows'
    >>> in_words(Verdict.ABOVE, 0.87, (0.8812, 0.9199), None)
    'above 0.87'
    """
    if verdict in (Verdict.ABOVE, Verdict.BELOW):
        return f"{verdict} {target:g}"
    if bounds[0] == 0 and bounds[1] == 1:
        return f"{verdict}, holds no row"
    certain = f"{verdict}, between {down(bounds[0])} and {up(bounds[1])}"
    if needed is None:
        return f"{certain}: too close to {target:g} to decide"
    return f"{certain}: needs about {rounded(needed):,} rows"


def down(bound: float) -> str:
    """Return three digits of a lower bound, rounded so that they are one too."""
    return f"{floor(1000 * bound) / 1000:.3f}"


def up(bound: float) -> str:
    """Return three digits of an upper bound, rounded so that they are one too."""
    return f"{ceil(1000 * bound) / 1000:.3f}"


def rounded(rows: int) -> int:
    """Two digits of a number of rows, rounded up.

    Examples
    --------
    >>> rounded(7), rounded(12_345)
    (7, 13000)
    """
    unit = 10 ** max(len(str(rows)) - 2, 0)
    return -(-rows // unit) * unit
