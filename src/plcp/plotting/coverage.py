"""CoverageDisplay: coverage by group of one method or several, with exact intervals."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plcp._options import check_alpha
from plcp.evaluation.certificate import check_rows, check_rule_groups, groups_of, named_groups
from plcp.evaluation.outcome import Outcome, alpha_of, cautions_of, check_kind, outcome_of
from plcp.groups.groups import label_text
from plcp.metrics import GroupCoverage, Grouping, coverage_by_group
from plcp.plotting.display import (
    Display,
    draw_legend,
    draw_target,
    label_axes,
    method_styles,
    name_rows,
    styled,
)

Tables = dict[str, GroupCoverage]


class Evaluated(NamedTuple):
    """What a fitted estimator did with labelled rows, and the groups to evaluate them by."""

    outcome: Outcome
    groups: Grouping
    alpha: float


def evaluate(
    estimator: Any, X: Any, y: ArrayLike, groups: Any = None, rule_groups: ArrayLike | None = None
) -> Evaluated:
    """Evaluate a fitted conformal estimator, or a threshold rule with y = scores, by its sets.

    Groups may be given in any form that metrics take, or by columns and functions of X. None: those
    that the rule learned or was given.
    """
    check_kind(estimator)
    check_is_fitted(estimator, "guarantee_")
    alpha = alpha_of(estimator)
    n, given = check_rows(X, y), check_rule_groups(estimator, rule_groups)
    if groups is None:
        found = groups_of(estimator, X, y, n, given)
        if not len(found):
            raise ValueError(f"{name_of(estimator)} has no groups of its own: name some as groups=")
    else:
        found = named_groups(groups, X, n)
    outcome = outcome_of(estimator, X, y, given)
    cautions_of(outcome)  # warns of rows that calibrated the rule
    return Evaluated(outcome, found, alpha)


def name_of(estimator: Any) -> str:
    """Name of the rule that makes the thresholds, in the words of the tables.

    Examples
    --------
    >>> from plcp import PLCP, SplitConformal
    >>> name_of(PLCP()), name_of(SplitConformal())
    ('PLCP', 'Split')
    """
    rule = estimator.tail_rules_[0] if hasattr(estimator, "conformity_") else estimator
    return "Split" if type(rule).__name__ == "SplitConformal" else type(rule).__name__


def tabulate(
    covered: ArrayLike | Mapping[str, ArrayLike],
    size: ArrayLike | Mapping[str, ArrayLike] | None,
    groups: Any,
    *,
    name: str,
    alpha: float,
    confidence: float,
    sample_weight: ArrayLike | None,
) -> Tables:
    """Coverage by group of each method; a single one goes by ``name``."""
    options: Any = {"alpha": alpha, "confidence": confidence, "sample_weight": sample_weight}
    if not isinstance(covered, Mapping):
        one_size: Any = size
        return {name: coverage_by_group(covered, groups, one_size, **options)}
    if not covered:
        raise ValueError("covered names no method, got {}: give sets.contains(y) for each name")
    if size is not None and (not isinstance(size, Mapping) or size.keys() != covered.keys()):
        raise ValueError(
            f"size must name the methods that covered names, {list(covered)}: give sets.size for "
            "each"
        )
    sizes = dict.fromkeys(covered) if size is None else size
    return {
        str(method): coverage_by_group(hits, groups, sizes[method], **options)
        for method, hits in covered.items()
    }


def check_tables(tables: Mapping[str, GroupCoverage]) -> Tables:
    """Refuse tables that are not of the same groups."""
    found = dict(tables)
    if not found:
        raise ValueError("tables names no method, got {}: give a GroupCoverage for each name")
    (first, one), *others = found.items()
    for name, table in others:
        if not np.array_equal(table.group, one.group):
            raise ValueError(
                f"{first} and {name} are measured on different groups: measure both on the same"
            )
    return found


def group_labels(table: GroupCoverage) -> list[str]:
    """Name of each group and its number of rows, as ticks show them."""
    return [
        f"{label_text(name)} ({n:,} row{'' if n == 1 else 's'})"
        for name, n in zip(table.group, table.n, strict=True)
    ]


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
    >>> from plcp.plotting import CoverageDisplay
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
        """Draw the coverage of a fitted estimator on new rows.

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
        evaluated = evaluate(estimator, X, y, groups, rule_groups)
        return cls.from_predictions(
            evaluated.outcome.covered,
            evaluated.groups,
            size=evaluated.outcome.size,
            alpha=evaluated.alpha,
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
        for place, (name, (color, marker)) in enumerate(method_styles(self.tables).items()):
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
