"""MethodsDisplay: conditional error, worst group and size of every method at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plcp.metrics.measure import Measure
from plcp.plotting.display import Display, draw_target, label_axes, name_rows, styled

if TYPE_CHECKING:
    from plcp.comparison.result import ComparedMethod, MethodComparison

CHOSEN, MAYBE, RULED_OUT = "#1f6fb4", "#e08214", "#7f7f7f"
MARKS = {CHOSEN: "D", MAYBE: "^", RULED_OUT: "o"}


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
        methods = self.comparison._ordered()
        self.axes_ = self._three(axes, len(methods))
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        unit = "mean length" if self.comparison.task == "regression" else "labels per set"
        titles = {
            "conditional error": "conditional error, percentage points",
            "worst group": "coverage of the worst group",
            "size": unit,
        }
        self.points_ = {}
        for ax, (metric, title) in zip(self.axes_, titles.items(), strict=True):
            name_rows(ax, [one.name for one in methods])
            scale = 100 if metric == "conditional error" else 1
            self.points_[metric] = [
                self._point(ax, row, one, one.measure(metric), scale, point_kwargs)
                for row, one in enumerate(methods)
            ]
            label_axes(ax, title, "")
        self._draw_targets(target_kwargs)
        for ax in self.axes_[1:]:
            ax.tick_params(labelleft=False)
        for text, one in zip(self.axes_[0].get_yticklabels(), methods, strict=True):
            if one.name == self.comparison.recommended:
                text.set_fontweight("bold")
        self._draw_legend(axes is None)
        return self

    def _three(self, axes: Any, rows: int) -> list[Any]:
        if axes is not None:
            given = list(np.ravel(np.asarray(axes, dtype=object)))
            if len(given) != 3:
                raise ValueError(
                    f"three axes are needed, got {len(given)}: give plt.subplots(1, 3)"
                )
            for ax in given:
                ax.spines[["top", "right"]].set_visible(False)
            return given
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "MethodsDisplay needs matplotlib: pip install 'plcp[plot]'"
            ) from error
        _, made = plt.subplots(1, 3, figsize=(10, 1.6 + 0.27 * rows), layout="constrained")
        for ax in made:
            ax.spines[["top", "right"]].set_visible(False)
        return list(made)

    def _color(self, name: str) -> str:
        if name == self.comparison.recommended:
            return CHOSEN
        return MAYBE if name in self.comparison.best else RULED_OUT

    def _point(
        self,
        ax: Any,
        row: int,
        one: ComparedMethod,
        measure: Measure | None,
        scale: float,
        given: Mapping[str, Any] | None,
    ) -> Any:
        """Draw a point with its interval; infinity is written, what is not known left out."""
        color = self._color(one.name)
        values = [np.nan] * 3
        if measure is not None:
            values = [measure.low, measure.estimate, measure.high]
        low, estimate, high = scale * np.asarray(values)
        if np.isinf(estimate):
            ax.annotate(
                "infinite",
                (0.98, row),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="center",
                fontsize=8,
                color=color,
            )
            low = estimate = high = np.nan
        ax.hlines(row, low, high, color=color, linewidth=1.6)
        style = {"color": color, "marker": MARKS[color], "linestyle": "none", "markersize": 6}
        return ax.plot([estimate], [row], **styled({**style, "zorder": 3}, given))[0]

    def _draw_targets(self, given: Mapping[str, Any] | None) -> None:
        first, second, _ = self.axes_
        self.targets_ = [
            draw_target(first.axvline, 0.0, given),
            draw_target(second.axvline, 1 - self.comparison.alpha, given),
        ]

    def _draw_legend(self, is_new: bool) -> None:
        from matplotlib.lines import Line2D

        words = {
            CHOSEN: "recommended",
            MAYBE: "may have the smallest conditional error",
            RULED_OUT: "ruled out",
        }
        used = {self._color(name) for name in self.comparison.methods}
        handles = [
            Line2D([], [], color=color, marker=MARKS[color], linestyle="none", label=word)
            for color, word in words.items()
            if color in used
        ]
        target = f"no error, and coverage of {1 - self.comparison.alpha:g}"
        handles.append(Line2D([], [], color="black", linewidth=1, linestyle="--", label=target))
        style = {"handles": handles, "ncols": 2, "frameon": False, "fontsize": 9}
        if is_new:
            self.figure_.legend(loc="outside upper left", **style)
        else:  # the figure is the user's, and its layout too
            place = {"loc": "lower left", "bbox_to_anchor": (0, 1.01)}
            self.axes_[0].legend(**place, **style).set_in_layout(False)
