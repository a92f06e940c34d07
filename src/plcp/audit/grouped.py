"""Groups of rows with what is known of each, measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from plcp.audit.outcome import Outcome
from plcp.certificate.verdicts import reaches
from plcp.metrics import GroupCoverage, Grouping, coverage_by_group
from plcp.quantiles import IntArray

LABELS = "number of labels"  # what the sizes of label sets are
ABOVE, IN_KEEPING, SHORT, TOO_FEW = "above", "in keeping", "falls short", "too few rows"


class Described(NamedTuple):
    """Name of a group, and what else is known of it."""

    name: str
    rule: str | None = None
    threshold: float | None = None
    special: tuple[str, ...] = ()
    precision: float | None = None
    recall: float | None = None


@dataclass(frozen=True, eq=False)
class GroupList:
    """Groups of which each row is in one.

    Parameters
    ----------
    groups : sequence of Described
        The groups, in the order to show them in.
    codes : array of int
        Place in ``groups`` of the group of each row.
    about : str
        How they came about, in a sentence.
    rows : array of int or None
        Rows that ``codes`` are of, and on which the groups are measured; None: all of them.
    """

    groups: Sequence[Described]
    codes: IntArray
    about: str
    rows: IntArray | None = None

    def measure(
        self, outcomes: Mapping[str, Outcome], target: float, confidence: float
    ) -> list[dict[str, Any]]:
        """Coverage, bounds, size and verdict of each group by each method, as plain values."""
        cells = {
            method: measure(outcome.take(self.rows), self.codes, len(self.groups), confidence)
            for method, outcome in outcomes.items()
        }
        counts = np.bincount(self.codes, minlength=len(self.groups))
        return [
            {
                "name": group.name,
                "rule": group.rule,
                "n": int(counts[i]),
                "share": float(counts[i] / len(self.codes)),
                "threshold": number(group.threshold),
                "cells": {name: cell(table, i, target) for name, table in cells.items()},
                "special": list(group.special),
                "precision": group.precision,
                "recall": group.recall,
            }
            for i, group in enumerate(self.groups)
        ]


def measure(outcome: Outcome, codes: IntArray, n_groups: int, confidence: float) -> GroupCoverage:
    """Measure an outcome in groups given by their numbers; sizes nobody knows are NaN."""
    size = np.zeros(len(codes)) if outcome.size is None else outcome.size
    groups = Grouping(np.arange(n_groups), codes, None, len(codes))
    table = coverage_by_group(outcome.covered, size, groups, confidence=confidence)
    return replace(table, size=np.full(n_groups, np.nan)) if outcome.size is None else table


def cell(table: GroupCoverage, i: int, target: float) -> dict[str, Any]:
    """Return one group of a measured table, with its verdict."""
    low, high = float(table.low_all[i]), float(table.high_all[i])
    return {
        "n": int(table.n[i]),
        "hits": int(table.hits[i]),
        "coverage": number(table.coverage[i]),
        "low": float(table.low[i]),
        "high": float(table.high[i]),
        "low_all": low,
        "high_all": high,
        "size": number(table.size[i]),
        "verdict": verdict(low, high, target),
    }


def verdict(low: float, high: float, target: float) -> str:
    """What bounds on the coverage say of the coverage asked for.

    Rows are too few where twice as many misses as promised could not be told from the promise.

    Examples
    --------
    >>> [verdict(*bounds, 0.9) for bounds in ((0.91, 0.95), (0.85, 0.95), (0.7, 0.95), (0.7, 0.8))]
    ['above', 'in keeping', 'too few rows', 'falls short']
    """
    known = reaches(low, high, target)
    if known is not None:
        return ABOVE if known else SHORT
    is_told = low > 0 and low >= 2 * target - 1
    return IN_KEEPING if is_told else TOO_FEW


def number(value: float | None) -> float | str | None:
    """Return a number as strict JSON can hold it: "inf" for infinity, None for NaN.

    Examples
    --------
    >>> number(np.float64(2.5)), number(np.inf), number(np.nan), number(None)
    (2.5, 'inf', None, None)
    """
    if value is None or np.isnan(value):
        return None
    return f"{value:g}" if np.isinf(value) else float(value)
