"""Figure 1: noise of variance 1 left of zero and 2 right of it, and the boundary that is found."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import halfnorm, norm
from sklearn.base import clone

from plcp.datasets import ScoreTask, make_toy
from plcp.experiments.methods import CROSS, PUBLISHED, SPLIT, TWO_KINDS, as_published
from plcp.experiments.report import (
    STYLES,
    Claim,
    Experiment,
    Floats,
    Line,
    Record,
    Report,
    Settings,
    Summary,
    Table,
    group_table,
    outcome,
    overall_table,
    spread,
    summarise,
    tidy,
)
from plcp.metrics import msce
from plcp.partitions import CollapseWarning, SoftmaxPartition, TreePartition
from plcp.quantiles import pinball_loss
from plcp.thresholds import PLCP, SplitConformal

SIGMAS = np.array([1.0, np.sqrt(2.0)])  # left, right
FAR = 12.0  # no score of either side is as large, to sixteen digits


def side_quantiles(alpha: float) -> Floats:
    """Return q₋ and q₊, the (1 - alpha)-quantiles of the score left and right of zero."""
    return np.asarray(halfnorm.isf(alpha, scale=SIGMAS), dtype=float)


def side_coverage(threshold: float) -> Floats:
    """P(S ≤ threshold) left and right of zero."""
    return np.asarray(halfnorm.cdf(threshold, scale=SIGMAS), dtype=float)


def marginal_quantile(alpha: float) -> float:
    """Split's threshold with infinitely many points: the quantile of both halves together."""
    return float(brentq(lambda q: side_coverage(q).mean() - (1 - alpha), *side_quantiles(alpha)))


def side_densities(scores: ArrayLike) -> Floats:
    """Density of the score left and right of zero, shape (2, n)."""
    return np.asarray(halfnorm.pdf(np.asarray(scores), scale=SIGMAS[:, None]), dtype=float)


def boundary_distance(n: int, alpha: float, chance: float) -> float:
    r"""Return how far from zero the best boundary of n points lies, but for a chance.

    The boundary that costs least, at thresholds q₋ and q₊, minimises a random walk away from zero:
    each point on the wrong side costs D = ℓ(its neighbours' threshold, s) - ℓ(its own, s), of
    positive mean. The walk is back at zero after k points or more with probability at most
    ρᵏ/(1 - ρ), ρ = min_t E exp(-tD), and the number of points within d of zero is binomial, so

    .. math:: P(\text{boundary beyond } d) \le \sum_\pm (1 - (1 - ρ_\pm) d/2)^n / (1 - ρ_\pm).

    The least d for which that is at most ``chance``, of order 1/n; 1, all there is, if none is.
    """
    rates = np.array([1 - _return_rate(side, alpha) for side in (0, 1)])

    def excess(d: float) -> float:
        return float(np.sum((1 - rates * d / 2) ** n / rates) - chance)

    return 1.0 if excess(1.0) > 0 else float(brentq(excess, 0.0, 1.0))


@cache
def _return_rate(side: int, alpha: float) -> float:
    """Chernoff's ρ = min_t E exp(-tD) of a point of this side under the other's threshold."""
    quantiles = side_quantiles(alpha)
    own, other = quantiles[side], quantiles[1 - side]

    def cost(s: float) -> float:
        return float(pinball_loss(other, s, alpha) - pinball_loss(own, s, alpha))

    found = minimize_scalar(
        lambda t: _mean(lambda s: np.exp(-t * cost(s)), side, quantiles),
        bounds=(0.0, 20 / (quantiles[1] - quantiles[0])),
        method="bounded",
    )
    return float(found.fun)


def _mean(function: Callable[[float], float], side: int, kinks: Floats) -> float:
    """Mean of a function of the score that is smooth between kinks."""
    ends = [0.0, *kinks, FAR]
    return sum(
        quad(lambda s: function(s) * halfnorm.pdf(s, scale=SIGMAS[side]), low, high)[0]
        for low, high in pairwise(ends)
    )


BIN_EDGES = np.linspace(-1, 1, 41)  # zero is one of them: no bin has both kinds of noise


