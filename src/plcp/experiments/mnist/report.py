"""What the blurred digits show: coverage and set size by blur, Table 2, and the images."""

from collections.abc import Callable

import numpy as np

from plcp.experiments.by_group import Floats, Summary, group_table, overall_table, summarise
from plcp.experiments.dependence import MEASURES, gain, gain_cell
from plcp.experiments.drawing import draw_by_group
from plcp.experiments.experiment import Record
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT
from plcp.experiments.mnist.images import draw_images, unpack
from plcp.experiments.mnist.notes import QUESTION, TABLE_2, WITHIN, explain_gains, notes
from plcp.experiments.mnist.rules import ORACLE
from plcp.experiments.report import Claim, Line, Report, Table

OURS = (PUBLISHED, DEFAULT)
LARGER = 1.03  # times as large as the oracle's sets, at most
BY_BLUR = "Coverage (and labels in a set) by blur"
COLUMNS = {
    "coverage": "coverage",
    "size": "labels in a set",
    "pearson": "correlation of size and coverage",
    "hsic": "HSIC of size and coverage",
}
COST = {"empty": "share of empty sets", "seconds": "seconds to fit and predict"}


def report(records: list[Record]) -> Report:
    """Coverage and set size by blur, Table 2 with and without empty sets, and the images."""
    summary, filled = summarise(records), never_empty(records)
    return Report(
        title="Digits at five levels of blur (section 4.1, Table 2)",
        reading=[_reading(summary), explain_gains(summary, filled, records)],
        tables=[
            group_table(summary, f"{BY_BLUR}, mean over trials", 2),
            _whole(summary, "All test images (mean, lowest to highest trial)", COLUMNS | COST),
            _table_2(summary, filled),
            group_table(filled, f"{BY_BLUR} if no set may be empty, mean over trials", 2),
            _whole(
                filled,
                "All test images if no set may be empty (mean, lowest to highest trial)",
                COLUMNS,
            ),
        ],
        figures={
            "by-blur": lambda: draw_by_group(summary, "labels in a set", "blur, in pixels"),
            "images": lambda: _sheet(summary, records),
        },
        captions={
            "by-blur": "Coverage and labels in a set at each blur.",
            "images": "The same digits at each blur, how often the predictor reads them right, and "
            "how many labels a set of PLCP has by default.",
        },
        lines=_lines(summary, filled),
        claims=[
            *(_level_claim(summary, m) for m in OURS),
            *(_size_claim(summary, m) for m in OURS),
        ],
        notes=notes(summary, records),
        question=QUESTION.format(level=1 - summary.alpha),
    )


def never_empty(records: list[Record]) -> Summary:
    """All trials again, by the scores that leave no set empty."""
    return summarise(
        [
            record | {"results": record["results"] | {"methods": record["results"]["never_empty"]}}
            for record in records
        ]
    )


def _reading(summary: Summary) -> str:
    ranges = []
    for method in (SPLIT, *OURS, ORACLE):
        levels = summary.coverage[method].mean(axis=0)
        ranges.append(f"{method} {levels.min():.3f} to {levels.max():.3f}")
    sizes = [f"{method} {_over_oracle(summary, method).mean():.2f}" for method in OURS]
    return (
        f"Mean coverage over trials, from the blur where it is lowest to that where it is highest: "
        f"{'; '.join(ranges)}. Mean set size in units of the {ORACLE}'s: {'; '.join(sizes)}."
    )


def _over_oracle(summary: Summary, method: str) -> Floats:
    """Mean size in units of the oracle's, in each trial."""
    return np.asarray(summary.overall[method]["size"] / summary.overall[ORACLE]["size"])


def _whole(summary: Summary, caption: str, columns: dict[str, str]) -> Table:
    return overall_table(summary, caption, columns, {"size": 2, "hsic": 5, "seconds": 0})


def _table_2(summary: Summary, filled: Summary) -> Table:
    """Gains of every method, the oracle's beside them."""
    header = [""]
    for name in MEASURES.values():
        header += [f"{name}, paper", f"{name}, ours", f"{name}, no set empty"]
    rows = [
        [
            method,
            *(
                cell
                for measure in MEASURES
                for cell in (
                    _printed(method, measure),
                    gain_cell(summary, method, measure),
                    gain_cell(filled, method, measure),
                )
            ),
        ]
        for method in summary.methods
        if method != SPLIT
    ]
    caption = (
        "Table 2: gain, the per cent of Split's dependence of coverage on set size that a method "
        "removes (mean, lowest to highest trial)"
    )
    return Table(caption, header, rows)


def _printed(method: str, measure: str) -> str:
    printed = TABLE_2[measure].get(method)
    return "–" if printed is None else f"{printed}"


def _lines(summary: Summary, filled: Summary) -> list[Line]:
    def line(quantity: str, paper: str, of: Callable[[str], Floats], digits: int = 3) -> Line:
        return Line(quantity, paper, of(PUBLISHED), of(DEFAULT), digits)

    def worst(method: str) -> Floats:
        return np.asarray(np.abs(summary.coverage[method] - (1 - summary.alpha)).max(axis=1))

    def gain_line(seen: Summary, measure: str, ending: str) -> Line:
        printed = _printed(PUBLISHED, measure)
        quantity = f"gain in {MEASURES[measure]}, %{ending}"
        return line(quantity, printed, lambda method: gain(seen, method, measure), digits=1)

    return [
        line(
            f"distance of coverage from {1 - summary.alpha:g} at the worst blur of a trial",
            "“near-perfect coverage”",
            worst,
        ),
        line("labels in a set, over the oracle's", "not given", lambda m: _over_oracle(summary, m)),
        *(gain_line(summary, measure, "") for measure in MEASURES),
        *(gain_line(filled, measure, ", no set empty") for measure in MEASURES),
    ]


def _level_claim(summary: Summary, method: str) -> Claim:
    gaps = summary.gap(method)
    worst = int(gaps.argmax())
    return Claim(
        f"every level of blur within {WITHIN} of {1 - summary.alpha:g} on average over trials: "
        f"{method}",
        f"at most {gaps[worst]:.3f} away, at {summary.groups[worst]}; {SPLIT} up to "
        f"{summary.gap(SPLIT).max():.3f}, {ORACLE} up to {summary.gap(ORACLE).max():.3f}",
        bool(gaps[worst] <= WITHIN),
    )


def _size_claim(summary: Summary, method: str) -> Claim:
    ratios = _over_oracle(summary, method)
    return Claim(
        f"sets at most {LARGER} times as large as the oracle's, on average over trials: {method}",
        f"{ratios.mean():.3f} times, {ratios.min():.3f} to {ratios.max():.3f} in single trials",
        bool(ratios.mean() <= LARGER),
    )


def _sheet(summary: Summary, records: list[Record]) -> object:
    """Return the images by blur, with what it does to the predictor and to the sets."""
    accuracy = np.mean([record["results"]["about"]["accuracy"] for record in records], axis=0)
    sizes = summary.size[DEFAULT].mean(axis=0)
    words = [
        f"{right:.0%} read right\n{size:.1f} labels in a set\n({DEFAULT})"
        for right, size in zip(accuracy, sizes, strict=True)
    ]
    first = records[0]
    images = unpack(first["results"]["about"]["digits"])
    return draw_images(images, first["settings"]["sigmas"], summary.groups, words)
