"""The paper's figure: coverage by group and mean size, side by side or, if crowded, stacked."""

from typing import Any

import numpy as np

from plcp.experiments.by_group import Floats, Summary
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT

# a colour and a mark, the same in every figure
STYLES = {
    SPLIT: ("#7f7f7f", "o"),
    PUBLISHED: ("#e08214", "D"),
    DEFAULT: ("#1f6fb4", "^"),
    "BatchGCP": ("#4d9a52", "s"),
    "Conditional Calibration": ("#8c510a", "P"),
    "CQR": ("#9970ab", "v"),
    "LocalCP": ("#c51b7d", "X"),
    "oracle": ("#35978f", "p"),
}
UNKNOWN = ("#8b1a1a", "h")
CROWDED = 48  # points that a panel of half the width can show apart
LEGEND_LETTERS = 110  # names that fit in one line of the legend, with their marks


def draw_by_group(
    summary: Summary,
    size_label: str,
    group_label: str = "",
    methods: list[str] | None = None,
    log_size: bool = False,
) -> Any:
    """Coverage and mean size in each group: the mean over trials, and a bar over all of them."""
    from matplotlib.figure import Figure

    shown = methods or summary.methods
    stacked = len(summary.groups) * len(shown) > CROWDED
    figure = Figure(figsize=(12, 8) if stacked else (12, 4.8), layout="constrained")
    coverage, size = figure.subplots(*((2, 1) if stacked else (1, 2)), sharex=stacked)
    for place, method in enumerate(shown):
        shift = (place - (len(shown) - 1) / 2) * 0.76 / len(shown)
        color, marker = STYLES.get(method, UNKNOWN)
        style = {"color": color, "marker": marker}
        _points(coverage, summary.coverage[method], shift, method, style)
        _points(size, summary.size[method], shift, method, style)
    coverage.axhline(1 - summary.alpha, color="black", linewidth=1.2, linestyle="--", zorder=1)
    coverage.set_ylabel("coverage", fontsize=13)
    size.set_ylabel(size_label, fontsize=13)
    if log_size:
        size.set_yscale("log")
    elif _far_apart([summary.size[method] for method in shown]):
        size.set_ylim(bottom=0)
    for axes in (coverage, size):
        _name_groups(axes, summary.groups)
    for axes in (size,) if stacked else (coverage, size):
        axes.set_xlabel(group_label, fontsize=13)
    _legend(figure, coverage, len(summary.counts))
    return figure


def _far_apart(sizes: list[Floats]) -> bool:
    """Whether sizes differ so much that nothing is lost by showing zero too."""
    return bool(min(map(np.min, sizes)) < max(map(np.max, sizes)) / 2)


def tidy(axes: Any) -> None:
    """Text to be read from the back row, and no frame but the two axes."""
    axes.tick_params(labelsize=11)
    axes.spines[["top", "right"]].set_visible(False)


def _points(axes: Any, values: Floats, shift: float, label: str, style: dict[str, Any]) -> None:
    middle = values.mean(axis=0)
    bars = np.abs(np.array([values.min(axis=0), values.max(axis=0)]) - middle)
    places = np.arange(values.shape[1]) + shift
    axes.errorbar(
        places, middle, bars, label=label, linestyle="none", markersize=5.5, elinewidth=1.6, **style
    )


def _name_groups(axes: Any, groups: list[str]) -> None:
    width = max(len(line) for group in groups for line in group.split("\n"))
    slanted = len(groups) * width > 60 and width > 2
    axes.set_xticks(
        range(len(groups)),
        groups,
        **({"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}),
    )
    axes.set_xlim(-0.5, len(groups) - 0.5)
    for place in range(1, len(groups), 2):
        axes.axvspan(place - 0.5, place + 0.5, color="black", alpha=0.045, linewidth=0, zorder=0)
    axes.grid(axis="y", linewidth=0.5, alpha=0.6)
    tidy(axes)


def _legend(figure: Any, axes: Any, trials: int) -> None:
    """Names of the methods above all, in as few lines as their letters allow."""
    handles, labels = axes.get_legend_handles_labels()
    lines = -(-sum(len(label) + 6 for label in labels) // LEGEND_LETTERS)
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=-(-len(labels) // lines),
        frameon=False,
        fontsize=12,
        title=f"mean of {trials} trials, bars from the lowest to the highest"
        if trials > 1
        else None,
        title_fontsize=11,
    )
