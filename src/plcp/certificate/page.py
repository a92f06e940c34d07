"""A certificate as a page of plain text; nothing is computed here but widths."""

from __future__ import annotations

from collections.abc import Iterator
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
    parts = [_head(certificate), _table(certificate), _legend(certificate)]
    parts += _sections(certificate)
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(c: Certificate) -> list[str]:
    title = f"Certificate of coverage: {c.rule}, alpha = {c.alpha:g}"
    lines = [title, "=" * min(len(title), WIDTH), ""]
    lines += [line for sentence in _found(c) for line in wrap(sentence, WIDTH)]
    for caution in c.cautions:
        lines += ["", *wrap(f"CAUTION: {caution}", WIDTH)]
    return lines


def _found(c: Certificate) -> list[str]:
    """Return what a reader should know who reads nothing else."""
    everybody, *groups = c.groups
    least = min(groups or c.groups, key=lambda group: group.low_all)
    lowest = f", and in no group below {_down(least.low_all)} ({_name(least)})"
    found = [
        f"Each set is meant to hold the outcome of its row with probability {1 - c.alpha:g}. Here "
        f"{everybody.hits:,} of {everybody.n:,} did. With {100 * c.confidence:g} % confidence the "
        f"true probability lies between {_down(everybody.low_all)} and {_up(everybody.high_all)}"
        f"{lowest if groups and least.low_all >= 0.001 else ''}.",
        f"Verdict on all rows together: {everybody.verdict}.",
    ]
    if groups:
        sure, short, open_ = (sum(g.covers is key for g in groups) for key in WORDS)
        found.append(
            f"Of {len(groups)} groups, {sure} sure to cover at least {c.target:g}, {short} sure to "
            f"fall short of it, {open_} undecided."
        )
    if names := [_name(group) for group in groups if group.covers is False]:
        found.append(f"Groups that fall short: {'; '.join(names)}.")
    return found


def _table(c: Certificate) -> list[str]:
    """One line a group, more for a long name; columns that would say nothing are left out."""
    columns = [*_columns(c)]
    widths = [max(map(len, column)) for column in columns]
    names = [_name(group) for group in c.groups]
    room = WIDTH - sum(widths) - 2 * len(widths)
    room = min(room, max(len("group"), *map(len, names)))
    lines = []
    for name, *cells in zip(["group", *names], *columns, strict=True):
        first, *rest = wrap(name, room)
        padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        lines += ["  ".join([first.ljust(room), *padded]).rstrip(), *rest]
    return lines


def _columns(c: Certificate) -> Iterator[list[str]]:
    """Heading and cells of each column but the names."""
    groups = c.groups
    yield ["rows", *(f"{g.n:,}" for g in groups)]
    yield ["coverage", *("-" if g.coverage is None else f"{g.coverage:.4f}" for g in groups)]
    yield [f"{100 * c.confidence:g} % bounds", *(_between(g.low, g.high) for g in groups)]
    if len(groups) > 1:
        yield ["all at once", *(_between(g.low_all, g.high_all) for g in groups)]
    if _has_sizes(c):
        yield ["mean size", *(_size(g.size) for g in groups)]
    yield ["verdict", *(WORDS[g.covers] for g in groups)]
    if _needs_rows(c):
        needed = (g.rows_needed for g in groups)
        yield ["rows needed", *("" if rows is None else f"{rounded(rows):,}" for rows in needed)]


def _name(group: GroupBounds) -> str:
    return " ".join(group.group.split()) or "(no name)"


def _has_sizes(c: Certificate) -> bool:
    return any(group.size is not None for group in c.groups)


def _needs_rows(c: Certificate) -> bool:
    return any(group.rows_needed is not None for group in c.groups)


def _size(size: float | None) -> str:
    return "-" if size is None else f"{size:{',.0f' if size >= 1000 else '.3g'}}"


def _between(low: float, high: float) -> str:
    return f"{_down(low)}–{_up(high)}"


def _down(bound: float) -> str:
    """Three digits of a lower bound, which hold too."""
    return f"{floor(1000 * bound) / 1000:.3f}"


def _up(bound: float) -> str:
    return f"{ceil(1000 * bound) / 1000:.3f}"


def _legend(c: Certificate) -> list[str]:
    return wrap(" ".join(_explanations(c)), WIDTH)


def _explanations(c: Certificate) -> Iterator[str]:
    level, several = f"{100 * c.confidence:g} %", len(c.groups) > 1
    yield "Coverage is the share of rows whose set held the outcome."
    yield (
        "Bounds are exact (Clopper–Pearson): each pair holds the probability of covering with "
        f"{level} confidence{'' if several else '.'}"
    )
    if several:
        yield f"of its own, and the pairs of all at once hold all {len(c.groups)} together with it."
    yield (
        f"A group covers if its {'wider ' * several}lower bound reaches {c.target:g}, and falls "
        "short if its upper bound is below."
    )
    if _has_sizes(c):
        yield "Size is the length of an interval, or the number of labels in a set."
    if _needs_rows(c):
        yield (
            "Rows needed: with so many rows of the group a verdict would be "
            f"{100 * CHANCE:g} % likely, if its coverage is what was seen."
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
        ["Data", *_item(data), *_item(f"SHA-256 of all values: {c.fingerprint}")],
        ["Made", *_item(f"{c.made_at} with {versions}")],
    ]


def _item(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ")
