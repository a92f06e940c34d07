"""Groups of a fitted rule for other packages: bins for crepes, a feature map for MAPIE."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plcp._options import shortened
from plcp._rows import count
from plcp.conformal import Conformal
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds import PLCP, ThresholdRule

__all__ = [
    "Bins",
    "FeatureMap",
    "as_feature_map",
    "bins",
]


def check_grouped(rule: Any) -> Any:
    """Return the rule if it is a fitted threshold rule."""
    if isinstance(rule, Conformal):
        raise TypeError(
            f"groups are those of a threshold rule, got {type(rule).__name__}: give its rule, "
            "tail_rules_[0], and rows after features= has been applied"
        )
    if not isinstance(rule, ThresholdRule):
        raise TypeError(
            f"groups are those of a fitted threshold rule, got {rule!r}: give one, such as "
            "PLCP().fit(X, scores)"
        )
    check_is_fitted(rule)
    return rule


@dataclass(frozen=True)
class Bins:
    """A function from rows to the number of the group of each.

    Parameters
    ----------
    rule : fitted ThresholdRule
        Whose groups are the bins.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import Mondrian
    >>> from plcp.interop import Bins
    >>> X = np.repeat([[0.0], [1.0]], 20, axis=0)
    >>> rule = Mondrian(0).fit(X, np.arange(40.0))
    >>> Bins(rule)([[1.0], [0.0]])
    array([1, 0])
    """

    rule: Any

    def __call__(self, X: Any) -> IntArray:
        """Return the group of each row, as numbered in the rule's ``thresholds_``."""
        groups = self.rule.assign(X).groups
        if groups is None:
            self.rule.members(X)  # raises if alphas have groups of their own
            raise ValueError(
                f"{type(self.rule).__name__} gives rows no single group: use PLCP or Mondrian, or "
                "as_feature_map for groups that overlap"
            )
        unseen = (groups < 0).nonzero()[0].tolist()
        if unseen:
            raise ValueError(
                f"rows {shortened(unseen)} are of groups without calibration rows: leave them out, "
                "or fit it on rows of all groups"
            )
        return groups


def bins(rule: Any) -> Bins:
    """Groups of a fitted rule as bins of Mondrian categories, e.g. for crepes.

    ``WrapRegressor(model).calibrate(X, y, mc=bins(rule))``. The rule must have been fitted on
    other rows than those given to ``calibrate``: groups learned from a score's own row void the
    guarantee. crepes 0.9 gives rows of a bin without calibration rows the interval [0, 0]: check
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
    >>> from plcp.interop import bins
    >>> X = np.repeat([[0.0], [1.0]], 20, axis=0)
    >>> rule = Mondrian(0).fit(X, np.arange(40.0))
    >>> bins(rule)([[1.0], [0.0], [1.0]])
    array([1, 0, 1])
    """
    return Bins(check_grouped(rule))


@dataclass(frozen=True)
class FeatureMap:
    """A function from rows to one column per group.

    Parameters
    ----------
    rule : fitted ThresholdRule
        Whose groups are the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import Mondrian
    >>> from plcp.interop import FeatureMap
    >>> X = np.repeat([[0.0], [1.0]], 20, axis=0)
    >>> rule = Mondrian(0).fit(X, np.arange(40.0))
    >>> FeatureMap(rule)([[1.0], [0.0]])
    array([[0., 1.],
           [1., 0.]])
    """

    rule: Any

    def __call__(self, X: Any) -> FloatArray:
        """Return the membership of each row in each group, shape (n, groups)."""
        columns = self._columns(X)
        nowhere = np.flatnonzero(~columns.any(axis=1)).tolist()
        if nowhere:
            raise ValueError(
                f"rows {shortened(nowhere)} belong to no group of the rule, which then promises "
                "nothing for them: leave them out, or fit it on rows of all groups"
            )
        return columns

    def _columns(self, X: Any) -> FloatArray:
        rule = self.rule
        if isinstance(rule, PLCP) and rule._assigns != "mode":
            return rule.memberships(X)
        members = rule.members(X)
        if not members:
            raise ValueError(f"{type(rule).__name__} has no groups: use PLCP, or a rule with some")
        columns = np.zeros((count(X), len(members)))
        for column, rows in zip(columns.T, members.values(), strict=True):
            column[rows] = 1.0
        return columns


def as_feature_map(rule: Any) -> FeatureMap:
    """Groups of a fitted rule as a feature map, e.g. for MAPIE's conditional classes.

    ``ConditionalSplitConformalRegressor(as_feature_map(rule), model, 0.9)``: coverage then holds in
    each of the groups at once, also where they overlap, and for soft groups
    (``assignment="sample"`` or ``"mean"``) under each shift that weighs rows by one of the
    memberships h(x). The rule must have been fitted on other rows than those given to
    ``conformalize``: groups learned from a score's own row void the guarantee.

    Parameters
    ----------
    rule : fitted threshold rule
        With groups, learned or given: ``PLCP``, ``Mondrian``, ``BatchGCP``, …

    Returns
    -------
    FeatureMap
        A function from rows to an array of shape (n, groups), which can be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import Mondrian
    >>> from plcp.interop import as_feature_map
    >>> X = np.repeat([[0.0], [1.0]], 20, axis=0)
    >>> rule = Mondrian(0).fit(X, np.arange(40.0))
    >>> as_feature_map(rule)([[1.0], [0.0]])
    array([[0., 1.],
           [1., 0.]])
    """
    return FeatureMap(check_grouped(rule))
