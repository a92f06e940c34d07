"""SizeDisplay: mean size of the sets against their coverage, one point per group."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from plcp._options import check_alpha
from plcp._rows import count
from plcp.conformal import ConformalClassifier
from plcp.groups.groups import label_text
from plcp.metrics import GroupCoverage
from plcp.metrics.measure import check_counts
from plcp.plotting.coverage import Evaluated, check_tables, evaluate, name_of, tabulate
from plcp.plotting.display import (
    Display,
    draw_legend,
    draw_target,
    label_axes,
    method_styles,
    name_points,
    write_note,
)

LARGEST_POINT = 900.0  # square points of ink for a group of all rows


class SizeDisplay(Display):
    """Mean size against coverage: one point per group, as large as its share of the rows.

    Good sets lie on the target line, low; where groups differ in uncertainty, their points stand
    one above the other. A method with one length for all spreads from side to side instead.

    Make it by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    tables : mapping of name to GroupCoverage
        What `plcp.metrics.coverage_by_group` gives for each method, all on the same groups.
    alpha : float
        Miscoverage rate: the target is 1 - alpha.
    n_rows : int
        Number of rows, those in no group too.
    size_name : str, default="mean size"
        What the sizes are, with their unit.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict of name to PathCollection
    target_ : Line2D

    Examples
    --------
    >>> import matplotlib
    >>> from plcp.plotting import SizeDisplay
    >>> matplotlib.use("Agg")
    >>> display = SizeDisplay.from_predictions([True, False, True], [2.0, 2.0, 5.0], [0, 0, 1])
    >>> display.points_["sets"].get_offsets().tolist()
    [[0.5, 2.0], [1.0, 5.0]]
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(
        self,
        *,
        tables: Mapping[str, GroupCoverage],
        alpha: float,
        n_rows: int,
        size_name: str = "mean size",
    ) -> None:
        self.tables = check_tables(tables)
        self.alpha = check_alpha(alpha)
        self.n_rows = n_rows
        self.size_name = size_name

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
        size_name: str | None = None,
        ax: Any = None,
        **styles: Any,
    ) -> Self:
        """Draw the sets of a fitted estimator on new rows.

        Parameters
        ----------
        estimator, X, y, groups, rule_groups, confidence, sample_weight, name
            As in `CoverageDisplay.from_estimator`. A threshold rule makes no sets: its thresholds
            stand for their size.
        size_name : str or None
            What the sizes are, with their unit; None: "mean length", "mean number of labels" or
            "mean threshold".
        ax, **styles
            As in `plot`.
        """
        evaluated = evaluate(estimator, X, y, groups, rule_groups)
        size, usual_name = _size(estimator, evaluated)
        return cls.from_predictions(
            evaluated.outcome.covered,
            size,
            evaluated.groups,
            alpha=evaluated.alpha,
            confidence=confidence,
            sample_weight=sample_weight,
            name=name_of(estimator) if name is None else name,
            size_name=usual_name if size_name is None else size_name,
            ax=ax,
            **styles,
        )

    @classmethod
    def from_predictions(
        cls,
        covered: ArrayLike | Mapping[str, ArrayLike],
        size: ArrayLike | Mapping[str, ArrayLike],
        groups: Any,
        *,
        alpha: float = 0.1,
        confidence: float = 0.95,
        sample_weight: ArrayLike | None = None,
        name: str = "sets",
        size_name: str = "mean size",
        ax: Any = None,
        **styles: Any,
    ) -> Self:
        """Draw the sets of any library.

        Parameters
        ----------
        covered, size : array of shape (n,), or mapping of name to such
            Whether each set holds its label, and how large it is; of one method or of several.
        groups, alpha, confidence, sample_weight, name, size_name, ax, **styles
            As in `CoverageDisplay.from_predictions`, `from_estimator` and `plot`.
        """
        if size is None:
            raise ValueError("size must be given, sets.size: CoverageDisplay draws without it")
        options: Any = {"alpha": alpha, "confidence": confidence, "sample_weight": sample_weight}
        tables = tabulate(covered, size, groups, name=name, **options)
        n = count(next(iter(covered.values())) if isinstance(covered, Mapping) else covered)
        weights = check_counts(sample_weight, n)
        n_rows = n if weights is None else int(weights.sum())
        return cls(tables=tables, alpha=alpha, n_rows=n_rows, size_name=size_name).plot(
            ax, **styles
        )

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
            Keywords of ``ax.scatter`` for the points.
        target_kwargs : mapping, optional
            Keywords of ``ax.axvline`` for the target.
        """
        ax = self._open(ax)
        self.points_ = {}
        for name, (color, marker) in method_styles(self.tables).items():
            table = self.tables[name]
            style = {"color": color, "marker": marker, "alpha": 0.65, "edgecolors": "white"}
            style |= {"s": LARGEST_POINT * table.n / self.n_rows, "label": name}
            self.points_[name] = ax.scatter(
                table.coverage, table.size, **{**style, **(point_kwargs or {})}
            )
        self.target_ = draw_target(ax.axvline, 1 - self.alpha, target_kwargs)
        ax.grid(linewidth=0.5, alpha=0.6)
        label_axes(ax, "coverage of the group", self.size_name)
        unbounded = {name: int(np.isinf(table.size).sum()) for name, table in self.tables.items()}
        if any(unbounded.values()):
            listed = ", ".join(f"{n} of {name}" for name, n in unbounded.items() if n)
            write_note(ax, f"groups of infinite size, not shown: {listed}")
        ax.margins(0.08)
        self._write_names()
        for handle in draw_legend(ax).legend_handles[: len(self.tables)]:
            handle.set_sizes([50])  # a method has no size
        return self

    def _write_names(self) -> None:
        """Name the groups, the largest first; those without room stay without a name."""
        n, x, y, names = (
            np.concatenate([getattr(table, key) for table in self.tables.values()])
            for key in ("n", "coverage", "size", "group")
        )
        order = np.argsort(-n, kind="stable")
        name_points(self.ax_, [label_text(name) for name in names[order]], x[order], y[order])


def _size(estimator: Any, evaluated: Evaluated) -> tuple[Any, str]:
    """Size of each row's set, and what it is."""
    if evaluated.outcome.size is None:
        thresholds: Any = evaluated.outcome.thresholds
        return thresholds[:, 0], "mean threshold"
    labels = isinstance(estimator, ConformalClassifier)
    return evaluated.outcome.size, "mean number of labels" if labels else "mean length"
