"""The report of an audit: its page, its text, its figures, and the groups that are too low."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plcp._files import write_atomically
from plcp._formatting import WIDTH, fold, room, text_table
from plcp._options import check_share
from plcp._verdict import explain_verdicts
from plcp.evaluation.formatting import between, exact_percent, number, percent, rows
from plcp.evaluation.groups import LABELS
from plcp.evaluation.summary import all_groups, verdicts_of
from plcp.explain.explanation import MOST_COLUMNS, what_was_considered

Summary = Mapping[str, Any]
MARKS = 15  # places of a bar


@dataclass(frozen=True, eq=False, repr=False)
class CoverageReport:
    """Coverage of prediction sets, overall and by group, with verdicts.

    Made by `plcp.evaluation.audit`. Everything was computed before: the methods only render.

    Parameters
    ----------
    summary : mapping
        What `summarise` found, as plain values.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.evaluation import CoverageReport, Outcome, summarise
    >>> sets = Outcome(np.arange(500) % 5 > 0)
    >>> report = CoverageReport(summarise({"ours": sets}, alpha=0.1))
    >>> report.headline["finding"]
    'Covers 80.0 % of 500 rows; there are no groups to compare.'
    >>> report.violations(0.9)
    ['all rows: covers 80.0 % of 500 rows (76.2 to 83.5 %), below 90 %.']
    """

    summary: Mapping[str, Any]

    @property
    def headline(self) -> dict[str, str | None]:
        """Sentences: a warning, what was found, when a group fails, and what is guaranteed."""
        return dict(self.summary["headline"])

    def violations(self, fail_under: float | None = None) -> list[str]:
        """Return a sentence on all rows, and on each group, that is below a share beyond chance.

        A group counts if its upper bound for all groups at once lies below ``fail_under``: a low
        share of few rows is no proof. So where coverage is ``fail_under`` or more everywhere, all
        rows are accused with probability at most (1 - confidence) / 2, and so is any group, however
        many columns are named: the chance of a false alarm is at most 1 - confidence. Of several
        methods the last is judged.

        Parameters
        ----------
        fail_under : float or None
            Coverage that is tolerated, between 0 and 1; None: the target, 1 - alpha.
        """
        summary, subject = self.summary, self.summary["methods"][-1]
        given = summary["target"] if fail_under is None else fail_under
        least = check_share("fail_under", given)
        found = [("all rows", summary["overall"][subject])]
        found += [(group["name"], group["cells"][subject]) for _, group in all_groups(summary)]
        return [
            f"{name}: covers {percent(cell['coverage'])} of {rows(cell['n'])} "
            f"({between(cell['low_all'], cell['high_all'], least)}), below {exact_percent(least)}."
            for name, cell in found
            if cell["high_all"] < least
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values that strict JSON can hold."""
        return dict(self.summary)

    def to_text(self) -> str:
        """Return lines of at most 100 columns for a terminal, in the order of the page.

        A bar shows the interval for all groups at once, with a dot at the coverage, and the target
        as an upright line.
        """
        return "\n\n".join("\n".join(part) for part in _parts(self.summary) if part) + "\n"

    def to_html(self, path: str | Path | None = None, *, force: bool = False) -> str:
        """Return the page, one HTML file that needs nothing else, and write it if a path is given.

        Parameters
        ----------
        path : path, optional
            Name of the file; none is left under it if writing fails.
        force : bool, default=False
            Whether a file of that name may be replaced.
        """
        from plcp.evaluation.html import render_page

        page = render_page(self.summary)
        if path is not None:
            with write_atomically(path, force=force) as temporary:
                # a file name that is no text, in the provenance, must not lose the page
                temporary.write_bytes(page.encode("utf-8", "backslashreplace"))
        return page

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"CoverageReport({self.headline['finding']!r})"


