"""Prediction sets: intervals of numbers, sets of labels, and nested sets at several alphas."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.utils.validation import column_or_1d

from plcp._options import check_same_rows, place_of_alpha
from plcp._rows import frame_package, to_plain_array
from plcp._validation import as_floats
from plcp.quantiles import FloatArray

if TYPE_CHECKING:
    import pandas
    import polars


__all__ = ["Intervals", "LabelSets", "NestedSets"]


@dataclass(frozen=True, eq=False, repr=False)
class Intervals:
    """One closed interval [lower, upper] per row.

    An interval with ``lower > upper`` is empty and stored as ``(nan, nan)``. Infinite ends are
    open: [0, inf] holds all numbers from 0 on.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        The ends. Both NaN in a row means the empty set.
    index : pandas.Index of length n, optional
        Labels of the rows, the index of ``to_pandas``. ``predict_set`` sets those of X; rows of
        arrays and of polars frames have none.

    Examples
    --------
    >>> from plcp.sets import Intervals
    >>> intervals = Intervals(lower=[0.0, 1.0, 3.0], upper=[2.0, 5.0, 2.0])
    >>> intervals
    Intervals(n=3, median size=2, empty=1)
    >>> intervals.contains([2.0, 0.5, 2.5])
    array([ True, False, False])
    >>> intervals.size
    array([2., 4., 0.])
    """

    lower: FloatArray
    upper: FloatArray
    index: pandas.Index | None = None

    def __init__(
        self, lower: ArrayLike, upper: ArrayLike, *, index: pandas.Index | None = None
    ) -> None:
        low, high = as_floats("lower", lower), as_floats("upper", upper)
        _check_ends(low, high)
        _check_index(index, len(low))
        # an end at the wrong infinity leaves no real number inside, though lower <= upper may hold
        empty = ~(low <= high) | (low == np.inf) | (high == -np.inf)
        _freeze(self, lower=np.where(empty, np.nan, low), upper=np.where(empty, np.nan, high))
        object.__setattr__(self, "index", index)

    @property
    def is_empty(self) -> NDArray[np.bool_]:
        """Whether each interval holds no number."""
        return np.isnan(self.lower)

    @property
    def size(self) -> FloatArray:
        """Length of each interval: 0 where empty, inf where unbounded."""
        return np.where(self.is_empty, 0.0, self.upper - self.lower)

    def contains(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Whether ``lower <= y <= upper``, row by row."""
        check_same_rows(self, y=y)
        values = _one_per_set(as_floats("y", y), len(self))
        if np.isnan(values).any():
            row = int(np.argmax(np.isnan(values)))
            raise ValueError(
                f"y must be a number in every row, got nan at row {row}: drop that row"
            )
        return (self.lower <= values) & (values <= self.upper)

    def clip(self, lower: float | None = None, upper: float | None = None) -> Intervals:
        """Intersect with the range [lower, upper] a label can take.

        Examples
        --------
        >>> from plcp.sets import Intervals
        >>> Intervals([-1.0, 2.0], [3.0, 9.0]).clip(lower=0.0, upper=5.0).to_numpy()
        array([[0., 3.],
               [2., 5.]])
        """
        low = -np.inf if lower is None else float(lower)
        high = np.inf if upper is None else float(upper)
        if not low <= high:
            raise ValueError(
                f"lower must not exceed upper, got lower={low} and upper={high}: swap them"
            )
        ends = np.maximum(self.lower, low), np.minimum(self.upper, high)
        return Intervals(*ends, index=self.index)

    def with_index(self, index: pandas.Index | None) -> Intervals:
        """Return the same intervals with other labels of the rows."""
        return Intervals(self.lower, self.upper, index=index)

    def to_numpy(self) -> FloatArray:
        """Return an array of shape (n, 2), columns lower and upper."""
        return np.column_stack([self.lower, self.upper])

    def to_pandas(self, index: Any = None) -> pandas.DataFrame:
        """Return a pandas frame with columns lower and upper, and the index of X unless given."""
        pandas = frame_package("pandas")

        rows = self.index if index is None else index
        return pandas.DataFrame({"lower": self.lower, "upper": self.upper}, index=rows)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame with columns lower and upper, rows in the order of X."""
        polars = frame_package("polars")

        return polars.DataFrame({"lower": self.lower, "upper": self.upper})

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self.to_numpy().astype(dtype or float, copy=False)

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, rows: Any) -> Intervals:
        ends = np.atleast_1d(self.lower[rows]), np.atleast_1d(self.upper[rows])
        return Intervals(*ends, index=_labels_at(self.index, rows, len(self)))

    def __repr__(self) -> str:
        median = f"median size={np.median(self.size):.4g}, " if len(self) else ""
        return f"Intervals(n={len(self)}, {median}empty={self.is_empty.sum()})"


@dataclass(frozen=True, eq=False, repr=False)
class LabelSets:
    """One set of labels per row.

    Parameters
    ----------
    mask : array-like of bool, shape (n, k)
        Whether the set of row i holds ``classes[j]``.
    classes : array-like of shape (k,), optional
        The labels; the codes 0, ..., k - 1 unless given.
    index : pandas.Index of length n, optional
        Labels of the rows, as in `Intervals`.

    Examples
    --------
    >>> from plcp.sets import LabelSets
    >>> sets = LabelSets([[True, True, False], [False, False, True]], classes=["cat", "dog", "owl"])
    >>> sets
    LabelSets(n=2, classes=3, mean size=1.5, empty=0)
    >>> sets.contains(["dog", "dog"])
    array([ True, False])
    >>> sets.to_lists()
    [['cat', 'dog'], ['owl']]
    """

    mask: NDArray[np.bool_]
    classes: NDArray[Any]
    index: pandas.Index | None = None

    def __init__(
        self,
        mask: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        index: pandas.Index | None = None,
    ) -> None:
        member = np.array(to_plain_array(mask))
        if member.ndim != 2 or member.dtype != bool:
            got = f"dtype {member.dtype} and shape {member.shape}"
            raise ValueError(f"mask must be boolean of shape (n, k), got {got}: compare it first")
        labels = np.arange(member.shape[1]) if classes is None else np.array(classes)
        _check_classes(labels, member.shape[1])
        _check_index(index, len(member))
        _freeze(self, mask=member, classes=labels)
        object.__setattr__(self, "index", index)

    @property
    def is_empty(self) -> NDArray[np.bool_]:
        """Whether each set holds no label."""
        return np.asarray(~self.mask.any(axis=1))

    @property
    def size(self) -> NDArray[np.int64]:
        """Number of labels in each set."""
        return np.asarray(self.mask.sum(axis=1))

    def contains(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Whether each set holds its row's label, given as one of ``classes``."""
        check_same_rows(self, y=y)
        labels = _one_per_set(np.asarray(to_plain_array(y)), len(self))
        return np.asarray(self.mask[np.arange(len(self)), self._columns(labels)])

    def _columns(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        known: dict[Hashable, int] = {label: j for j, label in enumerate(self.classes.tolist())}
        distinct, inverse = np.unique(labels, return_inverse=True)
        unknown = [label for label in distinct.tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"y holds {unknown[0]!r}, not among the classes {_shorten(self.classes)}: "
                "no set holds it, so count such rows as misses; or name the labels by with_classes"
            )
        columns = np.array([known[label] for label in distinct.tolist()], dtype=np.intp)
        return columns[inverse]

    def with_classes(self, classes: ArrayLike) -> LabelSets:
        """Return the same sets under other names of the labels, in the order of the columns."""
        return LabelSets(self.mask, classes, index=self.index)

    def with_index(self, index: pandas.Index | None) -> LabelSets:
        """Return the same sets with other labels of the rows."""
        return LabelSets(self.mask, self.classes, index=index)

    def to_numpy(self) -> NDArray[np.bool_]:
        """Return the boolean mask of shape (n, k)."""
        return self.mask.copy()

    def to_lists(self) -> list[list[Any]]:
        """Return the labels of each set, in the order of ``classes``."""
        return [self.classes[row].tolist() for row in self.mask]

    def to_pandas(self, index: Any = None) -> pandas.DataFrame:
        """Return a pandas frame with one boolean column per class, named ``str(class)``.

        Its index is that of X, unless given.
        """
        pandas = frame_package("pandas")

        rows = self.index if index is None else index
        return pandas.DataFrame(self.to_numpy(), columns=self._names(), index=rows)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame with one boolean column per class, named ``str(class)``."""
        polars = frame_package("polars")

        return polars.DataFrame(self.to_numpy(), schema=self._names())

    def _names(self) -> list[str]:
        return [str(label) for label in self.classes.tolist()]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self.to_numpy().astype(dtype or bool, copy=False)

    def __len__(self) -> int:
        return len(self.mask)

    def __getitem__(self, rows: Any) -> LabelSets:
        index = _labels_at(self.index, rows, len(self))
        return LabelSets(np.atleast_2d(self.mask[rows]), self.classes, index=index)

    def __repr__(self) -> str:
        mean = f"mean size={self.size.mean():.4g}, " if len(self) else ""
        return (
            f"LabelSets(n={len(self)}, classes={len(self.classes)}, "
            f"{mean}empty={self.is_empty.sum()})"
        )


def _freeze(instance: object, **arrays: NDArray[Any]) -> None:
    """Set fields of a frozen dataclass to read-only arrays."""
    for name, array in arrays.items():
        array.setflags(write=False)
        object.__setattr__(instance, name, array)


def _labels_at(index: Any, rows: Any, n: int) -> Any:
    """Labels of some of n rows, selected as by indexing an array."""
    return None if index is None else index[np.atleast_1d(np.arange(n)[rows])]


def _check_index(index: Any, n: int) -> None:
    if index is not None and len(index) != n:
        raise ValueError(f"index must have one label for each of {n} sets, got {len(index)}")


def _check_ends(lower: FloatArray, upper: FloatArray) -> None:
    if lower.ndim != 1 or lower.shape != upper.shape:
        got = f"{lower.shape} and {upper.shape}"
        raise ValueError(
            f"lower and upper must both have shape (n,), got {got}: pass one end per row"
        )
    half = np.isnan(lower) != np.isnan(upper)
    if half.any():
        row = int(np.argmax(half))
        raise ValueError(
            f"lower and upper must be numbers, or both nan where the set is empty, "
            f"got {lower[row]} and {upper[row]} at row {row}"
        )


def _one_per_set(y: NDArray[Any], n: int) -> NDArray[Any]:
    if y.shape == (n, 1):  # with a warning, as in fit
        return column_or_1d(y, warn=True)
    if y.shape != (n,):
        raise ValueError(f"y must have shape ({n},), got {y.shape}: pass one value for each set")
    return y


def _check_classes(classes: NDArray[Any], k: int) -> None:
    if classes.shape != (k,) or len(set(classes.tolist())) != k:
        got = f"{_shorten(classes)} of shape {classes.shape}"
        raise ValueError(f"classes must be {k} distinct labels, one per column of mask, got {got}")


def _shorten(classes: NDArray[Any]) -> str:
    labels = classes.tolist()
    return repr(labels) if len(labels) <= 10 else f"{labels[:10]!r}, ... ({len(labels)} in all)"


Sets = Intervals | LabelSets


class NestedSets(Mapping[float, Sets]):
    """Sets of the same rows at several alphas: a mapping of each alpha to its sets.

    What has one number per row at one alpha has one column per alpha here, in their order. In
    frames each column name ends in its alpha.

    Parameters
    ----------
    alphas : sequence of float
        Miscoverage rates.
    sets : sequence of Intervals or of LabelSets
        The sets of each alpha.

    Examples
    --------
    >>> from plcp import Intervals, NestedSets
    >>> sets = NestedSets([0.1, 0.2], [Intervals([0.0], [9.0]), Intervals([2.0], [6.0])])
    >>> sets[0.2]
    Intervals(n=1, median size=4, empty=0)
    >>> sets.contains([7.0])
    array([[ True, False]])
    >>> sets.to_pandas().columns.to_list()
    ['lower_0.1', 'upper_0.1', 'lower_0.2', 'upper_0.2']
    """

    def __init__(self, alphas: Sequence[float], sets: Sequence[Sets]) -> None:
        self._sets = dict(zip(alphas, sets, strict=True))

    def __getitem__(self, alpha: float) -> Sets:
        place = place_of_alpha([*self], alpha)
        if place is None:
            raise KeyError(f"no sets at alpha = {alpha!r}, only at {[*self]}")
        return [*self._sets.values()][place]

    def __iter__(self) -> Iterator[float]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    @property
    def size(self) -> NDArray[Any]:
        """Size of each set, shape (n, number of alphas)."""
        return np.column_stack([sets.size for sets in self.values()])

    def contains(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Whether each set holds its row's label, shape (n, number of alphas)."""
        return np.column_stack([sets.contains(y) for sets in self.values()])

    def clip(self, lower: float | None = None, upper: float | None = None) -> NestedSets:
        """Intersect the intervals of each alpha with the range [lower, upper] of the labels."""
        intervals = cast("Mapping[float, Intervals]", self)
        return NestedSets([*self], [sets.clip(lower, upper) for sets in intervals.values()])

    def with_index(self, index: pandas.Index | None) -> NestedSets:
        """Return the same sets with other labels of the rows."""
        return NestedSets([*self], [sets.with_index(index) for sets in self.values()])

    def to_numpy(self) -> NDArray[Any]:
        """Return the arrays of all alphas, stacked along a last axis: ends (n, 2, alphas)."""
        return np.stack([sets.to_numpy() for sets in self.values()], axis=-1)

    def to_pandas(self, index: Any = None) -> pandas.DataFrame:
        """Return a pandas frame of all alphas, columns ``lower_0.1``, ``upper_0.1``, …

        Its index is that of X, unless given.
        """
        pandas = frame_package("pandas")

        frames = [sets.to_pandas(index).add_suffix(f"_{alpha}") for alpha, sets in self.items()]
        return pandas.concat(frames, axis=1)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame of all alphas, columns ``lower_0.1``, ``upper_0.1``, …"""
        polars = frame_package("polars")

        frames = [
            frame.rename({name: f"{name}_{alpha}" for name in frame.columns})
            for alpha, frame in ((alpha, sets.to_polars()) for alpha, sets in self.items())
        ]
        return polars.concat(frames, how="horizontal")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"NestedSets({self._sets})"
