"""The summary of an evaluation as plain values: coverage by group, headline, histogram, choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

import numpy as np

from plcp._options import check_alpha, check_share
from plcp._validation import check_lengths
from plcp._verdict import Verdict, explain_verdicts
from plcp.evaluation.columns import as_pandas
from plcp.evaluation.formatting import between, exact_percent, percent, rows
from plcp.evaluation.groups import (
    LABELS,
    GroupList,
    cell,
    group_by,
    measure,
    number,
)
from plcp.evaluation.outcome import Outcome
from plcp.evaluation.roles import By, check_by
from plcp.metrics.binomial import clopper_pearson
from plcp.quantiles import FloatArray

REQUESTED = "Groups requested: {}."
SEARCHED = (
    "Loss (pinball) on a fifth of the calibration rows, held out, for each number of groups that "
    "was tried: doubling, then bisection."
)
FOLLOWING = (
    "One group for 200 calibration rows, at most 20: thresholds follow the score regressor within "
    "groups, so that nothing is won by a search."
)


def choice_of(rule: Any) -> dict[str, Any] | None:
    """Return the curve that the number of groups was read off, if there was one.

    None for a rule that learned no groups.

    Examples
    --------
    >>> from plcp import PLCP, SoftmaxPartition, SplitConformal
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(1000, random_state=0)
    >>> rule = PLCP(SoftmaxPartition(), n_groups=2, calibration="joint")
    >>> choice_of(rule.fit(task.X, task.scores))["about"]
    'Groups requested: 2.'
    >>> choice_of(SplitConformal().fit(task.X, task.scores)) is None
    True
    """
    if not hasattr(rule, "n_groups_") or not hasattr(rule, "history_"):
        return None
    tried = [step for step in rule.history_ if {"n_groups", "held_out"} <= step.keys()]
    points = [
        {"n_groups": int(step["n_groups"]), "loss": float(step["held_out"])}
        for step in sorted(tried, key=lambda step: step["n_groups"])
    ]
    about = SEARCHED if points else FOLLOWING
    if rule.n_groups != "auto":
        about = REQUESTED.format(rule.n_groups)
    return {"about": about, "points": points, "chosen": int(rule.n_groups_)}


BARS = 30
STEPS = (1, 2, 2.5, 5, 10, 20)  # the last in case that rounding makes a width a little over ten
NEGLIGIBLE, TINY = 1e-9, 1e-300  # differences that are none
MOST_SHOWN = 0.995  # share of sets that bars are spread over if the rest reach twice as far


def histogram(outcomes: Mapping[str, Outcome], labels: bool) -> dict[str, Any] | None:
    """Count the sets of each size on edges common to all methods; None if all sizes are alike.

    Parameters
    ----------
    outcomes : mapping of str to Outcome
        Of each method, on the same rows.
    labels : bool
        Whether sizes are numbers of labels: bars then are whole numbers wide, and centred.
    """
    sizes = {name: outcome.size for name, outcome in outcomes.items() if outcome.size is not None}
    finite = {name: size[np.isfinite(size)] for name, size in sizes.items()}
    together = np.concatenate([np.zeros(0), *finite.values()])
    count = sum(map(len, sizes.values()))
    if len(together) == 0 or (
        len(together) == count and np.ptp(together) <= NEGLIGIBLE * together.max()
    ):
        return None
    edges = _edges(together, labels)
    last = np.nextafter(edges[-1], -np.inf)
    counts = {
        name: np.histogram(np.clip(size, edges[0], last), edges)[0].tolist()
        for name, size in finite.items()
    }
    notes = []
    if together.max() > edges[-1]:
        notes.append(f"The last bar holds all larger sets too, up to {together.max():.4g}.")
    for name, size in sizes.items():
        if infinite := len(size) - len(finite[name]):
            notes.append(f"{rows(infinite).capitalize()} with an infinite set of {name} not shown.")
    return {"edges": edges.tolist(), "counts": counts, "note": " ".join(notes)}


def _edges(sizes: FloatArray, labels: bool) -> FloatArray:
    """Round edges of about `BARS` bars."""
    low, high = float(sizes.min()), float(sizes.max())
    usual = float(np.quantile(sizes, MOST_SHOWN, method="higher"))
    if high - low > 2 * (usual - low) > 0:
        high = usual
    spread = high - low if high - low > NEGLIGIBLE * high else high
    step = _step(spread / BARS if spread > TINY else 1.0, labels)
    first = floor(low / step)
    edges = step * np.arange(first, max(floor(high / step), first) + 2)
    # without the noise of the last digit: 3.405, not 3.4050000000000002
    return np.array([float(f"{edge:.15g}") for edge in edges]) - 0.5 * labels


def _step(width: float, whole: bool) -> float:
    """Return the least round number not below a width.

    Examples
    --------
    >>> _step(0.13, whole=False), _step(2.2, whole=True)
    (0.2, 3)
    """
    width = max(width, 1.0) if whole else width
    unit = 10.0 ** floor(log10(width))
    step = next(step * unit for step in STEPS if step * unit >= width)
    return ceil(step) if whole else step


Group = Mapping[str, Any]
ENDINGS = {
    Verdict.ABOVE: "above the {} requested",
    Verdict.ON_TARGET: "on target, {} requested",
    Verdict.BELOW: "below the {} requested",
    Verdict.UNDECIDED: "undecided, too few rows to compare with the {} requested",
}
MOST_FAILED = 5  # groups shown first of all; the lists have the others


def what_holds(overall: Mapping[str, Any], target: float, confidence: float) -> str:
    """Coverage of all rows, its interval, and its verdict."""
    interval = between(overall["low"], overall["high"], target)
    ending = ENDINGS[overall["verdict"]].format(exact_percent(target))
    return (
        f"Covers {percent(overall['coverage'])} of {rows(overall['n'])} "
        f"({exact_percent(confidence)} interval {interval}): {ending}."
    )


def failed_before(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Groups in which the first of several methods is below the target, the surest first."""
    first, *others = summary["methods"]
    found = [
        {key: group[key] for key in ("name", "rule", "n", "cells")}
        for group in places_of(summary)
        if others and group["cells"][first]["verdict"] == Verdict.BELOW
    ]
    return sorted(found, key=lambda group: group["cells"][first]["high_all"])


