"""The groups a certificate speaks of: those that the rule has, or those named."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.certificate.outcome import Outcome
from plcp.conformal.base import Conformal
from plcp.metrics.coverage import coverage_by_group
from plcp.shifts.columns import shown
from plcp.thresholds import PLCP, BatchGCP, BatchMVP, ConditionalCalibration, Mondrian

GIVEN = (BatchGCP, BatchMVP, ConditionalCalibration)  # rules of groups that may overlap
Members = dict[str, NDArray[np.bool_]]


class Tally(NamedTuple):
    """Rows of a group, how many of them are covered, and the mean size of their sets."""

    group: str
    n: int
    hits: int
    size: float | None


def tallies(
    rule: Any, X: Any, outcome: Outcome, groups: Any, rule_groups: ArrayLike | None
) -> list[Tally]:
    """Return the tally of all rows, then of each group, named or the rule's own."""
    everybody = _tally("all", np.ones(len(outcome.covered), dtype=bool), outcome)
    if groups is not None:
        return [everybody, *_named(groups, outcome)]
    own = groups_of(rule, X, rule_groups)
    return [everybody, *(_tally(name, rows, outcome) for name, rows in own.items())]


def _tally(name: str, rows: NDArray[np.bool_], outcome: Outcome) -> Tally:
    sizes = None if outcome.size is None else outcome.size[rows]
    size = None if sizes is None or len(sizes) == 0 else float(sizes.mean())
    return Tally(name, int(rows.sum()), int(outcome.covered[rows].sum()), size)


def _named(groups: Any, outcome: Outcome) -> list[Tally]:
    sized = outcome.size is not None
    size = np.zeros(len(outcome.covered)) if outcome.size is None else outcome.size
    table = coverage_by_group(outcome.covered, size, groups)
    empty = [shown(name) for name in table.group[table.n == 0]]
    if empty:
        raise ValueError(f"groups {empty} hold no row: drop them, or give rows of theirs")
    rows = zip(table.group, table.n, table.hits, table.size, strict=True)
    return [
        Tally(shown(name), int(n), int(hits), float(mean) if sized else None)
        for name, n, hits, mean in rows
    ]


def groups_of(rule: Any, X: Any, rule_groups: ArrayLike | None) -> Members:
    """Rows of each group that a fitted rule learned or was given, by name; none for most rules."""
    if not isinstance(rule, Conformal):
        return dict(_groups_of_rule(rule, X, rule_groups))
    seen = rule._select(X)
    tails = [dict(_groups_of_rule(tail, seen, None)) for tail in rule.thresholds_]
    if len(tails) == 1:
        return tails[0]
    return {
        f"tail {i + 1}, {name}": rows for i, tail in enumerate(tails) for name, rows in tail.items()
    }


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
