"""The groups of a rule as columns, for those who ask for coverage over a span of functions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plcp.adapters.grouped import check_grouped
from plcp.quantiles import FloatArray
from plcp.rows import count
from plcp.thresholds import PLCP
from plcp.validation import shortened


@dataclass(frozen=True)
class FeatureMap:
    """A function from rows to one column a group."""

    rule: Any

    def __call__(self, X: Any) -> FloatArray:
        """Return how far each row belongs to each group, shape (n, groups)."""
        columns = self._columns(X)
        nowhere = np.flatnonzero(~columns.any(axis=1)).tolist()
        if nowhere:
            raise ValueError(
                f"rows {shortened(nowhere)} belong to no group of the rule, so that nothing can be "
                "said of them: leave them out, or fit it on rows of all groups"
            )
        return columns

    def _columns(self, X: Any) -> FloatArray:
        rule = self.rule
        if isinstance(rule, PLCP) and rule.assignment != "mode":
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
    >>> X = np.repeat([[0.0], [1.0]], 20, axis=0)
    >>> rule = Mondrian(0).fit(X, np.arange(40.0))
    >>> as_feature_map(rule)([[1.0], [0.0]])
    array([[0., 1.],
           [1., 0.]])
    """
    return FeatureMap(check_grouped(rule))
