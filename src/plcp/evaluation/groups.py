"""Groups of rows by columns or as a model learned them, and coverage measured in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plcp._files import find_column
from plcp._rows import frame_package
from plcp._verdict import verdict_of
from plcp.evaluation.columns import Scale, holds_lists, scale_of
from plcp.evaluation.formatting import label
from plcp.evaluation.outcome import Outcome
from plcp.evaluation.roles import By
from plcp.metrics import Grouping, coverage_by_group
from plcp.metrics.binomial import clopper_pearson
from plcp.quantiles import IntArray

if TYPE_CHECKING:
    import pandas as pd


LABELS = "number of labels"  # what the sizes of label sets are


class Described(NamedTuple):
    """Name of a group, and what else is known of it.

    Attributes
    ----------
    name : str
        Its name.
    rule : str or None
        What describes its rows.
    threshold : float or None
        Its threshold.
    special : tuple of str
        What sets its rows apart where no rule does.
    precision, recall : float or None
        How well the rule describes it.

    Examples
    --------
    >>> from plcp.evaluation import Described
    >>> Described("young", rule="age up to 29", threshold=2.5).name
    'young'
    """

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

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.evaluation import Described, GroupList, Outcome
    >>> groups = GroupList([Described("a"), Described("b")], np.array([0, 1, 1, 1]), "Given.")
    >>> cells = groups.measure({"ours": Outcome(np.array([True, True, False, True]))}, 0.9, 0.95)
    >>> [(group["name"], group["n"]) for group in cells]
    [('a', 1), ('b', 3)]
    """

    groups: Sequence[Described]
    codes: IntArray
    about: str
    rows: IntArray | None = None

    def measure(
        self,
        outcomes: Mapping[str, Outcome],
        target: float,
        confidence: float,
        together: int | None = None,
    ) -> list[dict[str, Any]]:
        """Coverage, bounds, size and verdict of each group by each method, as plain values.

        Verdicts rest on bounds that hold for so many groups ``together``, those of the list unless
        it is one of several.
        """
        k = together or len(np.unique(self.codes))
        cells = {
            method: cells_of(
                outcome.take(self.rows), self.codes, len(self.groups), target, confidence, k
            )
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
                "cells": {name: found[i] for name, found in cells.items()},
                "special": list(group.special),
                "precision": group.precision,
                "recall": group.recall,
            }
            for i, group in enumerate(self.groups)
        ]


def cells_of(
    outcome: Outcome,
    codes: IntArray,
    n_groups: int,
    target: float,
    confidence: float,
    together: int = 1,
) -> list[dict[str, Any]]:
    """Measure an outcome in groups given by their numbers, and judge each.

    Bounds are those of the group alone, and wider ones for so many groups ``together``.
    """
    groups = Grouping(np.arange(n_groups), codes, None, len(codes))
    table = coverage_by_group(outcome.covered, groups, outcome.size, confidence=confidence)
    low, high = clopper_pearson(table.hits, table.n, 1 - (1 - confidence) / max(together, 1))
    return [
        {
            "n": int(table.n[i]),
            "hits": int(table.hits[i]),
            "coverage": number(table.coverage[i]),
            "low": float(table.low[i]),
            "high": float(table.high[i]),
            "low_all": float(low[i]),
            "high_all": float(high[i]),
            "size": number(table.size[i]),
            "verdict": str(verdict_of(low[i], high[i], target)),
        }
        for i in range(n_groups)
    ]


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


MOST_VALUES = 12  # of a number, each of which is a group of its own
BINS = 5
MOST_CATEGORIES = 30


def group_by(frame: pd.DataFrame, by: By) -> GroupList:
    """Group rows by a column: by its values, or by bins of its numbers or dates.

    Numbers and dates of more than 12 values are cut into 5 bins unless another number is
    requested. Beyond the 30 most frequent categories, the others are one group. Rows without a
    value are a group of their own.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [17, 25, 38, 44, 51, 80], "sex": list("fmf") + [None] * 3})
    >>> [group.name for group in group_by(people, By("age", 3)).groups]
    ['age up to 29', 'age 30 to 49', 'age 50 and over']
    >>> [group.name for group in group_by(people, By("sex")).groups]
    ['sex is f', 'sex is m', 'sex is missing']
    """
    name = find_column(by.column, list(frame.columns))
    if holds_lists(frame[name]):
        raise ValueError(
            f"groups by {name!r} cannot be made, as it holds lists: name another column"
        )
    scale = scale_of(frame[name])
    if scale is not None:
        return _by_scale(name, scale, by.bins)
    if by.bins is not None and frame[name].notna().any():
        raise ValueError(
            f"{name}:{by.bins} requests bins, but {name!r} holds categories: leave out :{by.bins}"
        )
    return _by_category(name, frame[name])