def _parts(summary: Summary) -> Iterator[list[str]]:
    headline, first = summary["headline"], summary["failed"]
    title = fold(summary["title"])
    yield [
        *title,
        "=" * max(map(room, title)),
        *(fold(summary["subtitle"]) if summary["subtitle"] else []),
    ]
    meaning = f"{headline['fails'] or ''} {first['about']}"
    sentences = headline["warning"], headline["finding"], meaning.strip()
    yield [line for sentence in sentences if sentence for line in fold(sentence)]
    shown = [*first["groups"], {"name": "all rows", "cells": summary["overall"]}]
    yield _table(summary, shown)
    cells = [summary["overall"], *(group["cells"] for _, group in all_groups(summary))]
    yield fold(f"Verdicts: {explain_verdicts(*verdicts_of(cells))}")
    if summary["guarantee"]:
        yield fold(f"Guarantee: {summary['guarantee']}")
    yield _section("Learned groups", summary["learned"], summary)
    for column in summary["named"]:
        yield _section(f"By {column['column']}", column, summary)
    if explanation := summary["explanation"]:
        yield ["Learned groups in words", *_explained(explanation)]
    if choice := summary["choice"]:
        yield ["Number of groups", *fold(f"{choice['about']} Chosen: {choice['chosen']}.")]
    yield _items("Notes", summary["notes"])
    sources = [f"{source['name']}: {source['value']}" for source in summary["provenance"]]
    yield _items("Provenance", sources)


def _section(title: str, found: Mapping[str, Any], summary: Summary) -> list[str]:
    """Return a heading, where groups come from, and a line for each."""
    lines = [*fold(title), *fold(found["about"])]
    return [*lines, "", *_table(summary, found["groups"])] if found["groups"] else lines


def _table(summary: Summary, groups: Sequence[Mapping[str, Any]]) -> list[str]:
    *others, subject = summary["methods"]
    sized = summary["size_name"] is not None
    head = ["group", "rows", *others, subject if others else "covered", "all at once"]
    size = "labels" if summary["size_name"] == LABELS else summary["size_name"]
    head += [f"mean {size}"] * sized + ["", "verdict"]
    span = _span(groups, subject, summary["target"])
    return text_table(head, [_line(group, summary, span, sized) for group in groups], WIDTH)


def _line(
    group: Mapping[str, Any], summary: Summary, span: tuple[float, float], sized: bool
) -> list[str]:
    cells = [group["cells"][method] for method in summary["methods"]]
    cell = cells[-1]
    bounds = between(cell["low_all"], cell["high_all"], summary["target"])
    line = [
        group["name"],
        f"{cell['n']:,}",
        *(percent(each["coverage"]) for each in cells),
        bounds,
    ]
    line += [number(cell["size"])] * sized
    return [*line, _bar(cell, summary["target"], span), cell["verdict"]]


def _span(groups: Sequence[Mapping[str, Any]], subject: str, target: float) -> tuple[float, float]:
    """Range of coverage that bars show: from the lowest bound of a group with rows to one."""
    lows = [group["cells"][subject]["low_all"] for group in groups if group["cells"][subject]["n"]]
    return min([*lows, target]), 1.0


def _bar(cell: Mapping[str, Any], target: float, span: tuple[float, float]) -> str:
    """Return an interval, the coverage and the target as marks on a line."""

    def place(share: float) -> int:
        reach = (share - span[0]) / (span[1] - span[0])
        return min(max(round(reach * (MARKS - 1)), 0), MARKS - 1)

    low, high = place(cell["low_all"]), place(cell["high_all"])
    marks = ["─" if low <= i <= high else "·" for i in range(MARKS)]
    marks[place(target)] = "│"
    if cell["coverage"] is not None:
        marks[place(cell["coverage"])] = "●"
    return "".join(marks)


def _explained(explanation: Mapping[str, Any]) -> Iterator[str]:
    found = percent(explanation["fidelity"])
    yield from fold(
        f"A few rules in words give the group of {found} of calibration rows held out (see plcp "
        "explain)."
    )
    ranked = [f"{item['feature']} {item['value']:.3f}" for item in explanation["importance"]]
    if ranked:
        first, more = ranked[:MOST_COLUMNS], len(ranked) - MOST_COLUMNS
        last = f", and {more} more that move rows less" if more > 0 else ""
        yield from fold(
            "Importance of columns, from 0, rows stay in their groups, to 1, they move as if all "
            f"columns were shuffled: {', '.join(first)}{last}."
        )
    n_columns, n_considered = explanation.get("n_columns"), explanation.get("n_considered")
    if screened := what_was_considered(n_columns, n_considered):
        yield from fold(screened)
    for column in explanation["sensitive"]:
        yield from fold(f"Named column {column['column']}: {column['text']}.")


def _items(title: str, items: Sequence[str]) -> list[str]:
    lines = [title] if items else []
    for item in items:
        first, *more = fold(item, WIDTH, indent="  ")
        lines += [f"- {first[2:]}", *more]
    return lines
