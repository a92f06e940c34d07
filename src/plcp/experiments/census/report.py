"""What the census shows: coverage by group beside what chance allows, and what Table 1 measures."""

from dataclasses import replace

import numpy as np

from plcp.experiments.by_group import Summary, group_table, overall_table, summarise
from plcp.experiments.census.claims import PAPER, claims, named_places, table_of_chance
from plcp.experiments.census.notes import BINS, QUESTION, notes
from plcp.experiments.census.people import DOCTORATE, OVER_60
from plcp.experiments.dependence import MEASURES, gain, gain_cell
from plcp.experiments.drawing import draw_by_group
from plcp.experiments.experiment import Record
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT
from plcp.experiments.report import Line, Report, Table, spread

CQR, LOCAL, DEFAULT_ON_CQR = "CQR", "LocalCP", "PLCP, default, on CQR"
SHOWN = [SPLIT, CQR, LOCAL, PUBLISHED, DEFAULT]
PAPER_TABLE = {PUBLISHED: "56.07, 64.06", CQR: "51.89, 59.21", LOCAL: "32.12, 37.96"}


def report(records: list[Record]) -> Report:
    """Coverage by group, Table 1, and what was to be reached."""
    summary = summarise(records)
    return Report(
        title="Incomes of the 2018 census (section 4.1, Table 1)",
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
                    "cut_at_zero": "share cut at zero",
                    "unbounded": "share unbounded",
                },
                {"size": 1},
            ),
            _table_one(summary),
        ],
        figures={
            "by-group": lambda: draw_by_group(
                replace(summary, groups=_with_counts(summary)),
                "mean length, \\$1,000",
                "(people in a test part)",
                SHOWN,
            )
        },
        lines=_lines(summary),
        claims=claims(summary),
        notes=notes(records),
        question=QUESTION.format(level=1 - summary.alpha),
    )


def _with_counts(summary: Summary) -> list[str]:
    counts = summary.counts.mean(axis=0)
    return [f"{name}\n({n:,.0f})" for name, n in zip(summary.groups, counts, strict=True)]


def _mean(summary: Summary, method: str, group: str) -> float:
    return float(summary.coverage[method][:, summary.groups.index(group)].mean())


def _reading(summary: Summary) -> list[str]:
    named = named_places(summary)

    def ends(method: str) -> str:
        coverage = summary.coverage[method].mean(axis=0)[named]
        return f"{coverage.min():.3f} to {coverage.max():.3f}"

    unnamed = [name for name in (DOCTORATE, OVER_60) if name in summary.groups]
    rest = [
        f"{group}: {_mean(summary, DEFAULT, group):.3f} (Split {_mean(summary, SPLIT, group):.3f}, "
        f"as published {_mean(summary, PUBLISHED, group):.3f})"
        for group in unnamed
    ]
    gains = [
        f"{method} {' and '.join(gain_cell(summary, method, measure) for measure in MEASURES)}"
        for method in (PUBLISHED, DEFAULT, BINS)
    ]
    return [
        f"Over races, sexes and states, mean coverage is {ends(DEFAULT)} by {DEFAULT}, "
        f"{ends(PUBLISHED)} by {PUBLISHED} and {ends(SPLIT)} by {SPLIT}.",
        *([f"Of those whom nobody named, {'; '.join(rest)}."] if rest else []),
        "Per cent of Split's dependence between length and coverage that is gone, by HSIC and by "
        f"Pearson: {'; '.join(gains)}; the paper has 56 and 64.",
    ]


def _table_one(summary: Summary) -> Table:
    rows = [
        [
            method,
            spread(summary.overall[method]["pearson"]),
            spread(1e4 * summary.overall[method]["hsic"], 2),
            *(gain_cell(summary, method, measure) for measure in MEASURES),
            PAPER_TABLE.get(method, "–"),
        ]
        for method in summary.methods
    ]
    header = ["", "Pearson", "HSIC × 10⁴", "HSIC gain, %", "Pearson gain, %", "paper's gains, %"]
    return Table("Table 1: how coverage depends on length, and what of it is gone", header, rows)


def _lines(summary: Summary) -> list[Line]:
    named, ours = named_places(summary), (PUBLISHED, DEFAULT)
    gaps = {m: np.abs(summary.coverage[m] - (1 - summary.alpha))[:, named] for m in ours}
    gap = {m: np.average(gaps[m], axis=1, weights=summary.counts[:, named]) for m in ours}
    unnamed = [group for group in (OVER_60, DOCTORATE) if group in summary.groups]
    lines = [
        Line(
            f"{name} gain over Split, %",
            f"{PAPER[measure]}",
            gain(summary, PUBLISHED, measure),
            gain(summary, DEFAULT, measure),
            digits=1,
        )
        for measure, name in MEASURES.items()
    ]
    quantity = (
        f"distance of coverage from {1 - summary.alpha:g}, mean of races, sexes and states, "
        "weighted by people"
    )
    lines.append(Line(quantity, "“near-perfect”", gap[PUBLISHED], gap[DEFAULT]))
    for group in unnamed:
        published, default = (summary.coverage[m][:, summary.groups.index(group)] for m in ours)
        lines.append(Line(f"coverage, {group}", "not given", published, default))
    return lines
