"""A feature cut into cells: its categories, its few values, or bins of about as many rows."""

from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from plcp.metrics.bins import count_quantiles
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import is_frame, plain
from plcp.shifts.columns import shown
from plcp.validation import check_names, is_missing

MOST_CATEGORIES = 15  # that are drawn each for itself; the rarest are put together
SPREAD = 0.5  # of the rows of a category, which is one wide
GOLDEN = (5**0.5 - 1) / 2  # its multiples are spread evenly
OTHERS, MISSING = "others", "missing"


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
    if is_frame(X):
        check_names(X)
    titles = [str(name) for name in X.columns] if is_frame(X) else _numbered(X)
    if isinstance(feature, str) and feature in titles:
        place = titles.index(feature)
    elif _is_position(feature) and -len(titles) <= int(feature) < len(titles):
        place = int(feature) % len(titles)
    else:
        raise ValueError(_unknown(feature, titles))
    values = X[X.columns[place]] if is_frame(X) else np.asarray(plain(X))[:, place]
    return titles[place], np.asarray(values)


def _is_position(feature: Any) -> bool:
    return isinstance(feature, Integral) and not isinstance(feature, bool)


def _numbered(X: Any) -> list[str]:
    if issparse(X):
        raise TypeError("X is sparse, and columns are drawn that are not: give X.toarray()")
    try:
        shape = np.shape(plain(X))
    except ValueError as error:  # rows of a list that are not equally long
        raise ValueError(f"X must be a table, with rows of one length: {error}") from error
    if len(shape) != 2:
        raise ValueError(
            f"X must have rows and columns, two dimensions, to draw along, got shape {shape}"
        )
    return [f"x{i}" for i in range(shape[1])]


def _unknown(feature: Any, titles: list[str]) -> str:
    near = get_close_matches(str(feature), titles, n=1, cutoff=0.5)
    remedy = f"did you mean {near[0]!r}?" if near else "give a name or a position"
    return f"no feature {feature!r} among the {len(titles)} columns of X: {remedy}"


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
    return all(isinstance(value, Real) and not isinstance(value, bool) for value in values)


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
    texts = np.array([shown(value) for value in values[~missing].tolist()], dtype=str)
    names, own, counts = np.unique(texts, return_inverse=True, return_counts=True)
    kept = np.arange(len(names))
    if len(names) > MOST_CATEGORIES:
        kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_CATEGORIES - 1])
    labels = names[kept].tolist()
    number = np.full(len(names), len(kept))
    number[kept] = np.arange(len(kept))
    if len(kept) < len(names):
        labels.append(OTHERS)
    codes = np.full(len(values), len(labels))
    codes[~missing] = number[own]
    if missing.any():
        labels.append(MISSING)
    centres = np.arange(len(labels), dtype=float)
    edges = np.arange(len(labels) + 1) - 0.5
    aside = SPREAD * (GOLDEN * np.arange(len(values)) % 1 - 0.5)
    return Cells(title, codes, codes + aside, centres, edges, tuple(labels))
