"""ThresholdDisplay: thresholds along one feature or two."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from plcp._options import is_real, is_whole
from plcp._rows import count, is_frame, is_missing, to_plain_array
from plcp._validation import check_names
from plcp.conformal import Conformal, check_one_alpha
from plcp.evaluation.outcome import check_kind
from plcp.groups.groups import label_text
from plcp.metrics.groups import count_quantiles
from plcp.metrics.measure import check_numbers
from plcp.plotting.display import OTHERS, Display, draw_legend, label_axes, styled, wrap, write_note
from plcp.quantiles import FloatArray, IntArray

MOST_CATEGORIES = 15  # that are drawn each for itself; the rarest are put together
SPREAD = 0.5  # of the rows of a category, which is one wide
GOLDEN = (5**0.5 - 1) / 2  # its multiples are spread evenly
OTHER_VALUES, MISSING = "others", "missing"


@dataclass(frozen=True, eq=False)
class Cells:
    """A feature of some rows, cut into cells.

    Parameters
    ----------
    title : str
        Name of the feature.
    codes : array of int, shape (n,)
        Cell of each row, -1 where a number is missing.
    places : array of shape (n,)
        Where each row stands on the axis: the number itself, or about the number of its category,
        somewhat to the side, so that rows can be seen apart.
    centres, edges : array of shape (k,), (k + 1,)
        Where each cell stands on the axis, and where it begins and ends.
    labels : tuple of str or None
        Categories; None for numbers.
    """

    title: str
    codes: IntArray
    places: FloatArray
    centres: FloatArray
    edges: FloatArray
    labels: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.centres)


def feature_of(X: Any, feature: Any) -> tuple[str, NDArray[Any]]:
    """Title and values of a column, by its name or its position; x0 is the first of an array."""
    X = to_plain_array(X)
    if is_frame(X):
        check_names(X)
    titles = [str(name) for name in X.columns] if is_frame(X) else _numbered(X)
    if isinstance(feature, str) and feature in titles:
        place = titles.index(feature)
    elif is_whole(feature) and -len(titles) <= int(feature) < len(titles):
        place = int(feature) % len(titles)
    else:
        near = get_close_matches(str(feature), titles, n=1, cutoff=0.5)
        remedy = f"did you mean {near[0]!r}?" if near else "give a name or a position"
        raise ValueError(f"no feature {feature!r} among the {len(titles)} columns of X: {remedy}")
    values = X[X.columns[place]] if is_frame(X) else np.asarray(X)[:, place]
    return titles[place], np.asarray(values)


def _numbered(X: Any) -> list[str]:
    if issparse(X):
        raise TypeError("X is sparse, and columns are drawn that are not: give X.toarray()")
    try:
        shape = np.shape(X)
    except ValueError as error:  # rows of a list that are not equally long
        raise ValueError(f"X must be a table, with rows of one length: {error}") from error
    if len(shape) != 2:
        raise ValueError(
            f"X must have rows and columns, two dimensions, to draw along, got shape {shape}"
        )
    return [f"x{i}" for i in range(shape[1])]


def cut_feature(title: str, values: NDArray[Any], most: int) -> Cells:
    """Cells of a feature, at most ``most`` if it is a number.

    Examples
    --------
    >>> cells = cut_feature("age", np.array([20, 30, 40, 50, 60, 70]), most=3)
    >>> cells.codes, cells.edges
    (array([0, 0, 1, 1, 2, 2]), array([20., 30., 50., 70.]))
    >>> cut_feature("sex", np.array(["m", "f", "m"]), most=3).labels
    ('f', 'm')
    """
    if values.dtype.kind in "mM":
        raise ValueError(
            f"feature {title!r} holds dates or times: turn them into numbers, such as years"
        )
    if values.dtype.kind == "c":
        raise ValueError(f"feature {title!r} holds complex numbers: give their size instead")
    missing = is_missing(values)
    if values.dtype.kind in "iuf" or _are_numbers(values[~missing]):
        return _cut_numbers(title, np.where(missing, np.nan, values).astype(float), most)
    return _name_categories(title, values, missing)


def _are_numbers(values: NDArray[Any]) -> bool:
    """Whether objects, such as those of a nullable column, are numbers all the same."""
    if values.dtype != object or len(values) == 0:
        return False
    return all(is_real(value) for value in values)


def _cut_numbers(title: str, values: FloatArray, most: int) -> Cells:
    finite = np.isfinite(values)
    if not finite.any():
        raise ValueError(f"feature {title!r} has no finite value: draw along another")
    distinct = np.unique(values[finite])
    if len(distinct) <= most:
        edges = _around(distinct)
        codes = np.searchsorted(distinct, values)
        return Cells(title, np.where(finite, codes, -1), values, distinct, edges)
    cuts = np.unique(count_quantiles(values[finite], np.arange(most + 1), most, None))
    # as in quantile_bins, a bin holds its right edge; the first one holds the left edge too
    codes = np.where(finite, np.maximum(np.searchsorted(cuts, values) - 1, 0), -1)
    centres = np.array([np.median(values[codes == code]) for code in range(len(cuts) - 1)])
    return Cells(title, codes, values, centres, cuts)


def _around(values: FloatArray) -> FloatArray:
    """Edges half way between values, and as far beyond the first and the last."""
    if len(values) == 1:
        return values[0] + np.array([-0.5, 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.r_[2 * values[0] - middle[0], middle, 2 * values[-1] - middle[-1]]


def _name_categories(title: str, values: NDArray[Any], missing: NDArray[np.bool_]) -> Cells:
    """Categories by name, then the rarest together, then the rows that have none."""
    texts = np.array([label_text(value) for value in values[~missing].tolist()], dtype=str)
    names, own, counts = np.unique(texts, return_inverse=True, return_counts=True)
    kept = np.arange(len(names))
    if len(names) > MOST_CATEGORIES:
        kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_CATEGORIES - 1])
    labels = names[kept].tolist()
    number = np.full(len(names), len(kept))
    number[kept] = np.arange(len(kept))
    if len(kept) < len(names):
        labels.append(OTHER_VALUES)
    codes = np.full(len(values), len(labels))
    codes[~missing] = number[own]
    if missing.any():
        labels.append(MISSING)
    centres = np.arange(len(labels), dtype=float)
    edges = np.arange(len(labels) + 1) - 0.5
    aside = SPREAD * (GOLDEN * np.arange(len(values)) % 1 - 0.5)
    return Cells(title, codes, codes + aside, centres, edges, tuple(labels))


QUANTILES = (0.1, 0.5, 0.9)  # of the band's lower end, the line, and the band's upper end


@dataclass(frozen=True, eq=False)
class Profile:
    """Thresholds of the rows in each cell of one feature, or of two.

    Parameters
    ----------
    cells : tuple of one or two Cells
    n : array of shape (k,) or (k, l)
        Number of rows of each cell.
    low, median, high : array of the same shape
        Lowest tenth, middle and highest tenth of their thresholds: each is the threshold of a row,
        so that infinite ones do no harm. NaN where a cell holds no row.
    """

    cells: tuple[Cells, ...]
    n: IntArray
    low: FloatArray
    median: FloatArray
    high: FloatArray


def profile_of(cells: tuple[Cells, ...], thresholds: FloatArray) -> Profile:
    """Middle and spread of the thresholds in each cell.

    Examples
    --------
    >>> from plcp.plotting.threshold import cut_feature
    >>> cells = cut_feature("sex", np.array(["m", "f", "m", "m"]), most=2)
    >>> profile_of((cells,), np.array([3.0, 1.0, 4.0, np.inf])).median
    array([1., 4.])
    """
    shape = tuple(len(each) for each in cells)
    inside = np.all([each.codes >= 0 for each in cells], axis=0)
    codes = np.ravel_multi_index(tuple(each.codes[inside] for each in cells), shape)
    n = np.bincount(codes, minlength=int(np.prod(shape)))
    order = np.lexsort((thresholds[inside], codes))
    ordered = thresholds[inside][order]
    first = np.cumsum(n) - n
    found = []
    for quantile in QUANTILES:
        rank = np.maximum(np.ceil(quantile * n).astype(np.intp), 1) - 1
        at = np.minimum(first + rank, len(ordered) - 1)
        found.append(np.where(n > 0, ordered[at], np.nan).reshape(shape))
    return Profile(cells, n.reshape(shape), *found)


ROWS_PER_CELL = 25  # on average at least, or else there are fewer cells
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
    >>> import numpy as np
    >>> from plcp.plotting import ThresholdDisplay
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
            Columns of X to draw along, whether the rule uses them or not.
        ax, **styles
            As in `plot`.
        """
        check_kind(estimator)
        check_is_fitted(estimator, "guarantee_")
        check_one_alpha(estimator)
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
        cells_wanted = max(len(values) // ROWS_PER_CELL, 1)
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
        hidden = [f"{unseen:,} rows without a value"] * (unseen > 0)
        hidden += [f"{infinite:,} infinite thresholds"] * (infinite > 0)
        if hidden:
            write_note(self.ax_, f"not shown: {', '.join(hidden)}")
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
    if len(estimator.tail_rules_) > 1:
        raise ValueError(
            "each tail has thresholds of its own: draw tail_rules_[0] or tail_rules_[1]"
        )
    return estimator.tail_rules_[0].predict(estimator._select(X))


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
