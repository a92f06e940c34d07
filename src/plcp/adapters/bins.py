"""The number of each row's group, for those who calibrate group by group."""

from dataclasses import dataclass
from typing import Any

from plcp.adapters.grouped import check_grouped
from plcp.quantiles import IntArray
from plcp.validation import shortened


@dataclass(frozen=True)
class Bins:
    """A function from rows to the number of each one's group."""

    rule: Any

    def __call__(self, X: Any) -> IntArray:
        """Return the group of each row, as numbered in the rule's ``thresholds_``."""
        groups = self.rule.assign(X).groups
        if groups is None:
            self.rule.members(X)  # levels with groups of their own say so themselves
            raise ValueError(
                f"{type(self.rule).__name__} has not one group for each row: use PLCP or Mondrian, "
                "or as_feature_map for groups that overlap"
            )
        unseen = (groups < 0).nonzero()[0].tolist()
        if unseen:
            raise ValueError(
                f"rows {shortened(unseen)} are of groups that the rule never saw: leave them out, "
                "or fit it on rows of all groups"
            )
        return groups


def bins(rule: Any) -> Bins:
    """Groups of a fitted rule as bins of Mondrian categories, e.g. for crepes.

    ``WrapRegressor(model).calibrate(X, y, mc=bins(rule))``. The rule must have been fitted on
    other rows than those given to ``calibrate``: groups learned from a score's own row void the
    guarantee. crepes 0.9 gives a row of a bin without calibration rows the interval [0, 0]: see
    that every group holds some.

    Parameters
    ----------
    rule : fitted threshold rule
        With one group for each row: ``PLCP``, ``Mondrian``.

    Returns
    -------
    Bins
        A function from rows to whole numbers, which can be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import Mondrian
    >>> X = np.repeat([[0.0], [1.0]], 20, axis=0)
    >>> rule = Mondrian(0).fit(X, np.arange(40.0))
    >>> bins(rule)([[1.0], [0.0], [1.0]])
    array([1, 0, 1])
    """
    return Bins(check_grouped(rule))
