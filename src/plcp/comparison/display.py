"""MethodsDisplay: conditional error, worst group and size of every method at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plcp.plotting.display import TARGET, Display, draw_target, label_axes, name_rows, styled

if TYPE_CHECKING:
    from plcp.comparison.result import MethodComparison

CHOSEN = {"color": "#1f6fb4", "marker": "D", "label": "recommended"}
MAYBE = {"color": "#e08214", "marker": "^", "label": "may have the smallest conditional error"}
RULED_OUT = {"color": "#7f7f7f", "marker": "o", "label": "ruled out"}


class MethodsDisplay(Display):
    """Three pictures of the same methods, the smallest conditional error at the top.

    On the left conditional error, in the middle the coverage of the worst group, on the right the
    mean size, each with its interval. Blue is the method recommended, orange are those that may
    have the smallest conditional error too, grey are those that are ruled out.

    Parameters
    ----------
    comparison : MethodComparison
        What is drawn.

    Attributes
    ----------
    axes_ : list of three matplotlib Axes
    figure_ : matplotlib Figure
    points_ : dict of metric to list of Line2D
        One line for each method, in the order of the rows.

    Examples
    --------
    >>> import matplotlib
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp import compare_methods
    >>> from plcp.datasets import make_toy
    >>> matplotlib.use("Agg")
    >>> task = make_toy(500, random_state=0)
    >>> found = compare_methods(task.X, task.y, LinearRegression(), ["split", "rectified"], cv=2)
    >>> display = found.plot()
    >>> len(display.axes_), sorted(display.points_)
    (3, ['conditional error', 'size', 'worst group'])
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, *, comparison: MethodComparison) -> None:
        self.comparison = comparison

    def plot(
        self,
        axes: Any = None,
        *,
        point_kwargs: Mapping[str, Any] | None = None,
        target_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw on three ``axes``, or on those of a new figure.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes or None
        point_kwargs : mapping, optional
            Keywords of ``ax.plot`` for the points.
        target_kwargs : mapping, optional
            Keywords of ``ax.axvline`` for the lines at no error and at the target coverage.
        """
        found, is_new = self.comparison, axes is None
        methods, target = found.ordered, 1 - found.alpha
        self.axes_ = self._open_all(axes, 3, width=10, height=1.6 + 0.27 * len(methods))
        size = "mean length" if found.task == "regression" else "labels per set"
        titles = {
            "conditional error": "conditional error, percentage points (smaller is better)",
            "worst group": f"coverage of the worst group (nearer {target:g} is better)",
            "size": f"{size} (smaller is better)",
        }
        self.points_ = {}
        for ax, (metric, title) in zip(self.axes_, titles.items(), strict=True):
            name_rows(ax, [one.name for one in methods])
            self.points_[metric] = [
                self._draw_point(ax, row, one.name, metric, point_kwargs)
                for row, one in enumerate(methods)
            ]
            label_axes(ax, title.replace(" (", "\n("), "")
        left, middle, right = self.axes_
        self.targets_ = [
            draw_target(left.axvline, 0.0, target_kwargs),
            draw_target(middle.axvline, target, target_kwargs),
        ]
        for ax in (middle, right):
            ax.tick_params(labelleft=False)
        right.locator_params(axis="x", nbins=4)  # numbers of any length have room
        for text, one in zip(left.get_yticklabels(), methods, strict=True):
            if one.name == found.recommended:
                text.set_fontweight("bold")
        self._draw_legend(is_new)
        return self

    def _style(self, name: str) -> dict[str, str]:
        if name == self.comparison.recommended:
            return CHOSEN
        return MAYBE if name in self.comparison.best else RULED_OUT

    def _draw_point(
        self, ax: Any, row: int, name: str, metric: str, given: Mapping[str, Any] | None
    ) -> Any:
        """Draw a point with its interval; infinity is written, what is not known left out."""
        measure, style = self.comparison.methods[name].measure(metric), self._style(name)
        ends = np.full(3, np.nan)
        if measure is not None:
            ends = np.array([measure.low, measure.estimate, measure.high])
        if np.isinf(ends[1]):
            ax.annotate(
                "infinite",
                (0.98, row),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="center",
                fontsize=8,
                color=style["color"],
            )
            ends[:] = np.nan
        low, estimate, high = ends * (100 if metric == "conditional error" else 1)
        ax.hlines(row, low, high, color=style["color"], linewidth=1.6)
        defaults = {**style, "linestyle": "none", "markersize": 6, "zorder": 3}
        return ax.plot([estimate], [row], **styled(defaults, given))[0]

    def _draw_legend(self, is_new: bool) -> None:
        from matplotlib.lines import Line2D

        used = [self._style(name) for name in self.comparison.methods]
        styles: list[dict[str, Any]] = [
            {**style, "linestyle": "none"} for style in (CHOSEN, MAYBE, RULED_OUT) if style in used
        ]
        target = f"no error, and coverage of {1 - self.comparison.alpha:g}"
        handles = [Line2D([], [], **style) for style in [*styles, {**TARGET, "label": target}]]
        options = {"handles": handles, "ncols": 2, "frameon": False, "fontsize": 9}
        if is_new:
            self.figure_.legend(loc="outside upper left", **options)
        else:  # the figure is the user's, and its layout too
            place = {"loc": "lower left", "bbox_to_anchor": (0, 1.01)}
            self.axes_[0].legend(**place, **options).set_in_layout(False)
