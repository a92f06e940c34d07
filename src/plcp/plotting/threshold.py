"""Thresholds along one feature, or two."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plcp.certificate.outcome import check_kind
from plcp.conformal.base import Conformal, check_one_level
from plcp.metrics.outcomes import check_numbers
from plcp.plotting.display import OTHERS, Display, draw_legend, label_axes, styled, wrap, write_note
from plcp.plotting.features import Cells, cut_feature, feature_of
from plcp.plotting.profile import Profile, profile_of
from plcp.quantiles import FloatArray
from plcp.rows import count

ROWS_A_CELL = 25  # on average at least, or else there are fewer cells
MOST_CELLS = 20  # along one feature
FEW, LETTERS = 6, 66  # categories that are named side by side, and letters that fit in a line
MOST_POINTS = 2_000  # drawn, evenly from all rows; lines and colours are of all


class ThresholdDisplay(Display):
    """Thresholds q(x) of the rows along one feature, or two.

    Along one: the threshold of each row as a point, and in each bin or category the median with a
    band from the lowest tenth to the highest. Along two: the median in each cell as a colour. What
    is drawn are rows as they are, nothing is held fixed: cells without rows stay empty.

    Make it by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    thresholds : array of shape (n,)
    profile : Profile
        Number of rows, median and band of each cell.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_, line_, band_ : Line2D, Line2D, PolyCollection or LineCollection
        Of one feature.
    mesh_, colorbar_ : QuadMesh, Colorbar
        Of two features.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> X = np.arange(200.0).reshape(100, 2)
    >>> display = ThresholdDisplay.from_predictions(X, np.arange(100.0), "x1")
    >>> display.line_.get_ydata()
    array([12., 37., 62., 87.])
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, *, thresholds: FloatArray, profile: Profile) -> None:
        self.thresholds = thresholds
        self.profile = profile

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, features: Any, *, ax: Any = None, **styles: Any
    ) -> Self:
        """Draw the thresholds that a fitted estimator gives to some rows.

        Parameters
        ----------
        estimator : fitted ConformalRegressor, ConformalClassifier or ThresholdRule
        X : array or DataFrame of shape (n, d)
        features : column name or position, or two of them
            Columns of X to draw along, whether the rule looks at them or not.
        ax, **styles
            As in `plot`.
        """
        check_kind(estimator)
        check_is_fitted(estimator, "guarantee_")
        check_one_level(estimator)
        return cls.from_predictions(X, _thresholds(estimator, X), features, ax=ax, **styles)

    @classmethod
    def from_predictions(
        cls, X: Any, thresholds: ArrayLike, features: Any, *, ax: Any = None, **styles: Any
    ) -> Self:
        """Draw thresholds that are known, or any other number of each row.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
        thresholds : array of shape (n,)
            They may be infinite.
        features, ax, **styles
            As in `from_estimator` and `plot`.
        """
        named = list(features) if isinstance(features, list | tuple) else [features]
        if len(named) not in (1, 2):
            raise ValueError(f"features must name one column or two, got {features!r}")
        values = check_numbers("thresholds", thresholds, count(X), finite=False)
        cells_wanted = max(len(values) // ROWS_A_CELL, 1)
        most = min(int(cells_wanted ** (1 / len(named))), MOST_CELLS)
        cells = tuple(cut_feature(*feature_of(X, name), most) for name in named)
        return cls(thresholds=values, profile=profile_of(cells, values)).plot(ax, **styles)

    def plot(
        self,
        ax: Any = None,
        *,
        line_kwargs: Mapping[str, Any] | None = None,
        point_kwargs: Mapping[str, Any] | None = None,
        mesh_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None
        line_kwargs, point_kwargs : mapping, optional
            Keywords of ``ax.plot`` for the medians and for the rows, along one feature.
        mesh_kwargs : mapping, optional
            Keywords of ``ax.pcolormesh``, along two features.
        """
        self._open(ax)
        if len(self.profile.cells) == 1:
            self._draw_line(line_kwargs, point_kwargs)
        else:
            self._draw_mesh(mesh_kwargs)
        unseen = len(self.thresholds) - int(self.profile.n.sum())
        infinite = int(np.isinf(self.thresholds).sum())
        told = [f"{unseen:,} rows without a value"] * (unseen > 0)
        told += [f"{infinite:,} infinite thresholds"] * (infinite > 0)
        if told:
            write_note(self.ax_, f"not shown: {', '.join(told)}")
        return self

    def _draw_line(
        self, line_kwargs: Mapping[str, Any] | None, point_kwargs: Mapping[str, Any] | None
    ) -> None:
        ax, (cells,), color = self.ax_, self.profile.cells, OTHERS[0][0]
        every = -(-len(self.thresholds) // MOST_POINTS)
        dots = {"color": "0.6", "marker": ".", "markersize": 3, "linestyle": "none", "zorder": 1}
        dots |= {"label": "rows" if every == 1 else f"one row in {every}"}
        (self.points_,) = ax.plot(
            cells.places[::every], self.thresholds[::every], **styled(dots, point_kwargs)
        )
        line = {"color": color, "marker": "o", "markersize": 4, "label": "median"}
        line |= {"linestyle": "-" if cells.labels is None else "none"}
        (self.line_,) = ax.plot(cells.centres, self.profile.median, **styled(line, line_kwargs))
        self.band_ = self._draw_band(cells, self.line_.get_color())
        ax.grid(axis="y", linewidth=0.5, alpha=0.6)
        label_axes(ax, cells.title, "threshold")
        _name_across(ax, cells)
        draw_legend(ax)

    def _draw_band(self, cells: Cells, color: str) -> Any:
        low, high = self._drawable(self.profile.low), self._drawable(self.profile.high)
        style = {"color": color, "label": "middle 80 %"}
        if cells.labels is not None:
            return self.ax_.vlines(cells.centres, low, high, **style)
        return self.ax_.fill_between(cells.centres, low, high, alpha=0.2, linewidth=0, **style)

    def _drawable(self, ends: FloatArray) -> FloatArray:
        """Ends of the band, an infinite one as far as the picture goes."""
        finite = self.thresholds[np.isfinite(self.thresholds)]
        return (
            np.clip(ends, finite.min(), finite.max()) if len(finite) else np.full_like(ends, np.nan)
        )

    def _draw_mesh(self, mesh_kwargs: Mapping[str, Any] | None) -> None:
        ax, (across, along) = self.ax_, self.profile.cells
        middle = np.ma.masked_invalid(self.profile.median.T)
        options = {"cmap": "viridis", **(mesh_kwargs or {})}
        self.mesh_ = ax.pcolormesh(across.edges, along.edges, middle, **options)
        self.colorbar_ = self.figure_.colorbar(self.mesh_, ax=ax, label="median threshold")
        label_axes(ax, across.title, along.title)
        _name_across(ax, across)
        _name_ticks(ax.set_yticks, along, LETTERS // 3)


def _thresholds(estimator: Any, X: Any) -> FloatArray:
    if not isinstance(estimator, Conformal):
        return estimator.predict(X)
    if len(estimator.thresholds_) > 1:
        raise ValueError(
            "each tail has thresholds of its own: draw thresholds_[0] or thresholds_[1]"
        )
    return estimator.thresholds_[0].predict(estimator._select(X))


def _name_ticks(set_ticks: Any, cells: Cells, letters: int, **turned: Any) -> None:
    """Categories as ticks."""
    if cells.labels is not None:
        names = [wrap(label, letters) for label in cells.labels]
        set_ticks(cells.centres, names, parse_math=False, **turned)


def _name_across(ax: Any, cells: Cells) -> None:
    """Few categories side by side, many slanted."""
    few = len(cells) <= FEW
    turned = {} if few else {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    _name_ticks(ax.set_xticks, cells, LETTERS // len(cells) if few else LETTERS // 3, **turned)