def what_changes(summary: Mapping[str, Any], failed: Sequence[Group]) -> str | None:
    """Count the groups in which the first method and the last are below; None of one method."""
    first, subject = summary["methods"][0], summary["methods"][-1]
    cells = [group["cells"] for group in places_of(summary)]
    if first == subject or not cells:
        return None
    short = sum(cell[subject]["verdict"] == Verdict.BELOW for cell in cells)
    text = f"{first} is below {exact_percent(summary['target'])} in {len(failed) or 'none'} of "
    text += f"{len(cells):,} groups"
    if not failed:
        return f"{text}, {subject} in {short or 'none'}."
    still = sum(group["cells"][subject]["verdict"] == Verdict.BELOW for group in failed)
    text += f"; {subject} in {still or 'none'} of these"
    if other := short - still:
        text += f" and in {other} other{'' if other == 1 else 's'}"
    least = failed[0]
    shares = (f"{percent(least['cells'][name]['coverage'])} by {name}" for name in (first, subject))
    return f"{text}. Most of all {least['name']}: {', '.join(shares)}."


def worst_place(summary: Mapping[str, Any]) -> str:
    """Name the group that surely is covered least, and say whether that is beyond chance.

    It is picked from all lists, so its bounds are those that hold for the groups of all lists at
    once. Methods before the last are shown beside it.
    """
    *others, subject = summary["methods"]
    target = summary["target"]
    places = [*places_of(summary)]
    if not places:
        return "There are no groups to compare."
    cells = [group["cells"][subject] for group in places]
    together = 1 - (1 - summary["confidence"]) / len(places)
    low, high = clopper_pearson(
        [cell["hits"] for cell in cells], [cell["n"] for cell in cells], together
    )
    i = int(np.argmin(high))
    if cells[i]["coverage"] == 1:
        return "No group is below the target: none has a row that is missed."
    text = (
        f"{places[i]['name']}: {percent(cells[i]['coverage'])} of {rows(cells[i]['n'])} "
        f"({between(low[i], high[i], target)}, all {len(places):,} groups at once)"
    )
    beside = ", ".join(
        f"{name}: {percent(places[i]['cells'][name]['coverage'])}" for name in others
    )
    text += f"; {beside}." if beside else "."
    if high[i] < target:
        return f"Worst place: {text}"
    short = sum(cell["verdict"] == Verdict.BELOW for cell in cells)
    if short:
        return (
            f"No group is below {exact_percent(target)} beyond chance among all of them, {short} "
            f"within {'its list' if short == 1 else 'their lists'}; closest to it, {text}"
        )
    return f"No group is below {exact_percent(target)} beyond chance; closest to it, {text}"


def places_of(summary: Mapping[str, Any]) -> Iterator[Group]:
    """Groups with rows; a list of one group is no choice of places."""
    for found in (summary["learned"], *summary["named"]):
        present = [group for group in found["groups"] if group["n"] > 0]
        if len(present) > 1:
            yield from present


def all_groups(summary: Mapping[str, Any]) -> Iterator[tuple[str | None, Group]]:
    """Every group with the column it belongs to, None for those that were learned."""
    for found in (summary["learned"], *summary["named"]):
        for group in found["groups"]:
            yield found.get("column"), group


FORMAT = "plcp report 1"
BOUNDS = (
    "Intervals are exact for independent rows (Clopper–Pearson). Verdicts rest on the wider ones "
    "that hold for all groups of a list at once; each list of groups stands by itself. The worst "
    "place is picked from all lists, and its interval holds for all their groups at once."
)
VERDICTS = f"Verdicts: {explain_verdicts()}"


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
        Miscoverage rate that was requested.
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
        Why the figures must not be relied on, shown before all else.
    explanation : mapping, optional
        ``Explanation.to_dict()`` of the learned groups.
    choice : mapping, optional
        From `choice_of`.
    provenance : mapping of str to object, optional
        What to state about the data, versions, seed and options.
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
    target = round(1 - check_alpha(alpha), 12)  # 1 - 0.9 is a little below 0.1
    confidence = check_share("confidence", confidence)
    n = _check_outcomes(outcomes)
    summary: dict[str, Any] = {
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
        "notes": [*notes, BOUNDS, VERDICTS],
    }
    subject = list(outcomes)[-1]
    failed = failed_before(summary)
    summary["failed"] = {"count": len(failed), "groups": failed[:MOST_FAILED]}
    summary["headline"] = {
        "warning": warning,
        "change": what_changes(summary, failed),
        "holds": what_holds(summary["overall"][subject], target, confidence),
        "worst": worst_place(summary),
        "guarantee": guarantee,
    }
    return summary


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
        key: number(value) if isinstance(value, float) else value
        for key, value in explanation.items()
        if key != "groups"
    }
