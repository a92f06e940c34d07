"""Figure 1 in four panels: the label, the score, coverage by x, samples with the boundary."""

from typing import Any

import numpy as np
from scipy.stats import norm

from plcp.experiments.drawing import STYLES, tidy
from plcp.experiments.experiment import Record
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT
from plcp.experiments.toy.law import (
    SIGMAS,
    marginal_quantile,
    side_coverage,
    side_densities,
    side_quantiles,
)
from plcp.experiments.toy.points import BIN_EDGES, draw_points

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
    for method, marker in ((SPLIT, "o"), (PUBLISHED, "D"), (DEFAULT, "^")):
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
