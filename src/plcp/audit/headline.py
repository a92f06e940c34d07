"""What holds and where it is worst, in a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plcp.audit.words import asked, between, percent, rows

Group = Mapping[str, Any]
ENDINGS = {
    "covers": "at least the {} asked for",
    "falls short": "short of the {} asked for",
    "undecided": "not to be told apart from the {} asked for",
}


def what_holds(overall: Mapping[str, Any], target: float, confidence: float) -> str:
    """Coverage of all rows, its interval, and what that says of the coverage asked for."""
    interval = between(overall["low"], overall["high"], target)
    return (
        f"Covers {percent(overall['coverage'])} of {rows(overall['n'])} ({asked(confidence)} "
        f"interval {interval}): {ENDINGS[overall['verdict']].format(asked(target))}."
    )


def worst_place(groups: Sequence[Group], methods: Sequence[str], target: float) -> str:
    """Name the group that surely is covered least, and say whether that is beyond chance.

    Judged by the upper bounds for all groups of a list at once. Methods before the last are told
    beside it.
    """
    *others, subject = methods
    seen = [group for group in groups if group["n"] > 0]
    if len(seen) < 2:
        return "There are no groups to compare."
    worst = min(seen, key=lambda group: group["cells"][subject]["high_all"])
    cell = worst["cells"][subject]
    told = f"{worst['name']}: {_covered(cell, target)}"
    beside = ", ".join(
        f"{name} covers {percent(worst['cells'][name]['coverage'])} there" for name in others
    )
    told += f"; {beside}." if beside else "."
    if cell["verdict"] == "falls short":
        return f"Worst place: {told}"
    return f"No group falls short of {asked(target)} beyond chance; closest to it, {told}"


def _covered(cell: Mapping[str, Any], target: float) -> str:
    interval = between(cell["low_all"], cell["high_all"], target)
    return f"{percent(cell['coverage'])} of {rows(cell['n'])} ({interval})"


def all_groups(summary: Mapping[str, Any]) -> Iterator[Group]:
    """Groups of all lists of a summary: the learned ones, then those of each named column."""
    yield from summary["learned"]["groups"]
    for column in summary["named"]:
        yield from column["groups"]
