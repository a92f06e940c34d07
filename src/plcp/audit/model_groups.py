"""The groups that a model learned, with their thresholds and rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plcp.audit.grouped import Described, GroupList
from plcp.quantiles import IntArray

ABOUT = (
    "Groups that the rule learned from calibration rows, by their number. Rules in words may fit "
    "them only in part: how well was counted on calibration rows that the words were not learned "
    "from. A threshold that varies within its group is that of its median row."
)


def model_groups(
    codes: IntArray, thresholds: Sequence[float], explanation: Mapping[str, Any] | None = None
) -> GroupList:
    """Groups of new rows as a model numbers them.

    Parameters
    ----------
    codes : array of int
        Learned group of each row; one below zero is in none, and not measured.
    thresholds : sequence of float
        Threshold of each learned group; there may be groups without rows.
    explanation : mapping, optional
        ``Explanation.to_dict()``: names, rules and what is special.

    Examples
    --------
    >>> [group.name for group in model_groups(np.array([1, 0, 1]), [0.5, 2.0]).groups]
    ['group 0', 'group 1']
    """
    known = {} if explanation is None else {told["group"]: told for told in explanation["groups"]}
    groups = [
        _described(number, float(threshold), known.get(number))
        for number, threshold in enumerate(thresholds)
    ]
    numbers = np.asarray(codes, dtype=np.intp)
    rows = np.flatnonzero(numbers >= 0) if (numbers < 0).any() else None
    return GroupList(groups, numbers if rows is None else numbers[rows], ABOUT, rows)


def _described(number: int, threshold: float, told: Mapping[str, Any] | None) -> Described:
    if told is None:
        return Described(f"group {number}", threshold=threshold)
    special = tuple(difference["text"] for difference in told["profile"])
    fit = told.get("precision"), told.get("recall")
    return Described(told["name"], told["rule"], threshold, special, *fit)
