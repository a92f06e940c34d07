"""Coverage by group of one method or several: the numbers of the displays that draw groups."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plcp.certificate.members import groups_of, named_groups
from plcp.certificate.outcome import (
    Outcome,
    alpha_of,
    cautions_of,
    check_kind,
    check_rows,
    check_rule_groups,
    outcome_of,
)
from plcp.metrics import GroupCoverage, Grouping, coverage_by_group
from plcp.shifts.columns import shown

Tables = dict[str, GroupCoverage]


class Asked(NamedTuple):
    """What a fitted estimator did with labelled rows, and the groups to look at them by."""

    outcome: Outcome
    groups: Grouping
    alpha: float


def ask(
    estimator: Any, X: Any, y: ArrayLike, groups: Any = None, rule_groups: ArrayLike | None = None
) -> Asked:
    """Ask a fitted conformal estimator, or a threshold rule with y = scores, for its sets.

    Groups may be given in any form that metrics take, or by columns and functions of X. None: those
    that the rule learned or was given.
    """
    check_kind(estimator)
    check_is_fitted(estimator, "guarantee_")
    alpha = alpha_of(estimator)
    n, given = check_rows(X, y), check_rule_groups(estimator, rule_groups)
    if groups is None:
        found = groups_of(estimator, X, n, given)
        if not len(found):
            raise ValueError(f"{name_of(estimator)} has no groups of its own: name some as groups=")
    else:
        found = named_groups(groups, X, n)
    outcome = outcome_of(estimator, X, y, given)
    cautions_of(outcome)  # warns of rows that calibrated the rule
    return Asked(outcome, found, alpha)


def name_of(estimator: Any) -> str:
    """Name of the rule that makes the thresholds, in the words of the tables.

    Examples
    --------
    >>> from plcp import PLCP, SplitConformal
    >>> name_of(PLCP()), name_of(SplitConformal())
    ('PLCP', 'Split')
    """
    rule = estimator.thresholds_[0] if hasattr(estimator, "conformity_") else estimator
    return "Split" if type(rule).__name__ == "SplitConformal" else type(rule).__name__


def tabulate(
    covered: ArrayLike | Mapping[str, ArrayLike],
    size: ArrayLike | Mapping[str, ArrayLike] | None,
    groups: Any,
    *,
    name: str,
    alpha: float,
    confidence: float,
    sample_weight: ArrayLike | None,
) -> Tables:
    """Coverage by group of each method; a single one goes by ``name``."""
    options = {"alpha": alpha, "confidence": confidence, "sample_weight": sample_weight}
    if not isinstance(covered, Mapping):
        return {name: _table(covered, size, groups, options)}
    if not covered:
        raise ValueError("covered names no method, got {}: give sets.contains(y) for each name")
    if size is not None and (not isinstance(size, Mapping) or size.keys() != covered.keys()):
        raise ValueError(
            f"size must name the methods that covered names, {list(covered)}: give sets.size for "
            "each"
        )
    return {
        str(method): _table(hits, None if size is None else size[method], groups, options)
        for method, hits in covered.items()
    }


def _table(covered: ArrayLike, size: Any, groups: Any, options: dict[str, Any]) -> GroupCoverage:
    if size is not None:
        return coverage_by_group(covered, size, groups, **options)
    table = coverage_by_group(covered, np.zeros(np.shape(covered)), groups, **options)
    unknown = np.full(len(table.n), np.nan)
    return replace(table, size=unknown, size_error=unknown)


def check_tables(tables: Mapping[str, GroupCoverage]) -> Tables:
    """Refuse tables that are not of the same groups."""
    found = dict(tables)
    if not found:
        raise ValueError("tables names no method, got {}: give a GroupCoverage for each name")
    (first, one), *others = found.items()
    for name, table in others:
        if not np.array_equal(table.group, one.group):
            raise ValueError(
                f"{first} and {name} are measured on different groups: measure both on the same"
            )
    return found


def group_labels(table: GroupCoverage) -> list[str]:
    """Name of each group and its number of rows, as ticks show them."""
    return [
        f"{shown(name)} ({n:,} row{'' if n == 1 else 's'})"
        for name, n in zip(table.group, table.n, strict=True)
    ]
