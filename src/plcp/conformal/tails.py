"""One rule for each tail of a score."""

from typing import Any

from sklearn.base import clone


def tails_of(rule: Any, n: int) -> list[Any]:
    """Return one rule, not fitted, for each of n tails, each at its share of alpha.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> tails_of(SplitConformal(alpha=0.2), 2)
    [SplitConformal(), SplitConformal()]
    """
    share = {} if n == 1 else {"alpha": rule.alpha / n}
    return [clone(rule).set_params(**share) for _ in range(n)]