def _by_scale(name: str, scale: Scale, bins: int | None) -> GroupList:
    missing = np.isnan(scale.values)
    values = np.unique(scale.values[~missing])
    if len(values) <= (bins or MOST_VALUES):
        names = [f"{name} is {scale.text(value)}" for value in values]
        codes = np.searchsorted(values, scale.values)
        return _listed(name, names, codes, missing, "Each value is a group.")
    cuts = scale.cuts(bins or BINS)
    ends = [None, *cuts, None]
    names = [f"{name} {scale.words(*ends[i : i + 2])}" for i in range(len(cuts) + 1)]
    about = f"{len(names)} bins of as many rows each as repeated values and round ends allow"
    about += f", as there are {len(values):,} values." if bins is None else "."
    return _listed(name, names, np.searchsorted(cuts, scale.values, "right"), missing, about)


def _by_category(name: str, column: pd.Series) -> GroupList:
    pd = frame_package("pandas")

    codes, found = pd.factorize(column)
    texts = [_text(value) for value in found]
    places = {text: i for i, text in enumerate(_ordered(texts, found))}
    codes = np.array([places[text] for text in texts] + [0], dtype=np.intp)[codes]
    missing = np.asarray(column.isna())
    names, about = [f"{name} is {text}" for text in places], "Each value is a group."
    if len(names) > MOST_CATEGORIES:
        counts = np.bincount(codes[~missing], minlength=len(names))
        kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES])
        place = np.full(len(names), MOST_CATEGORIES)
        place[kept] = np.arange(MOST_CATEGORIES)
        about = (
            f"The {MOST_CATEGORIES} most frequent of {len(names):,} values, the others together."
        )
        names, codes = [*(names[i] for i in kept), f"{name}: others"], place[codes]
    return _listed(name, names, codes, missing, about)


def _ordered(texts: list[str], found: Any) -> list[str]:
    """Distinct texts in the order of their categories, of their numbers, or of the alphabet."""
    if getattr(found, "ordered", False):
        keys: Sequence[Any] = found.codes
    elif all(isinstance(value, Real | np.bool_) for value in found):
        keys = list(found)
    else:
        keys = texts
    order = sorted(range(len(texts)), key=lambda i: keys[i])
    return list(dict.fromkeys(texts[i] for i in order))


def _text(value: Any) -> str:
    """Return a category as text; one that would be taken for a gap is quoted."""
    text = label(value)
    return f'"{text}"' if text.strip() in ("", "missing") else text


def _listed(name: str, names: list[str], codes: IntArray, missing: Any, about: str) -> GroupList:
    if missing.any():
        codes = np.where(missing, len(names), codes)
        names = [*names, f"{name} is missing"]
    return GroupList([Described(text) for text in names], codes.astype(np.intp), about)


ABOUT = (
    "Groups that the rule learned from calibration rows, by their number. A group has a rule in "
    "words where, on calibration rows that the words were not learned from, at least 80 % of such "
    "rows are in the group and at least 80 % of the group are such rows; else what sets it apart "
    "most. A threshold that varies within its group is that of its median row."
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
    >>> import numpy as np
    >>> from plcp.evaluation import model_groups
    >>> [group.name for group in model_groups(np.array([1, 0, 1]), [0.5, 2.0]).groups]
    ['group 0', 'group 1']
    """
    known = (
        {}
        if explanation is None
        else {known_group["group"]: known_group for known_group in explanation["groups"]}
    )
    groups = [
        _described(number, float(threshold), known.get(number))
        for number, threshold in enumerate(thresholds)
    ]
    numbers = np.asarray(codes, dtype=np.intp)
    rows = np.flatnonzero(numbers >= 0) if (numbers < 0).any() else None
    return GroupList(groups, numbers if rows is None else numbers[rows], ABOUT, rows)


def _described(number: int, threshold: float, known_group: Mapping[str, Any] | None) -> Described:
    if known_group is None:
        return Described(f"group {number}", threshold=threshold)
    special = tuple(difference["text"] for difference in known_group["profile"])
    fit = known_group.get("precision"), known_group.get("recall")
    return Described(known_group["name"], known_group["rule"], threshold, special, *fit)
