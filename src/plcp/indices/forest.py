"""The trees of several boosters as tables: a row is looked up in them, and walks through none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from plcp.indices.light_trees import LightBooster
from plcp.indices.trees import Booster, Tree
from plcp.quantiles import FloatArray, IntArray

BYTES = 32  # numpy copies as many as fast as one
# Multiplied by a power of two, the topmost bits of each of these tell which power it was.
DE_BRUIJN = {8: 0x17, 16: 0x09AF, 32: 0x077CB531, 64: 0x03F79D71B4CB0A89}
MOST_LEAVES = max(DE_BRUIJN)
AnyBooster = Booster | LightBooster


@dataclass(frozen=True)
class Column:
    """Numbers for the values of a column that trees can tell apart.

    ``known`` are its categories or, where it holds no codes, all cuts made in it; two more numbers
    are those of what lies beyond (or is no category), and of what is missing.
    """

    known: FloatArray
    holds_codes: bool

    @property
    def samples(self) -> FloatArray:
        """One value of each number."""
        beyond = self.known[-1] + 1 if self.holds_codes else np.inf
        return np.append(self.known, [beyond, np.nan])

    def codes(self, values: FloatArray) -> IntArray:
        """Return the number of each value."""
        order = values.argsort()  # found in order, values are found three times as fast
        codes = np.empty(len(values), dtype=np.intp)
        codes[order] = np.searchsorted(self.known, values[order])
        if self.holds_codes:
            codes[self.known.take(codes, mode="clip") != values] = len(self.known)
        codes[np.isnan(values)] = len(self.known) + 1
        return codes


@dataclass(frozen=True)
class Lanes:
    """A few trees side by side: for each number of a column, the leaves it does not rule out.

    The leaves of a tree are the bits of one lane. What all columns leave of them is one bit
    (QuickScorer, but with both sides of every split told).
    """

    all_leaves: NDArray[Any]
    tables: Mapping[int, NDArray[Any]]
    leaves: FloatArray
    owners: Sequence[int]

    def add_to(self, totals: FloatArray, codes: Mapping[int, IntArray]) -> None:
        """Add the value of the leaf of each row to the total of the tree's owner."""
        left = np.tile(self.all_leaves, (totals.shape[1], 1))
        buffer = np.empty_like(left)
        for column, table in self.tables.items():
            np.take(table, codes[column], axis=0, out=buffer, mode="clip")  # without a copy
            left &= buffer
        places = which_bit(left)
        for lane, owner in enumerate(self.owners):
            totals[owner] += self.leaves[lane].take(places[:, lane], mode="clip")


class Forest:
    """Predictions of several boosters: theirs to the last bit, several times as fast.

    Parameters
    ----------
    boosters : sequence of Booster or LightBooster
        Fitted to arrays, with the same columns of categories, and no tree above 64 leaves.

    References
    ----------
    Lucchese, Nardini, Orlando, Perego, Tonellotto, Venturini (2015). QuickScorer: a fast algorithm
    to rank documents with additive ensembles of regression trees. SIGIR.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=5).fit(X, X[:, 0] ** 2)
    >>> bool((Forest([Booster(model)]).predict(X)[0] == model.predict(X)).all())
    True
    """

    def __init__(self, boosters: Sequence[AnyBooster]) -> None:
        self.boosters = boosters
        self.columns = numbered_columns(boosters)
        self.lanes = list(self._side_by_side())

    def predict(self, X: NDArray[Any]) -> list[FloatArray]:
        """What each booster predicts, one number a row."""
        codes = {
            i: column.codes(np.asarray(X[:, i], dtype=float)) for i, column in self.columns.items()
        }
        totals = np.repeat([[booster.start] for booster in self.boosters], len(X), axis=1)
        for lanes in self.lanes:
            lanes.add_to(totals, codes)
        return [b.predict(total) for b, total in zip(self.boosters, totals, strict=True)]

    def _side_by_side(self) -> Iterator[Lanes]:
        samples = {i: column.samples for i, column in self.columns.items()}
        for bits in DE_BRUIJN:
            owned = [
                (owner, tree)
                for owner, booster in enumerate(self.boosters)
                if width(booster.most_leaves) == bits
                for tree in booster.trees(samples)
            ]
            for part in gen_batches(len(owned), BYTES * 8 // bits) if owned else ():
                yield lanes_of(owned[part], {i: len(s) for i, s in samples.items()}, bits)


def numbered_columns(boosters: Sequence[AnyBooster]) -> dict[int, Column]:
    """Columns that some booster asks about."""
    known: dict[int, list[FloatArray]] = {}
    for booster in boosters:
        for column, values in booster.known().items():
            known.setdefault(column, []).append(values)
    return {
        column: Column(np.unique(np.concatenate(values)), boosters[0].holds_codes(column))
        for column, values in known.items()
    }


def lanes_of(owned: Sequence[tuple[int, Tree]], sizes: Mapping[int, int], bits: int) -> Lanes:
    """Tables of a few trees with at most ``bits`` leaves; ``sizes``: numbers of each column."""
    kind = np.dtype(f"u{bits // 8}")
    all_leaves = np.zeros(BYTES // kind.itemsize, dtype=kind)
    leaves = np.zeros((len(owned), bits))
    tables: dict[int, NDArray[Any]] = {}
    for lane, (_, tree) in enumerate(owned):
        own = kind.type(1) << np.arange(len(tree.leaves), dtype=kind)
        all_leaves[lane] = np.bitwise_or.reduce(own)
        leaves[lane, which_bit(own)] = tree.leaves
        for split in tree.splits:
            if split.column not in tables:
                shape = sizes[split.column], len(all_leaves)
                tables[split.column] = np.full(shape, np.iinfo(kind).max, dtype=kind)
            allowed = np.where(split.goes_left, ~kind.type(split.right), ~kind.type(split.left))
            tables[split.column][:, lane] &= allowed
    return Lanes(all_leaves, tables, leaves, [owner for owner, _ in owned])


def width(n_leaves: int) -> int:
    """Least number of bits, of those a word may have, that hold a tree."""
    return next(bits for bits in DE_BRUIJN if bits >= n_leaves)


def which_bit(words: NDArray[Any]) -> NDArray[Any]:
    """Return a number below the word's width, another for each bit that may be set.

    Examples
    --------
    >>> sorted(which_bit(np.array([1, 2, 4, 8, 16, 32, 64, 128], dtype=np.uint8)).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    kind, bits = words.dtype.type, words.dtype.itemsize * 8
    topmost = words * kind(DE_BRUIJN[bits]) >> kind(bits + 1 - bits.bit_length())
    return topmost.view(f"i{bits // 8}")  # numpy looks up nothing by unsigned words of 64 bits
