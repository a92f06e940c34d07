"""The groups a certificate speaks of: all rows, and those named or those that the rule has."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.metrics.grouping import Grouping
from plcp.quantiles import IntArray
from plcp.shifts.columns import shown
from plcp.thresholds.members import distinct


def groups_of(rule: Any, X: Any, n: int, given: Mapping[str, ArrayLike]) -> Grouping:
    """Groups that a fitted rule learned or was given; most rules have none."""
    members = rule.members(X, **given)
    codes = np.repeat(np.arange(len(members)), [len(rows) for rows in members.values()])
    rows = np.concatenate([np.zeros(0, dtype=np.intp), *members.values()])
    return _by_row(np.array([*members], dtype=str), codes, rows, n)


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
