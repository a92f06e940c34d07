"""Coverage by group, with exact intervals against the target."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from plcp.metrics import GroupCoverage
from plcp.plotting.display import (
    Display,
    draw_legend,
    draw_target,
    label_axes,
    looks,
    name_rows,
    styled,
)
from plcp.plotting.tables import ask, check_tables, group_labels, name_of, tabulate
from plcp.validation import check_alpha


class CoverageDisplay(Display):
    """Coverage by group: a point, a thick line and a thin one for each method in each group.

    The thick line is Clopper and Pearson's interval of that group alone, the thin one is wider, so
    that all of a method hold at once. Where even the thin line ends left of the target, the group
    is covered too seldom, and chance does not explain it.

    Make it by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    tables : mapping of name to GroupCoverage
        What `plcp.metrics.coverage_by_group` gives for each method, all on the same groups.
    alpha : float
        Miscoverage rate: the target is 1 - alpha.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict of name to Line2D
    each_, all_ : dict of name to LineCollection
        Intervals of each group, and of all at once.
    target_ : Line2D

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> covered = {"Split": [True, False, True, True], "PLCP": [True, True, True, False]}
    >>> display = CoverageDisplay.from_predictions(covered, ["young", "young", "old", "old"])
    >>> display.tables["Split"].coverage
    array([1. , 0.5])
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['old (2 rows)', 'young (2 rows)']
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, *, tables: Mapping[str, GroupCoverage], alpha: float) -> None:
        self.tables = check_tables(tables)
        self.alpha = check_alpha(alpha)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        groups: Any = None,
        rule_groups: ArrayLike | None = None,
        confidence: float = 0.95,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **styles: Any,
    ) -> Self:
        """Draw the coverage of a fitted estimator on rows that it has not seen.

        Parameters
        ----------
        estimator : fitted ConformalRegressor, ConformalClassifier or ThresholdRule
        X, y : rows and their labels; for a threshold rule, their scores
        groups : labels, masks, mapping, Grouping, columns or functions of X, or None
            As in `plcp.metrics.coverage_by_group` and `plcp.Groups`. None: those that the rule
            learned or was given.
        rule_groups : array-like or None
            What ``predict`` takes as ``groups``, for a rule that was fitted with such.
        confidence : float, default=0.95
            Probability with which the bounds hold, at least.
        sample_weight : array of shape (n,), optional
            How many rows each row stands for.
        name : str or None
            Name of the method; None: that of the rule.
        ax, **styles
            As in `plot`.
        """
        asked = ask(estimator, X, y, groups, rule_groups)
        return cls.from_predictions(
            asked.outcome.covered,
            asked.groups,
            size=asked.outcome.size,
            alpha=asked.alpha,
            confidence=confidence,
            sample_weight=sample_weight,
            name=name_of(estimator) if name is None else name,
            ax=ax,
            **styles,
        )

    @classmethod
    def from_predictions(
        cls,
        covered: ArrayLike | Mapping[str, ArrayLike],
        groups: Any,
        *,
        size: ArrayLike | Mapping[str, ArrayLike] | None = None,
        alpha: float = 0.1,
        confidence: float = 0.95,
        sample_weight: ArrayLike | None = None,
        name: str = "coverage",
        ax: Any = None,
        **styles: Any,
    ) -> Self:
        """Draw the coverage of sets of any library.

        Parameters
        ----------
        covered : array of bool, shape (n,), or mapping of name to such
            Whether each set holds its label: ``sets.contains(y)``; of one method or of several.
        groups : labels, masks, mapping or Grouping
            As in `plcp.metrics.coverage_by_group`.
        size : array of shape (n,), or mapping of name to such, or None
            Size of each set, kept in ``tables``; this picture does not show it.
        alpha : float, default=0.1
            Miscoverage rate: the target is 1 - alpha.
        confidence, sample_weight, name, ax, **styles
            As in `from_estimator`.
        """
        options: Any = {"alpha": alpha, "confidence": confidence, "sample_weight": sample_weight}
        tables = tabulate(covered, size, groups, name=name, **options)
        return cls(tables=tables, alpha=alpha).plot(ax, **styles)

    def plot(
        self,
        ax: Any = None,
        *,
        point_kwargs: Mapping[str, Any] | None = None,
        target_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None
        point_kwargs : mapping, optional
            Keywords of ``ax.plot`` for the points.
        target_kwargs : mapping, optional
            Keywords of ``ax.axvline`` for the target.
        """
        table = next(iter(self.tables.values()))
        k, methods = len(table.n), len(self.tables)
        ax = self._open(ax, height=1.2 + k * (0.24 + 0.16 * methods))
        name_rows(ax, group_labels(table))
        self.points_: dict[str, Any] = {}
        self.each_: dict[str, Any] = {}
        self.all_: dict[str, Any] = {}
        for place, (name, (color, marker)) in enumerate(looks(self.tables).items()):
            shift = (place - (methods - 1) / 2) * 0.7 / methods
            self._draw(name, np.arange(k) + shift, color, marker, point_kwargs)
        self.target_ = draw_target(ax.axvline, 1 - self.alpha, target_kwargs)
        label_axes(
            ax, f"coverage, {100 * table.confidence:g} % each (thick) and all at once (thin)", ""
        )
        draw_legend(ax)
        return self

    def _draw(
        self,
        name: str,
        rows: Any,
        color: str,
        marker: str,
        given: Mapping[str, Any] | None,
    ) -> None:
        table = self.tables[name]
        style = {"color": color, "marker": marker, "linestyle": "none", "label": name}
        (points,) = self.ax_.plot(table.coverage, rows, **styled({**style, "zorder": 3}, given))
        color = points.get_color()
        known = np.where(table.n > 0, rows, np.nan)  # no row says nothing: no line from 0 to 1
        self.points_[name] = points
        self.each_[name] = self.ax_.hlines(known, table.low, table.high, color=color, linewidth=3)
        self.all_[name] = self.ax_.hlines(
            known, table.low_all, table.high_all, color=color, linewidth=1
        )
