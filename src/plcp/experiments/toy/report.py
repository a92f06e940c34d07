"""What the toy example shows: Split's coverage left and right, and the boundary that PLCP finds."""

import numpy as np

from plcp.experiments.by_group import Floats, Summary, group_table, overall_table, summarise
from plcp.experiments.experiment import Record, Settings
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT, TWO_KINDS
from plcp.experiments.report import Claim, Line, Report, Table, spread
from plcp.experiments.toy.figure import PANELS, draw_toy
from plcp.experiments.toy.law import boundary_distance, marginal_quantile, side_coverage

LEFT, RIGHT = "x < 0", "x ≥ 0"
ORDERED, LEAVES = "PLCP, two ordered groups", "PLCP, two leaves of a tree"
TWO_GROUPS = (PUBLISHED, ORDERED, LEAVES)
CHANCE = 0.001  # of a claim about the boundary failing though all is well
QUESTION = (
    "x is uniform on [−1, 1], and the label is x plus Gaussian noise of variance 1 where x < 0 and "
    "of variance 2 where x ≥ 0. Intervals x ± q are to hold {level:g} of the labels on either side "
    "of zero. Split has one q for all x; PLCP has to find from the points alone that q must change "
    f"at zero, in the paper's words h(x) = sign(x). {TWO_KINDS}"
)


def report(records: list[Record]) -> Report:
    """Figure 1, the boundary by class H and number of points, and coverage on both sides."""
    summary = summarise(records)
    settings = records[0]["settings"]
    return Report(
        title="Figure 1: the toy example, and the boundary PLCP finds",
        reading=_reading(summary, records),
        tables=[
            group_table(summary, "Coverage (and mean length) left and right, mean over trials"),
            overall_table(
                summary,
                "All test points (mean, lowest to highest trial)",
                {
                    "coverage": "coverage",
                    "msce": "exact MSCE",
                    "agreement": "share of points with the threshold of their side",
                },
                {"msce": 5},
            ),
            _boundary_table(records),
        ],
        figures={"four-panels": lambda: draw_toy(records)},
        captions={"four-panels": PANELS},
        lines=_lines(summary, records),
        claims=_claims(summary, records),
        notes=_notes(settings),
        question=QUESTION.format(level=1 - summary.alpha),
    )


def boundary_error(changes: list[float]) -> float:
    """Distance from zero of the farthest change of group; 1, all there is, if there is none.

    Examples
    --------
    >>> boundary_error([-0.25, 0.5]), boundary_error([])
    (0.5, 1.0)
    """
    return max(map(abs, changes), default=1.0)


def boundary_errors(records: list[Record], method: str, size: int = -1) -> Floats:
    """Those distances in all trials, at one of the sizes (the largest)."""
    found = [record["results"]["about"]["changes"][method][size] for record in records]
    return np.array([boundary_error(changes) for changes in found])


def _boundary_table(records: list[Record]) -> Table:
    sizes = records[0]["settings"]["sizes"]
    rows = [
        [
            method,
            *(
                cell
                for at in range(len(sizes))
                for cell in (
                    spread(boundary_errors(records, method, at), 4),
                    _number_of_changes(records, method, at),
                )
            ),
        ]
        for method in TWO_GROUPS
    ]
    columns = ("distance of the farthest change", "number of changes")
    return Table(
        "Where the group changes along x, which should be at zero only: distance of the farthest "
        "change from zero (mean, lowest to highest trial; 1: no change found), and number of "
        "changes (lowest to highest trial)",
        ["", *(f"{n:,} points: {column}" for n in sizes for column in columns)],
        rows,
    )


def _number_of_changes(records: list[Record], method: str, size: int) -> str:
    counts = {len(record["results"]["about"]["changes"][method][size]) for record in records}
    return " to ".join(map(str, sorted({min(counts), max(counts)})))


def _reading(summary: Summary, records: list[Record]) -> list[str]:
    sides = {m: summary.coverage[m].mean(axis=0) for m in (SPLIT, PUBLISHED, DEFAULT)}
    covered = [f"{method} {left:.3f} and {right:.3f}" for method, (left, right) in sides.items()]
    agreement = summary.overall[PUBLISHED]["agreement"].mean()
    return [
        f"{_where(records)} {PUBLISHED} gives {agreement:.1%} of the test points the threshold of "
        "their side.",
        f"Coverage left and right of zero: {'; '.join(covered)}.",
    ]