@dataclass(frozen=True)
class Points:
    """Calibration and test rows, and the seed of what the rules draw."""

    calibration: ScoreTask
    test: ScoreTask
    rule_state: int


def draw_points(settings: Settings, seed: int) -> Points:
    """Draw the points of a trial."""
    states = [int(state) for state in np.random.SeedSequence(seed).generate_state(3)]
    return Points(
        make_toy(settings["sizes"][-1], states[0]),
        make_toy(settings["n_test"], states[1]),
        states[2],
    )


def share_by_x(x: Floats, covered: NDArray[np.bool_]) -> list[float]:
    """Share of the rows covered, in bins of x."""
    rows, hits = (np.histogram(part, BIN_EDGES)[0] for part in (x, x[covered]))
    return [float(share) for share in hits / rows]


SIDES = ("#2a9d8f", "#8e44ad")  # left, right: none of the methods' colours
BOUNDARY = "#d62728"
N_SAMPLES = 1_000
X_TICKS = (-1, -0.5, 0, 0.5, 1)

PANELS = (
    "(a) The law of the label given x. (b) The law of the score |y − f(x)| left of zero, right of "
    "zero and over all x, with the quantiles that thresholds should be. (c) Coverage by x: that of "
    "Split, exactly and as measured, and that of both PLCPs. (d) Scores of the first trial, the "
    "boundary that was found (dashed) and the thresholds learned on either side."
)


