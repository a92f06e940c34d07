"""Whether coverage reaches a target, and how many rows it takes to tell."""

from scipy.stats import binom

CHANCE = 0.8  # of a verdict, among the rows asked for, if coverage is what was seen
MOST_ROWS = 10**9  # nobody has more: the coverage is too close to the target to tell


def reaches(low: float, high: float, target: float) -> bool | None:
    """Whether a probability between two bounds reaches the target; None if they leave it open."""
    if low >= target:
        return True
    return False if high < target else None


def rows_to_decide(hits: int, n: int, target: float, tail: float) -> int | None:
    """Number of rows of which exact bounds decide, if coverage is what n undecided rows show.

    With that many rows a bound that errs with probability ``tail`` is on one side of the target
    with probability `CHANCE`. None: no row says nothing, or the share is too close to the target.

    Examples
    --------
    >>> rows_to_decide(19, 20, 0.9, 0.025)
    243
    >>> rows_to_decide(18, 20, 0.9, 0.025) is None
    True
    """
    if n == 0:
        return None
    share = hits / n
    if share < target:  # as many misses are wanted as there are hits otherwise
        share, target = 1 - share, 1 - target
    too_few, enough = n, 2 * n
    while _chance(enough, share, target, tail) < CHANCE:
        too_few, enough = enough, 2 * enough
        if too_few > MOST_ROWS:
            return None
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _chance(middle, share, target, tail) < CHANCE:
            too_few = middle
        else:
            enough = middle
    return enough


def _chance(n: int, share: float, target: float, tail: float) -> float:
    """Probability that the lower bound of n rows reaches the target, if each hits with ``share``.

    It does so from one hit above the number that is exceeded with probability ``tail`` at most.
    """
    return float(binom.sf(binom.isf(tail, n, target), n, share))


def sentence(covers: bool | None, target: float, needed: int | None, n: int) -> str:
    """Return the verdict as a person would say it."""
    if covers is not None:
        return f"covers at least {target:g}" if covers else f"falls short of {target:g}"
    if n == 0:
        return "undecided: holds no row"
    if needed is None:
        return f"undecided: too close to {target:g} to tell"
    return f"undecided: needs about {rounded(needed):,} rows"


def rounded(rows: int) -> int:
    """Two digits of a number of rows, rounded up.

    Examples
    --------
    >>> rounded(7), rounded(12_345)
    (7, 13000)
    """
    unit = 10 ** max(len(str(rows)) - 2, 0)
    return -(-rows // unit) * unit
