"""The groups a certificate speaks of: all rows, and those named or those that the rule has."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.metrics.grouping import Grouping, as_grouping, column_groups
from plcp.quantiles import IntArray
from plcp.shifts.columns import shown
from plcp.thresholds.members import distinct


def groups_of(rule: Any, X: Any, n: int, given: Mapping[str, ArrayLike]) -> Grouping:
    """Groups that a fitted rule learned or was given; most rules have none."""
    members = rule.members(X, **given)
    codes = np.repeat(np.arange(len(members)), [len(rows) for rows in members.values()])
    rows = np.concatenate([np.zeros(0, dtype=np.intp), *members.values()])
    return _by_row(np.array([*members], dtype=str), codes, rows, n)


def named_groups(groups: Any, X: Any, n: int) -> Grouping:
    """Groups in any form that metrics take, or by columns and functions of X."""
    sources = groups.values() if isinstance(groups, Mapping) else groups
    is_list = isinstance(groups, Mapping) or (isinstance(groups, list) and len(groups) != n)
    # a list as long as X is one of labels
    if _is_source(groups) or (is_list and any(_is_source(source) for source in sources)):
        return column_groups(X, groups)
    return as_grouping(groups, n)


def _is_source(value: Any) -> bool:
    return isinstance(value, str) or callable(value)


def with_everybody(groups: Grouping) -> Grouping:
    """All rows as the first group, then the groups given, no two of one name.

    Examples
    --------
    >>> from plcp.metrics.grouping import as_grouping
    >>> with_everybody(as_grouping({"old": [True, False, True]}, 3))
    Grouping(['all', 'old'] of 3 rows)
    """
    everybody = np.arange(groups.n_rows)
    rows = np.r_[everybody, everybody if groups.rows is None else groups.rows]
    codes = np.r_[np.zeros_like(everybody), groups.codes + 1]
    names = np.array(distinct(["all", *(shown(name) for name in groups.names)]))
    return _by_row(names, codes, rows, groups.n_rows)


def _by_row(names: NDArray[Any], codes: IntArray, rows: IntArray, n: int) -> Grouping:
    """List memberships by rising row, as a grouping wants them."""
    order = np.argsort(rows, kind="stable")
    return Grouping(names, codes[order], rows[order], n)