def _where(records: list[Record]) -> str:
    """Say where the group changes, in the trials in which it does."""
    found = [record["results"]["about"]["changes"][PUBLISHED][-1] for record in records]
    errors = [boundary_error(changes) for changes in found if changes]
    words = []
    if errors:
        words.append(
            f"The group should change at zero; with {PUBLISHED} its farthest change is "
            f"{np.mean(errors):.4f} from zero, on average over the trials that have one."
        )
    if len(errors) < len(found):
        missing = f"{len(found) - len(errors)} of {len(found)} trials"
        words.append(f"{PUBLISHED} finds no boundary in {missing}.")
    return " ".join(words)


def _lines(summary: Summary, records: list[Record]) -> list[Line]:
    split = side_coverage(marginal_quantile(summary.alpha))
    level = f"{1 - summary.alpha:g} (Split, exactly: {{:.3f}})"
    coverage, overall = summary.coverage, summary.overall
    return [
        Line(
            "distance of the farthest change of group from zero (1: no change found)",
            "0, h(x) = sign(x)",
            boundary_errors(records, PUBLISHED),
            [],
            digits=4,
        ),
        *(
            Line(
                f"coverage, {side}",
                level.format(split[at]),
                coverage[PUBLISHED][:, at],
                coverage[DEFAULT][:, at],
            )
            for at, side in enumerate(summary.groups)
        ),
        Line("exact MSCE", "0", overall[PUBLISHED]["msce"], overall[DEFAULT]["msce"], digits=5),
    ]


def _claims(summary: Summary, records: list[Record]) -> list[Claim]:
    n = records[0]["settings"]["sizes"][-1]
    distance = boundary_distance(n, summary.alpha, CHANCE / len(records))
    found = boundary_errors(records, PUBLISHED)
    return [
        Claim(
            f"{PUBLISHED} finds h(x) = sign(x): its group changes within {distance:.3f} of zero, "
            f"and nowhere else, in every trial, as the best possible boundary for {n:,} points "
            f"would with probability {1 - CHANCE:g} or more",
            f"farthest change in any trial: {found.max():.4f} from zero, where 1 stands for none",
            bool(found.max() <= distance),
        ),
        *(_side_claim(summary, method) for method in (PUBLISHED, DEFAULT)),
    ]


def _side_claim(summary: Summary, method: str) -> Claim:
    ours, split = summary.gap(method), summary.gap(SPLIT)
    return Claim(
        f"coverage of {method} nearer to {1 - summary.alpha:g} than {SPLIT}'s on both sides, on "
        "average over trials",
        "; ".join(
            f"{side}: {a:.4f} away, {SPLIT} {b:.4f}"
            for side, a, b in zip(summary.groups, ours, split, strict=True)
        ),
        bool((ours < split).all()),
    )


def _notes(settings: Settings) -> list[str]:
    return [
        "The paper supposes infinitely many points; here calibration and test have "
        f"{settings['sizes'][-1]:,} and {settings['n_test']:,}. The model is the paper's, "
        "f(x) = x; panels (a) and (b) and Split's line in (c) are exact.",
        "As published: two groups, h(x) the softmax of a line, the paper's loss minimised on all "
        "points until nothing is gained, the group of each test point drawn from h(x). Near zero "
        "h(x) is soft, so that points there may draw the group of the other side. With a "
        "sharp boundary no group is left to chance, and the best one has no larger loss, since a "
        "soft boundary is a mixture of sharp ones.",
        "A point has the threshold of its side if its threshold is nearer to the true "
        f"{1 - settings['alpha']:g} quantile of the score on that side than to that on the other.",
        f"{DEFAULT} is not held to two groups, so that no single boundary is expected of it. "
        f"“{ORDERED}” is the same with two groups, which may alternate along x; “{LEAVES}” splits "
        "x at most once.",
        "MSCE, the paper's mean squared conditional error, is the mean over x of (P(covered | x) − "
        f"{1 - settings['alpha']:g})²; it is exact here, since the noise is known.",
        "How far the best possible boundary may lie from zero follows from Chernoff's bound on "
        "the loss of points on its wrong side, at the true thresholds "
        "(`plcp.experiments.toy.law`).",
    ]
