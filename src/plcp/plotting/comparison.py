"""ComparisonDisplay: coverage by group before and after a rule is applied."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from plcp._options import check_alpha
from plcp.metrics import GroupCoverage
from plcp.plotting.coverage import check_tables, evaluate, group_labels, name_of, tabulate
from plcp.plotting.display import (
    Display,
    draw_legend,
    draw_target,
    label_axes,
    method_styles,
    name_rows,
    styled,
)

APART = 0.14  # half the distance of the two intervals of a group, in rows


class ComparisonDisplay(Display):
    """Coverage by group of two methods on the same rows, joined by a line.

    Thin lines are intervals that hold for all groups of a method at once.

    Make it by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    tables : mapping of name to GroupCoverage
        The method before, usually Split, then the one after, on the same groups.
    alpha : float
        Miscoverage rate: the target is 1 - alpha.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict of name to Line2D
    all_ : dict of name to LineCollection
        Intervals of all groups at once.
    joins_ : LineCollection
        From before to after, one per group.
    target_ : Line2D

    Examples
    --------
    >>> import matplotlib
    >>> from plcp.plotting import ComparisonDisplay
    >>> matplotlib.use("Agg")
    >>> covered = {"Split": [True, False, True, True], "PLCP": [True, True, True, False]}
    >>> display = ComparisonDisplay.from_predictions(covered, ["young", "young", "old", "old"])
    >>> display.points_["PLCP"].get_xdata()
    array([0.5, 1. ])
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, *, tables: Mapping[str, GroupCoverage], alpha: float) -> None:
        self.tables = check_tables(tables)
        if len(self.tables) != 2:
            raise ValueError(
                f"a comparison is of two methods, got {list(self.tables)}: draw one or many by "
                "CoverageDisplay"
            )
        self.alpha = check_alpha(alpha)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        before: Any,
        groups: Any = None,
        confidence: float = 0.95,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
        **styles: Any,
    ) -> Self:
        """Draw the coverage of two fitted estimators on new rows.

        Parameters
        ----------
        estimator : fitted ConformalRegressor, ConformalClassifier or ThresholdRule
        X, y : rows and their labels; for threshold rules, their scores
        before : fitted estimator of the same kind
            What to compare with, usually the same with ``threshold=SplitConformal()``.
        groups : as in `CoverageDisplay.from_estimator`
            None: those that the rule of ``estimator`` learned or was given.
        confidence, sample_weight, ax, **styles
            As in `CoverageDisplay.from_estimator` and `plot`.
        """
        after = evaluate(estimator, X, y, groups)
        first = evaluate(before, X, y, after.groups)
        if (first.outcome.size is None) != (after.outcome.size is None):
            raise ValueError(
                f"{type(before).__name__} and {type(estimator).__name__} do not take the same y: "
                "give two conformal estimators, or two threshold rules"
            )
        if not np.isclose(first.alpha, after.alpha):
            raise ValueError(
                f"before has alpha = {first.alpha:g} and the estimator {after.alpha:g}: fit both "
                "with the same"
            )
        names = name_of(before), name_of(estimator)
        if names[0] == names[1]:
            names = f"{names[0]}, before", f"{names[1]}, after"
        outcomes = dict(zip(names, (first.outcome, after.outcome), strict=True))
        sizes: Any = {name: outcome.size for name, outcome in outcomes.items()}
        return cls.from_predictions(
            {name: outcome.covered for name, outcome in outcomes.items()},
            after.groups,
            size=None if after.outcome.size is None else sizes,  # a rule makes no sets
            alpha=after.alpha,
            confidence=confidence,
            sample_weight=sample_weight,
            ax=ax,
            **styles,
        )

    @classmethod
    def from_predictions(
        cls,
        covered: Mapping[str, ArrayLike],
        groups: Any,
        *,
        size: Mapping[str, ArrayLike] | None = None,
        alpha: float = 0.1,
        confidence: float = 0.95,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
        **styles: Any,
    ) -> Self:
        """Draw the coverage of two sets of any library, before and after.

        Parameters
        ----------
        covered : mapping of two names to arrays of bool, shape (n,)
            Whether each set holds its label: first the method before, then the one after.
        groups, size, alpha, confidence, sample_weight, ax, **styles
            As in `CoverageDisplay.from_predictions` and `plot`.
        """
        if not isinstance(covered, Mapping):
            raise ValueError(
                "a comparison is of two methods: give covered as {'Split': ..., 'PLCP': ...}"
            )
        options: Any = {"alpha": alpha, "confidence": confidence, "sample_weight": sample_weight}
        tables = tabulate(covered, size, groups, name="", **options)
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
        before, after = self.tables.values()
        rows = np.arange(len(after.n))
        ax = self._open(ax, height=1.2 + 0.42 * len(rows))
        name_rows(ax, group_labels(after))
        self.joins_ = ax.hlines(rows, before.coverage, after.coverage, color="0.6", linewidth=2.5)
        self.points_, self.all_ = {}, {}
        for shift, (name, (color, marker)) in zip(
            (-APART, APART), method_styles(self.tables).items(), strict=True
        ):
            table = self.tables[name]
            known = np.where(table.n > 0, rows + shift, np.nan)
            self.all_[name] = ax.hlines(
                known, table.low_all, table.high_all, color=color, linewidth=0.8
            )
            style = {"color": color, "marker": marker, "linestyle": "none", "markersize": 8}
            (self.points_[name],) = ax.plot(
                table.coverage, rows, **styled({**style, "label": name, "zorder": 3}, point_kwargs)
            )
        self.target_ = draw_target(ax.axvline, 1 - self.alpha, target_kwargs)
        label_axes(ax, f"coverage, {100 * after.confidence:g} % for all groups at once", "")
        draw_legend(ax)
        return self
