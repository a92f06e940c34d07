"""What holds and where it is worst, in a line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from plcp.audit.grouped import ABOVE, IN_KEEPING, SHORT, TOO_FEW
from plcp.audit.words import asked, between, percent, rows
from plcp.metrics.binomial import clopper_pearson

Group = Mapping[str, Any]
ENDINGS = {
    ABOVE: "at least the {} asked for",
    IN_KEEPING: "in keeping with the {} asked for",
    SHORT: "short of the {} asked for",
    TOO_FEW: "too few rows to tell it from the {} asked for",
}


def what_holds(overall: Mapping[str, Any], target: float, confidence: float) -> str:
    """Coverage of all rows, its interval, and what that says of the coverage asked for."""
    interval = between(overall["low"], overall["high"], target)
    return (
        f"Covers {percent(overall['coverage'])} of {rows(overall['n'])} ({asked(confidence)} "
        f"interval {interval}): {ENDINGS[overall['verdict']].format(asked(target))}."
    )


def worst_place(
    lists: Iterable[Sequence[Group]], methods: Sequence[str], target: float, confidence: float
) -> str:
    """Name the group that surely is covered least, and say whether that is beyond chance.

    It is picked from all lists, so its bounds are those that hold for the groups of all lists at
    once. A list of one group is no choice of places. Methods before the last are told beside it.
    """
    *others, subject = methods
    present = [[group for group in groups if group["n"] > 0] for groups in lists]
    places = [group for groups in present if len(groups) > 1 for group in groups]
    if not places:
        return "There are no groups to compare."
    cells = [group["cells"][subject] for group in places]
    together = 1 - (1 - confidence) / len(places)
    low, high = clopper_pearson(
        [cell["hits"] for cell in cells], [cell["n"] for cell in cells], together
    )
    i = int(np.argmin(high))
    if cells[i]["coverage"] == 1:
        return "No group falls short: none has a row that is missed."
    told = (
        f"{places[i]['name']}: {percent(cells[i]['coverage'])} of {rows(cells[i]['n'])} "
        f"({between(low[i], high[i], target)}, all {len(places):,} groups at once)"
    )
    beside = ", ".join(
        f"{name}: {percent(places[i]['cells'][name]['coverage'])}" for name in others
    )
    told += f"; {beside}." if beside else "."
    if high[i] < target:
        return f"Worst place: {told}"
    short = sum(cell["verdict"] == "falls short" for cell in cells)
    if short:
        return (
            f"No group falls short of {asked(target)} beyond chance among all of them, {short} "
            f"within {'its list' if short == 1 else 'their lists'}; closest to it, {told}"
        )
    return f"No group falls short of {asked(target)} beyond chance; closest to it, {told}"


def all_groups(summary: Mapping[str, Any]) -> Iterator[Group]:
    """Groups of all lists of a summary."""
    return chain.from_iterable(all_lists(summary))


def all_lists(summary: Mapping[str, Any]) -> Iterator[Sequence[Group]]:
    """Lists of groups of a summary: the learned ones, then those of each named column."""
    for found in (summary["learned"], *summary["named"]):
        yield found["groups"]
