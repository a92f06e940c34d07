"""Prediction sets at several levels, each inside those of smaller alpha."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from plcp.sets import Intervals, LabelSets

if TYPE_CHECKING:
    import pandas
    import polars

Sets = Intervals | LabelSets


class NestedSets(Mapping[float, Sets]):
    """Sets of the same rows at several levels: a mapping of each alpha to its sets.

    Where one level has a number a row, several have one column each, in the order of the levels.
    In frames each column ends in its level.

    Parameters
    ----------
    levels : sequence of float
        Miscoverage rates.
    sets : sequence of Intervals or of LabelSets
        The sets of each level.

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

    def __init__(self, levels: Sequence[float], sets: Sequence[Sets]) -> None:
        self._sets = dict(zip(levels, sets, strict=True))

    def __getitem__(self, level: float) -> Sets:
        try:
            return self._sets[level]
        except KeyError:
            raise KeyError(f"no sets at alpha = {level!r}, only at {[*self]}") from None

    def __iter__(self) -> Iterator[float]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    @property
    def size(self) -> NDArray[Any]:
        """Size of each set, shape (n, number of levels)."""
        return np.column_stack([sets.size for sets in self.values()])

    def contains(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Whether each set holds its row's label, shape (n, number of levels)."""
        return np.column_stack([sets.contains(y) for sets in self.values()])

    def clip(self, low: float | None = None, high: float | None = None) -> NestedSets:
        """Intersect the intervals of each level with the range [low, high] a label can take."""
        levels = cast("Mapping[float, Intervals]", self)
        return NestedSets([*levels], [sets.clip(low, high) for sets in levels.values()])

    def to_numpy(self) -> NDArray[Any]:
        """Return the arrays of all levels, stacked along a last axis: ends (n, 2, levels)."""
        return np.stack([sets.to_numpy() for sets in self.values()], axis=-1)

    def to_pandas(self, index: Any = None) -> pandas.DataFrame:
        """Return a pandas frame of all levels, columns ``lower_0.1``, ``upper_0.1``, …"""
        import pandas

        frames = [sets.to_pandas(index).add_suffix(f"_{level}") for level, sets in self.items()]
        return pandas.concat(frames, axis=1)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame of all levels, columns ``lower_0.1``, ``upper_0.1``, …"""
        import polars

        frames = [
            frame.rename({name: f"{name}_{level}" for name in frame.columns})
            for level, frame in ((level, sets.to_polars()) for level, sets in self.items())
        ]
        return polars.concat(frames, how="horizontal")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"NestedSets({self._sets})"
