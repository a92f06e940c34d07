"""The summary: all that a report or an audit says, as one plain dict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from plcp.audit.by import By, check_by
from plcp.audit.frames import as_pandas
from plcp.audit.grouped import LABELS, GroupList, cell, measure, number
from plcp.audit.headline import all_lists, what_holds, worst_place
from plcp.audit.lengths import histogram
from plcp.audit.named import group_by
from plcp.audit.outcome import Outcome
from plcp.validation import check_alpha, check_lengths, check_share

FORMAT = "plcp report 1"
BOUNDS = (
    "Intervals are exact for independent rows (Clopper–Pearson). Verdicts rest on the wider ones "
    "that hold for all groups of a list at once; each list of groups stands by itself. The worst "
    "place is picked from all lists, and its interval holds for all their groups at once."
)


def summarise(
    outcomes: Mapping[str, Outcome],
    *,
    alpha: float,
    confidence: float = 0.95,
    learned: GroupList | None = None,
    frame: Any = None,
    by: Iterable[By | str] = (),
    kind: str = "report",
    title: str = "Coverage report",
    subtitle: str = "",
    size_name: str | None = None,
    guarantee: str | None = None,
    warning: str | None = None,
    explanation: Mapping[str, Any] | None = None,
    choice: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Measure methods on the same rows, overall and by group, and say what came out.

    Parameters
    ----------
    outcomes : mapping of str to Outcome
        Of each method. The last is the subject, those before it are for comparison.
    alpha : float
        Miscoverage rate that was asked for.
    confidence : float, default=0.95
        Of intervals: of each, and of all groups of a list at once.
    learned : GroupList, optional
        From `learn_failures`, or `model_groups` of a fitted model.
    frame : DataFrame, optional
        Columns that ``by`` names, of the same rows.
    by : iterable of By or str, default=()
        Columns to group by.
    kind : {"report", "audit"}
        What the summary is of.
    title, subtitle : str
        Of the page.
    size_name : str, optional
        What sizes are: "length", "number of labels" or "size"; None if there are none.
    guarantee : str, optional
        What the subject promises.
    warning : str, optional
        Why the figures must not be relied on, told before all else.
    explanation : mapping, optional
        ``Explanation.to_dict()`` of the learned groups.
    choice : mapping, optional
        From `choice_of`.
    provenance : mapping of str to object, optional
        What to tell of the data, versions, seed and options.
    notes : sequence of str
        What else a reader should know.

    Returns
    -------
    dict
        Strict JSON: infinity is "inf", and None stands for no number.

    Examples
    --------
    >>> sets = Outcome(np.arange(1000) % 10 > 0)
    >>> ages = {"age": np.arange(1000) % 80}
    >>> summary = summarise({"ours": sets}, alpha=0.1, frame=ages, by=["age:2"])
    >>> print(summary["headline"]["holds"].split(": ")[0])
    Covers 90.0 % of 1,000 rows (95 % interval 87.9 to 91.8 %)
    >>> [group["name"] for group in summary["named"][0]["groups"]]
    ['age up to 39', 'age 40 and over']
    """
    target, confidence = _target(alpha), check_share("confidence", confidence)
    n = _check_outcomes(outcomes)
    told: dict[str, Any] = {
        "format": FORMAT,
        "kind": kind,
        "title": title,
        "subtitle": subtitle,
        "alpha": float(alpha),
        "target": target,
        "confidence": confidence,
        "n_rows": n,
        "size_name": size_name,
        "methods": list(outcomes),
        "overall": {
            name: cell(measure(outcome, np.zeros(n, dtype=np.intp), 1, confidence), 0, target)
            for name, outcome in outcomes.items()
        },
        "learned": _measured(learned, outcomes, target, confidence),
        "named": _named(outcomes, frame, check_by(by), target, confidence),
        "explanation": _of_partition(explanation),
        "lengths": histogram(outcomes, labels=size_name == LABELS),
        "choice": None if choice is None else dict(choice),
        "provenance": [
            {"name": str(name), "value": str(value)} for name, value in (provenance or {}).items()
        ],
        "notes": [*notes, BOUNDS],
    }
    subject = list(outcomes)[-1]
    told["headline"] = {
        "warning": warning,
        "holds": what_holds(told["overall"][subject], target, confidence),
        "worst": worst_place(all_lists(told), told["methods"], target, confidence),
        "guarantee": guarantee,
    }
    return told


def _target(alpha: float) -> float:
    return round(1 - check_alpha(alpha), 12)  # 1 - 0.9 is a little below 0.1


def _check_outcomes(outcomes: Mapping[str, Outcome]) -> int:
    if not outcomes:
        raise ValueError("outcomes is empty: give that of one method at least")
    first, *others = outcomes.values()
    for other in others:
        check_lengths(first.covered, other.covered)
    if len(first) == 0:
        raise ValueError("there is no row to measure: give one at least with an outcome and a set")
    return len(first)


def _measured(
    groups: GroupList | None, outcomes: Mapping[str, Outcome], target: float, confidence: float
) -> dict[str, Any]:
    if groups is None:
        return {"about": "No groups were learned.", "groups": []}
    return {"about": groups.about, "groups": groups.measure(outcomes, target, confidence)}


def _named(
    outcomes: Mapping[str, Outcome],
    frame: Any,
    by: Sequence[By],
    target: float,
    confidence: float,
) -> list[dict[str, Any]]:
    if not by:
        return []
    if frame is None:
        raise ValueError(f"groups by {by[0].column!r} need the table: pass frame")
    table = as_pandas(frame)
    check_lengths(table, next(iter(outcomes.values())).covered)
    return [
        {"column": item.column, **_measured(group_by(table, item), outcomes, target, confidence)}
        for item in by
    ]


def _of_partition(explanation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What an explanation says of all groups together; what it says of each is in the groups."""
    if explanation is None:
        return None
    return {
        key: number(told) if isinstance(told, float) else told
        for key, told in explanation.items()
        if key != "groups"
    }
