"""What the census shows: coverage by group beside what chance allows, and what Table 1 measures."""

from dataclasses import replace
from textwrap import fill

import numpy as np

from plcp.experiments.by_group import Summary, group_table, overall_table, summarise
from plcp.experiments.census.claims import claims, named_places, table_of_chance
from plcp.experiments.census.notes import BINS, QUESTION, notes
from plcp.experiments.census.people import DOCTORATE, OVER_60
from plcp.experiments.census.table_one import (
    CQR,
    LOCAL,
    TO_REACH_IN_WORDS,
    gain_lines,
    table_one,
)
from plcp.experiments.dependence import MEASURES, gain_cell
from plcp.experiments.drawing import draw_by_group
from plcp.experiments.experiment import Record
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT
from plcp.experiments.report import Line, Report

DEFAULT_ON_CQR = f"{DEFAULT}, on {CQR}"
LABEL_LETTERS = 26  # of a line under the figure: longer ones would take its room
SHOWN = [SPLIT, CQR, LOCAL, PUBLISHED, DEFAULT]


def report(records: list[Record]) -> Report:
    """Coverage by group, Table 1, and what was to be reached."""
    summary = summarise(records)
    return Report(
        title="Incomes in the 2018 American Community Survey (section 4.1, Table 1)",
        reading=_reading(summary),
        tables=[
            table_of_chance(summary),
            group_table(
                summary, "Coverage (mean length in $1,000) by group, mean over trials", digits=1
            ),
            overall_table(
                summary,
                "Everybody (mean, lowest to highest trial)",
                {
                    "coverage": "coverage",
                    "size": "length, $1,000",
                    "cut_at_zero": "share of intervals cut at zero",
                    "unbounded": "share of intervals without an upper end",
                },
                {"size": 1},
            ),
            table_one(summary),
        ],
        figures={
            "by-group": lambda: draw_by_group(
                replace(summary, groups=_with_counts(summary)),
                "mean length, \\$1,000",
                "(people in a test part)",
                SHOWN,
            )
        },
        captions={"by-group": "Coverage and mean length by race, sex, state, age and schooling."},
        lines=_lines(summary),
        claims=claims(summary),
        notes=notes(records),
        question=QUESTION.format(level=1 - summary.alpha),
    )


def _with_counts(summary: Summary) -> list[str]:
    counts = summary.counts.mean(axis=0)
    labels = [f"{name} ({n:,.0f})" for name, n in zip(summary.groups, counts, strict=True)]
    return [fill(label, LABEL_LETTERS) for label in labels]


def _mean(summary: Summary, method: str, group: str) -> float:
    return float(summary.coverage[method][:, summary.groups.index(group)].mean())


def _reading(summary: Summary) -> list[str]:
    named = named_places(summary)

    def ends(method: str) -> str:
        coverage = summary.coverage[method].mean(axis=0)[named]
        return f"{coverage.min():.3f} and {coverage.max():.3f} with {method}"

    def in_all(group: str) -> str:
        return "; ".join(f"{_mean(summary, method, group):.3f} with {method}" for method in three)

    three = (DEFAULT, PUBLISHED, SPLIT)
    gains = [
        f"{method} {' and '.join(gain_cell(summary, method, measure) for measure in MEASURES)}"
        for method in (PUBLISHED, DEFAULT, BINS)
    ]
    return [
        "Coverage of the races, sexes and states, mean over trials, lies between "
        f"{'; between '.join(map(ends, three))}.",
        *(
            f"Coverage of “{group}”, which nobody named: {in_all(group)}."
            for group in _unnamed(summary)
        ),
        "Per cent of Split's dependence of coverage on length that is gone (below 0: more), "
        f"by HSIC and by Pearson: {'; '.join(gains)}. The paper's PLCP has {TO_REACH_IN_WORDS}.",
    ]


def _unnamed(summary: Summary) -> list[str]:
    return [group for group in (OVER_60, DOCTORATE) if group in summary.groups]


def _lines(summary: Summary) -> list[Line]:
    named, ours = named_places(summary), (PUBLISHED, DEFAULT)
    gaps = {m: np.abs(summary.coverage[m] - (1 - summary.alpha))[:, named] for m in ours}
    gap = {m: np.average(gaps[m], axis=1, weights=summary.counts[:, named]) for m in ours}
    lines = gain_lines(summary)
    quantity = (
        f"mean distance of coverage from {1 - summary.alpha:g} over races, sexes and states, "
        "weighted by people"
    )
    lines.append(Line(quantity, "“near-perfect”", gap[PUBLISHED], gap[DEFAULT]))
    for group in _unnamed(summary):
        published, default = (summary.coverage[m][:, summary.groups.index(group)] for m in ours)
        lines.append(Line(f"coverage, {group}", "not given", published, default))
    return lines
