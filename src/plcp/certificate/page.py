"""A certificate as a page of plain text; nothing is computed here but widths."""

from __future__ import annotations

from math import ceil, floor
from textwrap import wrap
from typing import TYPE_CHECKING

from plcp.certificate.verdicts import CHANCE, rounded

if TYPE_CHECKING:
    from plcp.certificate.record import Certificate, GroupBounds

WIDTH = 100
WORDS = {True: "covers", False: "falls short", None: "undecided"}


def page(certificate: Certificate) -> str:
    """Lines of at most 100 columns: what was found, then what it rests on."""
    parts = [_head(certificate), _table(certificate.groups, certificate.confidence)]
    parts += [_legend(certificate), *_sections(certificate)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(c: Certificate) -> list[str]:
    title = f"Certificate of coverage: {c.rule}, alpha = {c.alpha:g}"
    everybody, *groups = c.groups
    lines = [title, "=" * min(len(title), WIDTH), "", *wrap(_found(c, everybody, groups), WIDTH)]
    short = [group.group for group in groups if group.covers is False]
    if short:
        lines += wrap(f"Groups that fall short: {'; '.join(short)}.", WIDTH)
    for caution in c.cautions:
        lines += ["", *wrap(f"CAUTION: {caution}", WIDTH)]
    return lines


def _found(c: Certificate, everybody: GroupBounds, groups: list[GroupBounds]) -> str:
    """Return what a reader should know who reads nothing else."""
    found = (
        f"With {100 * c.confidence:g} % confidence the sets of all rows cover with probability "
        f"{_down(everybody.low_all)} to {_up(everybody.high_all)}"
    )
    if not groups:
        return f"{found}. Verdict: {everybody.verdict}."
    least = min(groups, key=lambda group: group.low_all)
    sure, short, open_ = (sum(g.covers is key for g in groups) for key in WORDS)
    return (
        f"{found}, and those of no group with less than {_down(least.low_all)} ({least.group}). Of "
        f"{len(groups)} groups: {sure} sure to cover at least {c.target:g}, {short} sure to fall "
        f"short of it, {open_} undecided."
    )


def _table(groups: tuple[GroupBounds, ...], confidence: float) -> list[str]:
    """One line a group, more for a long name."""
    sized = any(g.size is not None for g in groups)
    header = ["rows", "coverage", f"{100 * confidence:g} % bounds", "all at once"]
    header += ["mean size"] * sized + ["verdict", "rows needed"]
    rows = [_cells(g, sized) for g in groups]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    room = WIDTH - sum(widths) - 2 * len(widths)
    room = min(room, max(len("group"), *(len(g.group) for g in groups)))
    lines = [_line("group", header, room, widths)]
    for group, cells in zip(groups, rows, strict=True):
        first, *rest = wrap(group.group, room) or [""]
        lines += [_line(first, cells, room, widths), *rest]
    return lines


def _cells(group: GroupBounds, sized: bool) -> list[str]:
    share = "-" if group.coverage is None else f"{group.coverage:.4f}"
    size = "-" if group.size is None else f"{group.size:{',.0f' if group.size >= 1000 else '.3g'}}"
    needed = f"{rounded(group.rows_needed):,}" if group.rows_needed is not None else ""
    ends = (group.low, group.high), (group.low_all, group.high_all)
    bounds = [f"{_down(low)}–{_up(high)}" for low, high in ends]
    return [f"{group.n:,}", share, *bounds, *[size] * sized, WORDS[group.covers], needed]


def _down(bound: float) -> str:
    """Three digits of a lower bound, which hold too."""
    return f"{floor(1000 * bound) / 1000:.3f}"


def _up(bound: float) -> str:
    return f"{ceil(1000 * bound) / 1000:.3f}"


def _line(name: str, cells: list[str], room: int, widths: list[int]) -> str:
    padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join([name.ljust(room), *padded]).rstrip()


def _legend(c: Certificate) -> list[str]:
    level = f"{100 * c.confidence:g} %"
    return wrap(
        f"Coverage is the share of rows whose set held what was seen. Bounds are exact "
        f"(Clopper–Pearson): each holds the probability of covering with {level} confidence, and "
        f"those of all at once hold all {len(c.groups)} together with {level}. By the latter a "
        f"group covers if its lower bound reaches {c.target:g}, and falls short if its upper bound "
        f"is below. Rows needed: with so many rows of the group a verdict would be "
        f"{100 * CHANCE:g} % likely, if its coverage is what was seen.",
        WIDTH,
    )


def _sections(c: Certificate) -> list[list[str]]:
    columns = "" if c.n_columns is None else f" and {c.n_columns:,} columns"
    names = "" if c.column_names is None else f" ({', '.join(c.column_names)})"
    data = f"{c.n_rows:,} rows{columns}{names}, with their {c.outcomes}."
    parameters = ", ".join(f"{key}={value}" for key, value in c.parameters.items())
    versions = ", ".join(f"{name} {number}" for name, number in c.versions.items())
    return [
        ["Assumed", *(line for item in c.assumptions for line in _item(item))],
        ["Rule", *_item(f"{c.rule}({parameters})"), *_item(f"Its own promise: {c.guarantee}")],
        ["Data", *_item(data), *_item(f"SHA-256 {c.fingerprint}")],
        ["Made", *_item(f"{c.made_at} with {versions}")],
    ]


def _item(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ")
