"""The paper's figure: coverage by group at the left, mean size at the right."""

from typing import Any

import numpy as np

from plcp.experiments.by_group import DEFAULT, PUBLISHED, SPLIT, Floats, Summary

COLORS = {SPLIT: "#8c8c8c", PUBLISHED: "#e08214", DEFAULT: "#1f6fb4"}
OTHERS = ("#5aae61", "#9970ab", "#c51b7d", "#35978f", "#8c510a")
MARKERS = "osD^vP*X"


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
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for place, method in enumerate(shown):
        shift = (place - (len(shown) - 1) / 2) * 0.7 / len(shown)
        style = {"color": color_of(method, shown), "marker": MARKERS[place % len(MARKERS)]}
        _points(left, summary.coverage[method], shift, method, style)
        _points(right, summary.size[method], shift, method, style)
    left.axhline(1 - summary.alpha, color="black", linewidth=1, linestyle="--", zorder=0)
    left.set(ylabel="coverage")
    right.set(ylabel=size_label)
    if log_size:
        right.set_yscale("log")
    else:
        right.set_ylim(bottom=0)
    for axes in (left, right):
        _name_groups(axes, summary.groups, group_label)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=min(len(shown), 7), frameon=False
    )
    return figure


def color_of(method: str, methods: list[str]) -> str:
    """Return a method's colour: Split grey, PLCP orange and blue, the others as they come."""
    others = [name for name in methods if name not in COLORS]
    return COLORS.get(method) or OTHERS[others.index(method) % len(OTHERS)]


def _points(axes: Any, values: Floats, shift: float, label: str, style: dict[str, Any]) -> None:
    middle = values.mean(axis=0)
    bars = np.abs(np.array([values.min(axis=0), values.max(axis=0)]) - middle)
    places = np.arange(values.shape[1]) + shift
    axes.errorbar(
        places, middle, bars, label=label, linestyle="none", markersize=4.5, linewidth=1, **style
    )


def _name_groups(axes: Any, groups: list[str], label: str) -> None:
    crowded = sum(map(len, groups)) > 60
    axes.set_xticks(
        range(len(groups)), groups, **({"rotation": 45, "ha": "right"} if crowded else {})
    )
    axes.set_xlabel(label)
    axes.margins(x=0.02)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