def draw_toy(records: list[Record]) -> Any:
    """Draw the figure: (a) and (b) exact, (c) over all trials, (d) of the first."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 8.6), layout="constrained")
    (a, b), (c, d) = figure.subplots(2, 2)
    alpha = records[0]["settings"]["alpha"]
    _label(a)
    _score(b, alpha)
    _coverage(c, records, alpha)
    _samples(d, records[0])
    for axes, title in zip((a, b, c, d), "abcd", strict=True):
        axes.set_title(f"({title})", loc="left", fontsize=13, fontweight="bold")
        axes.xaxis.label.set_size(13)
        axes.yaxis.label.set_size(13)
        tidy(axes)
    return figure


def _label(axes: Any) -> None:
    """Law of the label given x: shades that hold 50, 80, 90, 95 and 99 % of it."""
    x = np.linspace(-1, 1, 801)
    sigma = np.where(x < 0, *SIGMAS)
    for share in (0.99, 0.95, 0.9, 0.8, 0.5):
        half = sigma * norm.ppf((1 + share) / 2)
        axes.fill_between(x, x - half, x + half, color="#4c72b0", alpha=0.2, linewidth=0)
    axes.plot(x, x, color="black", linewidth=2, label="mean, f(x) = x")
    axes.text(-0.5, -4.3, "noise N(0, 1)", ha="center", fontsize=12)
    axes.text(0.5, -4.3, "noise N(0, 2)", ha="center", fontsize=12)
    axes.set(xlabel="x", ylabel="y", xlim=(-1, 1), xticks=X_TICKS, ylim=(-4.8, 4.8))
    axes.legend(frameon=False, fontsize=11, loc="upper left", title="shades: 50, 80, 90, 95, 99 %")


def _score(axes: Any, alpha: float) -> None:
    """Densities of the score and their (1 - alpha)-quantiles."""
    s = np.linspace(0, 4.5, 400)
    left, right = side_densities(s)
    low, high = side_quantiles(alpha)
    both = marginal_quantile(alpha)
    curves = (
        ("x < 0", left, SIDES[0], low, "q₋"),
        ("all x", (left + right) / 2, STYLES[SPLIT][0], both, "q"),
        ("x ≥ 0", right, SIDES[1], high, "q₊"),
    )
    for place, (name, density, color, quantile, sign) in enumerate(curves):
        axes.plot(s, density, color=color, linewidth=2.2, label=name)
        top = 0.5 - 0.07 * place  # each name above the lines to its right
        axes.vlines(quantile, 0, top, color=color, linewidth=1.6, linestyle="--")
        axes.text(quantile + 0.05, top, f"{sign} = {quantile:.2f}", color=color, fontsize=12)
    axes.set(xlabel="score s = |y − f(x)|", ylabel="density", xlim=(0, 4.5), ylim=(0, 0.85))
    title = f"dashed: {1 - alpha:g} quantiles"
    axes.legend(frameon=False, fontsize=11, title=title, loc="upper right")


def _coverage(axes: Any, records: list[Record], alpha: float) -> None:
    """Coverage by x: Split's exact and measured, PLCP's measured, over all trials."""
    middles = (BIN_EDGES[1:] + BIN_EDGES[:-1]) / 2
    left, right = side_coverage(marginal_quantile(alpha))
    axes.plot(
        [-1, 0, 0, 1],
        [left, left, right, right],
        color=STYLES[SPLIT][0],
        linewidth=2,
        label=f"{SPLIT}, exact",
    )
    for method, marker in ((SPLIT, "o"), (PUBLISHED, "D"), (CROSS, "^")):
        shares = [record["results"]["about"]["by_x"][method] for record in records]
        label = f"{method}, measured" if method == SPLIT else method
        style = {"color": STYLES[method][0], "marker": marker, "markersize": 5}
        axes.plot(middles, np.mean(shares, axis=0), linestyle="none", label=label, **style)
    axes.axhline(1 - alpha, color="black", linewidth=1.2, linestyle="--", zorder=1)
    axes.set(xlabel="x", ylabel="coverage", xlim=(-1, 1), xticks=X_TICKS)
    axes.legend(frameon=False, fontsize=11, loc="lower left")


def _samples(axes: Any, record: Record) -> None:
    """Samples (x, s) of a trial, the thresholds learned and the boundary between them."""
    calibration = draw_points(record["settings"], record["seed"]).calibration
    x, s = calibration.X[:N_SAMPLES, 0], calibration.scores[:N_SAMPLES]
    about = record["results"]["about"]
    places = about["changes"][PUBLISHED][-1]
    axes.scatter(x, s, s=9, color=np.where(x < 0, *SIDES), alpha=0.6, linewidths=0)
    for place, label in zip(places, ["boundary found"] + [None] * len(places), strict=False):
        axes.axvline(place, color=BOUNDARY, linewidth=2, linestyle="--", label=label)
    ends = [-1, *places, 1]
    for group, threshold in enumerate(about["thresholds"][: len(ends) - 1]):
        label = None if group else "thresholds learned"
        axes.hlines(threshold, *ends[group : group + 2], color="black", linewidth=2, label=label)
    axes.set(xlabel="x", ylabel="score s", xlim=(-1, 1), xticks=X_TICKS, ylim=(0, None))
    axes.legend(frameon=False, fontsize=11, loc="upper left")


LEFT, RIGHT = "x < 0", "x ≥ 0"
ORDERED, LEAVES = "PLCP, two ordered groups", "PLCP, two leaves of a tree"
TWO_GROUPS = (PUBLISHED, ORDERED, LEAVES)
CHANCE = 0.001  # of a claim about the boundary failing though all is well
QUESTION = (
    "x is uniform on [−1, 1], and the label is x plus Gaussian noise of variance 1 where x < 0 and "
    "of variance 2 where x ≥ 0. Intervals x ± q are to hold {target:g} of the labels on either "
    "side of zero. Split has one q for all x; PLCP has to find from the points alone that q must "
    f"change at zero, in the paper's words h(x) = sign(x). {TWO_KINDS}"
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
        question=QUESTION.format(target=1 - summary.alpha),
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
    sides = {m: summary.coverage[m].mean(axis=0) for m in (SPLIT, PUBLISHED, CROSS)}
    covered = [f"{method} {left:.3f} and {right:.3f}" for method, (left, right) in sides.items()]
    agreement = summary.overall[PUBLISHED]["agreement"].mean()
    return [
        f"{_where(records)} {PUBLISHED} gives {agreement:.1%} of the test points the threshold of "
        "their side.",
        f"Coverage left and right of zero: {'; '.join(covered)}.",
    ]


def _where(records: list[Record]) -> str:
    """Name where the group changes, in the trials in which it does."""
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
    target = f"{1 - summary.alpha:g} (Split, exactly: {{:.3f}})"
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
                target.format(split[at]),
                coverage[PUBLISHED][:, at],
                coverage[CROSS][:, at],
            )
            for at, side in enumerate(summary.groups)
        ),
        Line("exact MSCE", "0", overall[PUBLISHED]["msce"], overall[CROSS]["msce"], digits=5),
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
        *(_side_claim(summary, method) for method in (PUBLISHED, CROSS)),
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
        f"{CROSS} is not held to two groups, so that no single boundary is expected of it. "
        f"“{ORDERED}” is the same with two groups, which may alternate along x; “{LEAVES}” splits "
        "x at most once.",
        "MSCE, the paper's mean squared conditional error, is the mean over x of (P(covered | x) − "
        f"{1 - settings['alpha']:g})²; it is exact here, since the noise is known.",
        "How far the best possible boundary may lie from zero follows from Chernoff's bound on "
        "the loss of points on its wrong side, at the true thresholds "
        "(`plcp.experiments.toy`).",
    ]


GRID = np.linspace(-1, 1, 20_001)  # where a change of group is searched


def run(settings: Settings, seed: int, data_dir: Path | None) -> dict[str, Any]:
    """One trial: every rule at the largest size, those of two groups at the smaller ones too."""
    alpha, sizes = settings["alpha"], settings["sizes"]
    points = draw_points(settings, seed)
    calibration, test = points.calibration, points.test
    rules = _rules(alpha, points.rule_state)
    for rule in rules.values():
        rule.fit(calibration.X, calibration.scores)
    q = {name: np.asarray(rule.predict(test.X), dtype=float) for name, rule in rules.items()}
    right = test.X[:, 0] >= 0
    middle = side_quantiles(alpha).mean()
    return {
        "groups": {LEFT: int((~right).sum()), RIGHT: int(right.sum())},
        "methods": {
            name: outcome(
                test.scores <= q[name],
                2 * q[name],
                {LEFT: ~right, RIGHT: right},
                msce=float(msce(test.conditional_coverage(q[name]), alpha)),
                agreement=float(((q[name] > middle) == right).mean()),
            )
            for name in rules
        },
        "about": {
            "by_x": {name: share_by_x(test.X[:, 0], test.scores <= q[name]) for name in rules},
            "thresholds": rules[PUBLISHED].thresholds_.tolist(),
            "changes": {
                name: [
                    *(changes(_refitted(rules[name], calibration, n)) for n in sizes[:-1]),
                    changes(rules[name]),
                ]
                for name in TWO_GROUPS
            },
        },
    }


def _rules(alpha: float, state: int) -> dict[str, Any]:
    # No early stopping: with two groups in one dimension there is nothing to overfit.
    softmax = SoftmaxPartition(early_stopping=False)
    crossed: dict[str, Any] = {"calibration": "cross", "random_state": state}
    return {
        SPLIT: SplitConformal(alpha),
        PUBLISHED: as_published(softmax, 2, alpha, state),
        CROSS: PLCP(alpha=alpha, **crossed),
        ORDERED: PLCP(n_groups=2, alpha=alpha, **crossed),
        LEAVES: PLCP(TreePartition(), 2, alpha, **crossed),
    }


def _refitted(rule: PLCP, calibration: ScoreTask, n: int) -> PLCP:
    """Return the same rule fitted to the first n rows."""
    with warnings.catch_warnings():
        # An empty group has no boundary, which is what the trial then records.
        warnings.simplefilter("ignore", CollapseWarning)
        return clone(rule).fit(calibration.X[:n], calibration.scores[:n])


def changes(rule: PLCP) -> list[float]:
    """Places where the likeliest group changes; with memberships h, where they cross."""
    groups = rule.memberships(GRID[:, None]).argmax(axis=1)
    middles = (GRID[1:] + GRID[:-1]) / 2
    return [round(float(x), 5) for x in middles[np.diff(groups) != 0]]


EXPERIMENTS = (
    Experiment(
        name="toy",
        settings={"alpha": 0.1, "sizes": [500, 5_000, 50_000], "n_test": 50_000},
        quick={"alpha": 0.1, "sizes": [500, 2_000], "n_test": 2_000},
        trials=20,
        run=run,
        report=report,
    ),
)
