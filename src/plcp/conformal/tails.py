"""One rule for each tail of a score."""

from typing import Any

from sklearn.base import clone

from plcp.thresholds.levels import is_several


def tails_of(rule: Any, n: int) -> list[Any]:
    """Return one rule, not fitted, for each of n tails, each at its share of alpha.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> tails_of(SplitConformal(alpha=0.2), 2)
    [SplitConformal(), SplitConformal()]
    """
    share = {} if n == 1 else {"alpha": _divided(rule.alpha, n)}
    return [clone(rule).set_params(**share) for _ in range(n)]


def _divided(alpha: Any, n: int) -> Any:
    return [level / n for level in alpha] if is_several(alpha) else alpha / n
