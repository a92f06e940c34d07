"""The groups a certificate speaks of: all rows, and those named or those that the rule has."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.conformal.base import Conformal
from plcp.metrics.grouping import Grouping, as_grouping
from plcp.shifts.columns import shown
from plcp.thresholds import PLCP, BatchGCP, BatchMVP, ConditionalCalibration, Mondrian

GIVEN = (BatchGCP, BatchMVP, ConditionalCalibration)  # rules of groups that may overlap
Members = dict[str, NDArray[np.bool_]]


def with_everybody(groups: Any, n: int) -> Grouping:
    """All of n rows as the first group, then the groups given, in any form that metrics take.

    None: no other group.

    Examples
    --------
    >>> with_everybody({"old": [True, False, True]}, 3)
    Grouping(['all', 'old'] of 3 rows)
    """
    everybody, first = np.arange(n), np.zeros(n, dtype=np.intp)
    if groups is None:
        return Grouping(np.array(["all"]), first, None, n)
    given = as_grouping(groups, n)
    rows = np.r_[everybody, everybody if given.rows is None else given.rows]
    codes = np.r_[first, given.codes + 1]
    order = np.argsort(rows, kind="stable")  # memberships are listed by rising row
    names = np.array(["all", *(shown(name) for name in given.names)])
    return Grouping(names, codes[order], rows[order], n)


def groups_of(rule: Any, X: Any, rule_groups: ArrayLike | None) -> Members | None:
    """Rows of each group that a fitted rule learned or was given; None for most rules."""
    if not isinstance(rule, Conformal):
        return dict(_groups_of_rule(rule, X, rule_groups)) or None
    seen = rule._select(X)
    tails = [dict(_groups_of_rule(tail, seen, None)) for tail in rule.thresholds_]
    if len(tails) == 1:
        return tails[0] or None
    numbered = enumerate(tails, start=1)
    return {
        f"tail {i}, {name}": rows for i, tail in numbered for name, rows in tail.items()
    } or None


def _groups_of_rule(
    rule: Any, X: Any, given: ArrayLike | None
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    if isinstance(rule, PLCP):
        learned = rule.groups(X)
        yield from ((f"learned group {i}", learned == i) for i in range(rule.n_groups_))
    elif isinstance(rule, Mondrian):
        labels = rule._labels(X, given)
        yield from ((shown(label), labels == label) for label in rule.groups_)
    elif isinstance(rule, GIVEN) and rule._groups is not None:
        yield from zip(rule.groups_, rule._groups.transform(X, given=given).T > 0, strict=True)
