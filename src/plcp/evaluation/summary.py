"""The summary of an evaluation as plain values: coverage by group, headline, histogram, choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

import numpy as np

from plcp._options import check_alpha, check_share
from plcp._validation import check_lengths
from plcp._verdict import Verdict
from plcp.evaluation.columns import as_pandas
from plcp.evaluation.formatting import exact_percent, percent, rows
from plcp.evaluation.groups import (
    LABELS,
    GroupList,
    cells_of,
    group_by,
    number,
)
from plcp.evaluation.outcome import Outcome
from plcp.evaluation.roles import By, check_by
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
    >>> from plcp.evaluation import choice_of
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
MOST_FIRST, MOST_CLOSE = 8, 5  # groups shown first: that fail, or that come closest to it
FAILS = "A group fails if its coverage is below {}, beyond chance."


def fails(group: Group, method: str) -> bool:
    """Whether a method covers less of a group than the target, beyond chance."""
    return bool(group["cells"][method]["verdict"] == Verdict.BELOW)


def what_fails(summary: Mapping[str, Any]) -> str:
    """Count the groups that the first method and the last fail."""
    first, subject = summary["methods"][0], summary["methods"][-1]
    places = [*places_of(summary)]
    n, k = f"{len(places):,} groups", sum(fails(group, subject) for group in places)
    if not places:
        found, who = summary["overall"][subject], f"{subject} covers"
        share = f"{percent(found['coverage'])} of {rows(found['n'])}"
        return f"{'Covers' if first == subject else who} {share}; there are no groups to compare."
    if first == subject:
        return f"{k or 'None'} of {n} {'fails' if k < 2 else 'fail'}."
    before = [group for group in places if fails(group, first)]
    if not before:
        return f"{first} fails none of {n}; {subject} fails {k or 'none'}."
    still = sum(fails(group, subject) for group in before)
    others = f" and {k - still} other{'s' * (k - still > 1)}" if k > still else ""
    kept = still or "none"
    return f"{first} fails {len(before)} of {n}; {subject} fails {kept} of them{others}."


def shown_first(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Groups that the first method or the last fails, from the least covered; else the lowest.

    Of many all that the last fails are kept before others.
    """
    first, subject = summary["methods"][0], summary["methods"][-1]
    places = [*places_of(summary)]
    failed = [group for group in places if fails(group, first) or fails(group, subject)]
    chosen = sorted(
        failed or places,
        key=lambda group: (not fails(group, subject), _least_covered(group, first, subject)),
    )[: MOST_FIRST if failed else MOST_CLOSE]
    chosen.sort(key=lambda group: _least_covered(group, first, subject))
    by = " or ".join(dict.fromkeys(m for m in (first, subject) if any(fails(g, m) for g in failed)))
    about = f"Shown: those that {by} fails" if first != subject else "Shown: those that fail"
    about = f"{about}, lowest coverage first" if failed else "Shown: those of lowest coverage"
    more = (len(failed) or len(places)) - len(chosen)
    about += f"; the lists of all groups have {more:,} more." if more else "."
    return {
        "count": len(failed),
        "about": about if chosen else "",
        "groups": [{key: group[key] for key in ("name", "rule", "n", "cells")} for group in chosen],
    }


def _least_covered(group: Group, *methods: str) -> tuple[float, float]:
    """Coverage by the method that covers least, and its upper bound."""
    cells = (group["cells"][method] for method in methods)
    return min((cell["coverage"], cell["high_all"]) for cell in cells)


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


def verdicts_of(cells: Iterable[Mapping[str, Any]]) -> list[Verdict]:
    """The verdicts that groups have by any method, in the order of their legend."""
    found = {cell["verdict"] for group in cells for cell in group.values()}
    return [verdict for verdict in Verdict if verdict in found]


FORMAT = "plcp report 1"
BOUNDS = (
    "Intervals are exact for independent rows (Clopper–Pearson). They hold for all groups of all "
    "columns at once (Bonferroni), and verdicts rest on them; that of all rows stands by itself."
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
        Miscoverage rate that was requested.
    confidence : float, default=0.95
        Of intervals: of each, and of all groups of all columns at once.
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
    >>> import numpy as np
    >>> from plcp.evaluation import Outcome, summarise
    >>> sets = Outcome(np.arange(1000) % 10 > 0)
    >>> ages = {"age": np.arange(1000) % 80}
    >>> summary = summarise({"ours": sets}, alpha=0.1, frame=ages, by=["age:2"])
    >>> summary["headline"]["finding"], summary["overall"]["ours"]["coverage"]
    ('None of 2 groups fails.', 0.9)
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
            name: cells_of(outcome, np.zeros(n, dtype=np.intp), 1, target, confidence)[0]
            for name, outcome in outcomes.items()
        },
        **_measured(learned, _lists(frame, n, check_by(by)), outcomes, target, confidence),
        "explanation": _of_partition(explanation),
        "lengths": histogram(outcomes, labels=size_name == LABELS),
        "choice": None if choice is None else dict(choice),
        "provenance": [
            {"name": str(name), "value": str(value)} for name, value in (provenance or {}).items()
        ],
        "guarantee": guarantee,
        "notes": [*notes, BOUNDS],
    }
    summary["failed"] = shown_first(summary)
    summary["headline"] = {
        "warning": warning,
        "finding": what_fails(summary),
        "fails": FAILS.format(exact_percent(target)) if summary["failed"]["groups"] else None,
        # what else is said of the rule stands with the whole guarantee
        "guarantee": None if guarantee is None else guarantee.split(". ")[0].rstrip(".") + ".",
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


def _lists(frame: Any, n: int, by: Sequence[By]) -> list[tuple[str, GroupList]]:
    """Groups by each named column."""
    if not by:
        return []
    if frame is None:
        raise ValueError(f"groups by {by[0].column!r} need the table: pass frame")
    table = as_pandas(frame)
    check_lengths(table, np.zeros(n))
    return [(item.column, group_by(table, item)) for item in by]


def _measured(
    learned: GroupList | None,
    named: Sequence[tuple[str, GroupList]],
    outcomes: Mapping[str, Outcome],
    target: float,
    confidence: float,
) -> dict[str, Any]:
    """Every group, learned and by column, with bounds that hold for all of them at once."""
    lists = [*([] if learned is None else [learned]), *(groups for _, groups in named)]
    together = sum(len(np.unique(groups.codes)) for groups in lists)

    def measured(found: GroupList) -> dict[str, Any]:
        groups = found.measure(outcomes, target, confidence, together)
        return {"about": found.about, "groups": groups}

    nothing = {"about": "No groups were learned.", "groups": []}
    return {
        "learned": nothing if learned is None else measured(learned),
        "named": [{"column": name, **measured(found)} for name, found in named],
    }


def _of_partition(explanation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What an explanation says of all groups together; what it says of each is in the groups."""
    if explanation is None:
        return None
    return {
        key: number(value) if isinstance(value, float) else value
        for key, value in explanation.items()
        if key != "groups"
    }
