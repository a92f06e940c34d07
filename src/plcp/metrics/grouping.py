"""Which rows are in which group: labels, masks that overlap, columns of X."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from plcp.quantiles import FloatArray, IntArray
from plcp.rows import is_frame, plain
from plcp.shifts.columns import check_present, check_sortable
from plcp.shifts.groups import MAX_LABELS, Groups, check_indicators
from plcp.validation import shortened

BLOCK = 32_768


@dataclass(frozen=True, eq=False, repr=False)
class Grouping:
    """Groups of rows, as the list of who is a member of what.

    Made by `column_groups`, `quantile_bins` and `cut_bins`, and from labels or masks by every
    metric that takes ``groups``.

    Parameters
    ----------
    names : array of shape (k,)
        Name of each group.
    codes : array of shape (memberships,)
        Position in ``names`` of the group of each membership.
    rows : array of shape (memberships,) or None
        Row of each membership, rising. None: every row is in one group, in the order of the rows.
    n_rows : int
        Number of rows, those in no group too.
    """

    names: NDArray[Any]
    codes: IntArray
    rows: IntArray | None
    n_rows: int

    @property
    def is_disjoint(self) -> bool:
        """Whether no row is in two groups."""
        return self.rows is None or bool((np.diff(self.rows) > 0).all())

    def tally(
        self, covered: NDArray[np.bool_], weights: FloatArray | None
    ) -> tuple[IntArray, IntArray]:
        """Count the rows of each group, and those of them that are covered."""
        counts = np.zeros(2 * len(self))
        for codes, rows in self._blocks():
            halves = 2 * codes + covered[rows]
            own = None if weights is None else weights[rows]
            counts += np.bincount(halves, own, minlength=len(counts))
        misses, hits = counts.astype(np.intp).reshape(-1, 2).T
        return misses + hits, hits

    def sums(self, values: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Sum of the values over each group."""
        total = np.zeros(len(self))
        for codes, rows in self._blocks():
            terms = values[rows] if weights is None else values[rows] * weights[rows]
            total += np.bincount(codes, terms, minlength=len(self))
        return total

    def square_sums(
        self, values: FloatArray, centres: FloatArray, weights: FloatArray | None
    ) -> FloatArray:
        """Sum over each group of the squared distance of the values from the group's centre."""
        total = np.zeros(len(self))
        for codes, rows in self._blocks():
            terms = centres[codes]
            terms -= values[rows]
            terms *= terms
            if weights is not None:
                terms *= weights[rows]
            total += np.bincount(codes, terms, minlength=len(self))
        return total

    def _blocks(self) -> Iterator[tuple[IntArray, slice | IntArray]]:
        """Memberships some thousand at a time: what is computed of them stays in the cache."""
        for start in range(0, len(self.codes), BLOCK):
            block = slice(start, start + BLOCK)
            yield self.codes[block], block if self.rows is None else self.rows[block]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Grouping({shortened(self.names.tolist())} of {self.n_rows} rows)"


def as_grouping(groups: Any, n: int) -> Grouping:
    """Groups of ``n`` rows from whatever form they are given in.

    Labels of shape (n,); a boolean matrix or frame of shape (n, k), one column a group, which may
    overlap and leave rows out; a mapping of names to masks of shape (n,); or a `Grouping`.
    """
    if isinstance(groups, Grouping):
        if groups.n_rows != n:
            raise ValueError(
                f"groups are of {groups.n_rows} rows, but covered has {n}: group the same rows"
            )
        return groups
    if isinstance(groups, Mapping):
        return _from_mapping(groups, n)
    if is_frame(groups):
        return _from_masks(np.array([str(name) for name in groups.columns]), groups, n)
    if issparse(groups) or np.ndim(groups) == 2:
        return _from_masks(np.arange(np.shape(groups)[1]), groups, n)
    return _from_labels(np.asarray(plain(groups)), n)


def column_groups(X: Any, by: Any) -> Grouping:
    """Groups by columns of X: each value of each named column is one, so groups may overlap.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
    by : column name or position, callable, list or dict of them
        As in `plcp.shifts.Groups`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "f"], "age": [30, 70, 80]})
    >>> column_groups(people, {"sex": "sex", "old": lambda X: X["age"] > 65})
    Grouping(['sex=f', 'sex=m', 'old'] of 3 rows)
    """
    groups = Groups(by)
    matrix = groups.fit_transform(X)
    return _from_masks(np.array(groups.names_), matrix, len(matrix))


def _from_labels(labels: NDArray[Any], n: int) -> Grouping:
    if labels.shape != (n,):
        raise ValueError(
            f"groups must have shape ({n},) or ({n}, k), got {labels.shape}: give one label a row, "
            "or one boolean a row and group"
        )
    if labels.dtype.kind in "biu" and np.can_cast(labels.dtype, np.intp):
        least, most = int(labels.min()), int(labels.max())
        if most - least < n:  # counting is faster than sorting, and takes no more memory
            return _from_small_numbers(labels, least, most)
    check_present(labels, "")
    check_sortable(labels)
    names, codes = np.unique(labels, return_inverse=True)
    if labels.dtype.kind == "f" and len(names) > MAX_LABELS:
        raise ValueError(
            f"groups holds {len(names)} different numbers, more than {MAX_LABELS} groups: cut them "
            "into bins by quantile_bins or cut_bins"
        )
    return Grouping(names, codes, None, n)


def _from_small_numbers(labels: IntArray, least: int, most: int) -> Grouping:
    codes = labels.astype(np.intp, copy=False)
    codes = codes - least if least else codes
    names = np.arange(least, most + 1).astype(labels.dtype)
    there = _present(codes, len(names))
    if not there.all():
        names, codes = names[there], (np.cumsum(there) - 1)[codes]
    return Grouping(names, codes, None, len(labels))


def _present(codes: IntArray, k: int) -> NDArray[np.bool_]:
    """Which of 0 … k - 1 there are; a look at the first rows often settles it."""
    there = np.zeros(k, dtype=bool)
    for start in range(0, len(codes), BLOCK):
        there[codes[start : start + BLOCK]] = True
        if there.all():
            break
    return there


def _from_mapping(masks: Mapping[Any, ArrayLike], n: int) -> Grouping:
    if not masks:
        raise ValueError("groups names no group, got {}: give a mask of shape (n,) for each name")
    for name, mask in masks.items():
        if np.shape(mask) != (n,):
            raise ValueError(
                f"the mask of group {name!r} must have shape ({n},), got {np.shape(mask)}: give "
                "one boolean a row"
            )
    return _from_masks(
        np.array([str(name) for name in masks]), np.column_stack([*masks.values()]), n
    )


def _from_masks(names: NDArray[Any], masks: Any, n: int) -> Grouping:
    different, times = np.unique(names, return_counts=True)
    if (times > 1).any():
        raise ValueError(f"several groups are named {different[times > 1][0]}: rename them")
    rows, codes = np.nonzero(check_indicators(masks, n, "groups"))
    return Grouping(names, codes, rows, n)
