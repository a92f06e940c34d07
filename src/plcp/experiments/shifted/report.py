"""What RxRx1's protocol shows: coverage and set size by experiment, and why some must be high."""

from collections.abc import Callable
from typing import Any

import numpy as np

from plcp.experiments.by_group import Floats, Summary, group_table, overall_table, summarise
from plcp.experiments.drawing import draw_by_group
from plcp.experiments.experiment import Record
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT
from plcp.experiments.report import Claim, Line, Report, Table, spread
from plcp.experiments.shifted.notes import Wording, asked, shared_notes
from plcp.experiments.shifted.rules import CONDITIONAL

BROKEN = ", ties broken at random"
COLUMNS = {
    "coverage": "coverage",
    "hard": "coverage of hard rows",
    "size": "mean set size",
    "empty": "share of empty sets",
    "seconds": "seconds to fit and predict",
}


def report_shifted(records: list[Record], words: Wording) -> Report:
    """Return the report: with the paper's score, and with its ties broken if that was run."""
    summaries = {"": summarise(records)}
    if "ties_broken" in records[0]["results"]:
        summaries[BROKEN] = summarise([_ties_broken(record) for record in records])
    paper, *_ = summaries.values()
    lowest = _about(records, "least").mean(axis=0)
    figures = {
        "ties-broken" if kind else "by-group": _drawing(summary, words, None if kind else lowest)
        for kind, summary in summaries.items()
    }
    return Report(
        title=words.title,
        reading=_reading(paper, words),
        tables=[
            *(table for kind, summary in summaries.items() for table in _tables(summary, kind)),
            _about_table(records, paper, words),
        ],
        figures=figures,
        captions={
            "by-group": f"Coverage and mean set size by {words.group}.",
            "ties-broken": f"The same by {words.group}, ties broken at random.",
        },
        lines=_lines(paper, words),
        claims=[
            claim
            for kind, summary in summaries.items()
            for method in (DEFAULT, PUBLISHED)
            for claim in _claims(
                summary, method, kind, words, lowest if (kind, method) == ("", DEFAULT) else None
            )
        ],
        notes=[*words.notes, *shared_notes(records, words)],
        question=asked(words, 1 - paper.alpha),
    )


def _ties_broken(record: Record) -> Record:
    results = record["results"]
    return record | {"results": results | {"methods": results["ties_broken"]}}


def _drawing(summary: Summary, words: Wording, least: Floats | None) -> Callable[[], Any]:
    """Return a function that draws coverage and size, and the least coverage if it is given."""

    def draw() -> Any:
        figure = draw_by_group(summary, "mean set size", words.group)
        if least is not None:
            axes, places = figure.axes[0], np.arange(len(least))
            level = 1 - summary.alpha
            name = (
                "lowest coverage of sets that are never\n"
                f"empty and cover {level:g} of the hard rows"
            )
            axes.hlines(least, places - 0.42, places + 0.42, "black", "dotted", label=name)
            low, high = axes.get_ylim()
            axes.set_ylim(low - 0.14 * (high - low), high)  # room for the line's name
            handles, labels = axes.get_legend_handles_labels()
            line = labels.index(name)
            axes.legend([handles[line]], [name], loc="lower left", fontsize=11, frameon=False)
        return figure

    return draw


def _tables(summary: Summary, kind: str) -> list[Table]:
    return [
        overall_table(
            summary,
            f"All test rows{kind} (mean, lowest to highest trial)",
            COLUMNS,
            {"size": 2, "seconds": 1},
        ),
        group_table(summary, f"Coverage (and mean set size){kind}, mean over trials", digits=2),
    ]


def _about_table(records: list[Record], summary: Summary, words: Wording) -> Table:
    """What no rule can change: the predictor's accuracy, and the coverage that follows."""
    accuracy, least = (_about(records, key) for key in ("accuracy", "least"))
    rows = [
        [group, f"{summary.counts[:, g].mean():.0f}", spread(accuracy[:, g]), spread(least[:, g])]
        for g, group in enumerate(summary.groups)
    ]
    header = [words.group, "test rows", "likeliest label right", "lowest coverage"]
    caption = (
        "How often the predictor's likeliest label is right, and the lowest coverage of sets that "
        f"are never empty and cover {1 - summary.alpha:g} of the hard rows (mean, lowest to "
        "highest trial)"
    )
    return Table(caption, header, rows)


