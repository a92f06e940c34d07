"""Exact order statistics of many groups whose values are in blocks, by counting.

Every pass counts, in each block, the values below some pivots; counts add up where the blocks are,
so what reaches the caller is as large as the pivots are many, whatever the number of rows and
blocks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.out_of_core.passes import Block, Passes
from plcp.quantiles import FloatArray, IntArray

Keys = NDArray[np.uint64]

SIGN = np.uint64(1 << 63)
PIVOTS = 2**14  # of all ranks that are searched, at every pass
FEWEST = 16  # of each of them
FEW = 2**14  # values so near these ranks that they are fetched
NO_KEYS = np.empty(0, dtype=np.uint64)


class Ranks:
    """Values of groups 0 … n_groups - 1, in blocks, and the value of any rank in each.

    Parameters
    ----------
    blocks : Passes
        Blocks of two columns: values without NaN, and the group of each.
    n_groups : int
        How many groups there are; some may be empty.

    Attributes
    ----------
    sizes : ndarray of shape (n_groups,)
        How many values each group has.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.out_of_core import Held, Ranks
    >>> one = np.array([3.0, 1.0]), np.array([0, 0])
    >>> two = np.array([2.0, 9.0]), np.array([0, 1])
    >>> ranks = Ranks(Held([one, two]), 2)
    >>> ranks.sizes, ranks.at([[1, 2], [0, 1]])  # beyond the last there is only infinity
    (array([3, 1]), array([[ 2.,  3.],
           [ 9., inf]]))
    """

    def __init__(self, blocks: Passes, n_groups: int) -> None:
        self.blocks = blocks.keep(_sorted, n_groups)
        found = self.blocks.total(_edges) or _edges(NO_KEYS, np.zeros(n_groups, dtype=np.int64))
        self.sizes: IntArray = found.sizes
        self._least, self._most = found.least, found.most

    def at(self, ranks: ArrayLike) -> FloatArray:
        """Return the value of each rank, counted from 0, of shape (n_groups, k) or (n_groups,).

        A rank below 0 or beyond the last value of its group gives infinity: nothing is there.
        """
        wanted = np.asarray(ranks, dtype=np.int64)
        flat = wanted.reshape(len(self.sizes), -1)
        groups = np.repeat(np.arange(len(self.sizes)), flat.shape[1])
        values = np.full(flat.size, np.inf)
        there = (flat.ravel() >= 0) & (flat.ravel() < self.sizes[groups])
        if there.any():
            pairs = np.column_stack([groups, flat.ravel()])[there]
            distinct, which = np.unique(pairs, axis=0, return_inverse=True)
            values[there] = self._found(distinct[:, 0], distinct[:, 1])[which.ravel()]
        return values.reshape(wanted.shape)

    def at_or_below(self, values: ArrayLike) -> IntArray:
        """How many values each group has up to one of its own, of shape (n_groups,)."""
        groups, pivots = np.arange(len(self.sizes)), keys_of(values)[:, None]
        nothing = np.zeros(pivots.shape, dtype=np.int64)
        return (nothing + self.blocks.total(_counts, groups, pivots))[:, 0]

    def _found(self, groups: IntArray, ranks: IntArray) -> FloatArray:
        """Values of ranks that are there, each between two keys that draw nearer."""
        low, high = self._least[groups], self._most[groups]
        below, inside = np.zeros_like(ranks), self.sizes[groups]
        few = max(1, FEW // len(ranks))
        while (far := (inside > few) & (low < high)).any():
            pivots = _between(low[far], high[far], max(FEWEST, PIVOTS // far.sum()))
            counts = self.blocks.total(_counts, groups[far], pivots)
            cell = (counts <= ranks[far, None]).sum(axis=1)
            edges = np.column_stack([below[far], counts, (below + inside)[far]])
            low[far] = _chosen(np.column_stack([low[far], pivots + np.uint64(1)]), cell)
            high[far] = _chosen(np.column_stack([pivots, high[far]]), cell)
            below[far] = _chosen(edges, cell)
            inside[far] = _chosen(edges, cell + 1) - below[far]
        known = low == high
        if not known.all():
            near = self.blocks.total(_near, groups, low, high)
            low = np.where(known, low, near.at(np.where(known, 0, ranks - below), len(ranks)))
        return floats_of(low)


def keys_of(values: ArrayLike) -> Keys:
    """Whole numbers in the same order as the floating-point numbers given; -0.0 is 0.0.

    Examples
    --------
    >>> bool(np.all(np.diff(keys_of([-np.inf, -1.0, 0.0, 1e-300, np.inf]).astype(float)) > 0))
    True
    """
    bits = (np.asarray(values, dtype=float) + 0.0).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def floats_of(keys: Keys) -> FloatArray:
    """Return the floating-point numbers that have these keys."""
    return np.where(keys & SIGN, keys ^ SIGN, ~keys).view(float)


def _sorted(values: Any, groups: Any, n_groups: int) -> Block:
    """Keys of a block, sorted within each group, and where each group ends."""
    keys = keys_of(values)
    order = np.argsort(groups, kind="stable")
    keys, ends = keys[order], np.cumsum(np.bincount(groups, minlength=n_groups))
    for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        keys[start:end].sort()
    return keys, ends


@dataclass(frozen=True)
class Edges:
    """Size, least and largest key of each group."""

    sizes: IntArray
    least: Keys
    most: Keys

    def __add__(self, other: "Edges") -> "Edges":
        """Return those of the values of both."""
        return Edges(
            self.sizes + other.sizes,
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
        )


def _edges(keys: Keys, ends: IntArray) -> Edges:
    sizes = np.diff(ends, prepend=0)
    least = np.full(len(ends), 2**64 - 1, dtype=np.uint64)
    most = np.zeros(len(ends), dtype=np.uint64)
    there = sizes > 0
    least[there], most[there] = keys[(ends - sizes)[there]], keys[ends[there] - 1]
    return Edges(sizes, least, most)


def _between(low: Keys, high: Keys, n: int) -> Keys:
    """Up to n rising pivots from each ``low`` on, all below ``high``; the last may repeat."""
    width = (high - low - np.uint64(1)) // np.uint64(n)
    steps = np.arange(n, dtype=np.uint64)
    return np.minimum(low[:, None] + steps * np.maximum(width, 1)[:, None], high[:, None] - 1)


def _counts(keys: Keys, ends: IntArray, groups: IntArray, pivots: Keys) -> IntArray:
    """How many values of a block are at or below each pivot, in each pivot's group."""
    starts = np.append(0, ends[:-1])
    parts = [keys[starts[group] : ends[group]] for group in groups]
    found = [part.searchsorted(row, side="right") for part, row in zip(parts, pivots, strict=True)]
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class Near:
    """Keys near some ranks, and which of these ranks each is near to."""

    keys: Keys
    which: IntArray

    def __add__(self, other: "Near") -> "Near":
        """Return the keys of both."""
        keys = np.concatenate([self.keys, other.keys])
        return Near(keys, np.concatenate([self.which, other.which]))

    def at(self, places: IntArray, n: int) -> Keys:
        """Key at a place, counted from 0, among those of each of n ranks; any, if it has none."""
        order = np.lexsort((self.keys, self.which))
        starts = self.which[order].searchsorted(np.arange(n))
        return self.keys[order][np.minimum(starts + places, len(order) - 1)]


def _near(keys: Keys, ends: IntArray, groups: IntArray, low: Keys, high: Keys) -> Near:
    """Keys of a block from ``low`` to ``high``, for each; none where both are the same."""
    found, sizes = [NO_KEYS], np.zeros(len(groups), dtype=np.intp)
    for i in np.flatnonzero(low < high):
        part = keys[ends[groups[i] - 1] if groups[i] else 0 : ends[groups[i]]]
        part = part[part.searchsorted(low[i]) : part.searchsorted(high[i], side="right")]
        found.append(part)
        sizes[i] = len(part)
    return Near(np.concatenate(found), np.repeat(np.arange(len(groups)), sizes))


def _chosen(table: NDArray[Any], columns: IntArray) -> NDArray[Any]:
    return table[np.arange(len(columns)), columns]