def _about(records: list[Record], key: str) -> Floats:
    return np.array([record["results"]["about"][key] for record in records], dtype=float)


def _reading(summary: Summary, words: Wording) -> list[str]:
    level = 1 - summary.alpha
    ranges = []
    for method in (SPLIT, CONDITIONAL, PUBLISHED, DEFAULT):
        means = summary.coverage[method].mean(axis=0)
        ranges.append(f"{method} {means.min():.3f} to {means.max():.3f}")
    sizes = [f"{method} {_size(summary, method):.2f}" for method in summary.methods]
    hard = [f"{method} {summary.overall[method]['hard'].mean():.3f}" for method in summary.methods]
    return [
        f"Mean coverage over trials, from the {words.group} where it is lowest to that where it is "
        f"highest ({level:g} is asked of all {len(summary.groups)}): {'; '.join(ranges)}.",
        f"Coverage of the hard rows, those whose likeliest label a classifier expects to be right "
        f"at most {level:g} of the time: {'; '.join(hard)}.",
        f"Mean set size: {'; '.join(sizes)}.",
    ]


def _size(summary: Summary, method: str) -> float:
    return float(summary.overall[method]["size"].mean())


def _lines(summary: Summary, words: Wording) -> list[Line]:
    def gap(method: str) -> Floats:
        return np.abs(summary.coverage[method] - (1 - summary.alpha)).mean(axis=1)

    def ratio(method: str) -> Floats:
        return summary.overall[method]["size"] / summary.overall[CONDITIONAL]["size"]

    return [
        Line(
            f"distance of coverage from {1 - summary.alpha:g}, mean of {words.groups}",
            words.paper,
            gap(PUBLISHED),
            gap(DEFAULT),
        ),
        Line(
            "mean set size over Conditional Calibration's",
            words.paper,
            ratio(PUBLISHED),
            ratio(DEFAULT),
        ),
    ]


def _claims(
    summary: Summary, method: str, kind: str, words: Wording, lowest: Floats | None
) -> list[Claim]:
    ours, splits = summary.gap(method), summary.gap(SPLIT)
    by_group = ", ".join(
        f"{words.group} {group}: {a:.3f} against {b:.3f}"
        for group, a, b in zip(summary.groups, ours, splits, strict=True)
    )
    size, rival = _size(summary, method), _size(summary, CONDITIONAL)
    level = 1 - summary.alpha
    return [
        Claim(
            f"{method}{kind}: every {words.group}'s mean coverage over trials nearer to {level:g} "
            f"than {SPLIT}'s",
            by_group + ("" if lowest is None else _why_not(summary, method, words, lowest)),
            bool((ours < splits).all()),
        ),
        Claim(
            f"{method}{kind}: sets no larger than {CONDITIONAL}'s",
            f"{size:.3f} against {rival:.3f}",
            size <= rival,
        ),
    ]


def _why_not(summary: Summary, method: str, words: Wording, lowest: Floats) -> str:
    """Say where a rule that covers 1 - alpha of the hard rows cannot be as near as Split."""
    level, splits = 1 - summary.alpha, summary.gap(SPLIT)
    covers_more = summary.coverage[method].mean(axis=0) > level
    forced = covers_more & (summary.gap(method) >= splits) & (lowest - level > splits)
    if not forced.any():
        return ""
    at_least = " and ".join(
        f"{lowest[g]:.3f} of {words.group} {summary.groups[g]}" for g in np.flatnonzero(forced)
    )
    return (
        f"; sets that are never empty and cover {level:g} of the hard rows cover at least "
        f"{at_least}: {SPLIT} is nearer to {level:g} than that, by covering fewer of the hard rows"
    )
