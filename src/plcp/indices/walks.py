"""The trees of several boosters side by side: a few rows walk through all of them at once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from plcp.indices.forest import Column
from plcp.indices.trees import Booster, Branches
from plcp.quantiles import FloatArray, IntArray

CODES = 256  # that a tree can tell apart


class Nodes(NamedTuple):
    """All nodes of some trees: ``children`` are two a node, right and left; a leaf is its own.

    ``sets`` has a row for each node that asks about codes, and an empty one, the first, for all
    others: whether each code goes left.
    """

    column: IntArray
    cut: FloatArray
    gaps_left: NDArray[np.bool_]
    children: IntArray
    value: FloatArray
    set_of: IntArray
    sets: NDArray[np.bool_]

    @classmethod
    def of(cls, trees: Sequence[Branches], roots: IntArray) -> Self:
        """Return the nodes of trees one after the other, the first of each at its root."""
        sizes = np.array([len(tree.value) for tree in trees], dtype=np.intp)
        own, first = np.arange(sizes.sum()), np.repeat(roots, sizes)
        is_leaf = _joined(trees, "is_leaf")
        sides = [np.where(is_leaf, own, first + _joined(trees, side)) for side in ("right", "left")]
        places = [
            (root + place, codes)
            for root, tree in zip(roots.tolist(), trees, strict=True)
            for place, codes in tree.sets.items()
        ]
        set_of, sets = np.zeros(len(own), dtype=np.intp), np.zeros((len(places) + 1, CODES), bool)
        for number, (place, codes) in enumerate(places, start=1):
            set_of[place], sets[number, codes] = number, True
        return cls(
            column=_joined(trees, "column"),
            cut=_joined(trees, "cut"),
            gaps_left=_joined(trees, "gaps_left"),
            children=np.column_stack(sides).ravel(),
            value=_joined(trees, "value"),
            set_of=set_of,
            sets=sets,
        )

    def leaves(self, places: IntArray, seen: FloatArray, first: IntArray) -> IntArray:
        """Walk down from some nodes, where ``seen`` are values of rows that begin at ``first``."""
        has_gaps, has_codes = bool(np.isnan(seen).any()), len(self.sets) > 1
        while True:
            values = seen.take(self.column.take(places) + first)
            goes_left = values <= self.cut.take(places)
            if has_codes:
                number = self.set_of.take(places)
                code = np.where((number > 0) & ~np.isnan(values), values, 0).astype(np.intp)
                goes_left |= self.sets[number, code] & ~np.isnan(values)
            if has_gaps:
                goes_left |= np.isnan(values) & self.gaps_left.take(places)
            below = self.children.take(2 * places + goes_left)
            if np.array_equal(below, places):
                return places
            places = below


class Walks:
    """Predictions of several boosters: theirs to the last bit, and soon where rows are few.

    A ``Forest`` takes less time for a row, but many times as long to be made.

    Parameters
    ----------
    boosters : sequence of Booster
        Fitted to arrays, with the same columns of categories.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from plcp.indices.trees import Booster
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=5).fit(X, X[:, 0] ** 2)
    >>> bool((Walks([Booster(model)]).predict(X[:3])[0] == model.predict(X[:3])).all())
    True
    """

    def __init__(self, boosters: Sequence[Booster]) -> None:
        self.boosters = boosters
        self.columns = columns_of_codes(boosters)
        self.seen_codes = [
            np.column_stack([booster.seen(i, column.samples) for booster in boosters])
            for i, column in self.columns.items()
        ]
        owned = [(k, tree) for k in range(len(boosters)) for tree in self._trees(k)]
        sizes = np.array([len(tree.value) for _, tree in owned], dtype=np.intp)
        self.roots = np.cumsum(sizes) - sizes
        self.owners = np.array([owner for owner, _ in owned], dtype=np.intp)
        self.nodes = Nodes.of([tree for _, tree in owned], self.roots)

    def predict(self, X: NDArray[Any]) -> list[FloatArray]:
        """What each booster predicts, one number a row."""
        seen, rows = self._seen(X), np.arange(len(X))
        first = np.tile(rows * seen.shape[1], len(self.roots))
        leaves = self.nodes.leaves(np.repeat(self.roots, len(X)), seen.ravel(), first)
        # Start, then leaves, tree by tree: numbers are added up in the order they are given.
        owners = np.concatenate([np.arange(len(self.boosters)), self.owners])
        starts = np.repeat([booster.start for booster in self.boosters], len(X))
        values = np.concatenate([starts, self.nodes.value.take(leaves)])
        bins = (owners[:, None] * len(X) + rows).ravel()
        totals = np.asarray(np.bincount(bins, values), dtype=float).reshape(-1, len(X))
        return [b.predict(total) for b, total in zip(self.boosters, totals, strict=True)]

    def _trees(self, owner: int) -> list[Branches]:
        """Trees of a booster, asking about columns of what is seen."""
        booster, m = self.boosters[owner], len(self.boosters)
        d = int(booster.model.n_features_in_)
        places = np.arange(d)
        places[[*self.columns]] = d + owner + m * np.arange(len(self.columns))
        return [tree._replace(column=places[tree.column]) for tree in booster.branches()]

    def _seen(self, X: NDArray[Any]) -> FloatArray:
        """What trees see of rows: numbers, then for each column of codes what each booster does."""
        numbers = np.asarray(X, dtype=float)
        codes = zip(self.columns.items(), self.seen_codes, strict=True)
        parts = [seen[column.codes(numbers[:, i])] for (i, column), seen in codes]
        return np.hstack([numbers, *parts])


def columns_of_codes(boosters: Sequence[Booster]) -> Mapping[int, Column]:
    """Columns that hold codes of categories, for some booster."""
    known: dict[int, list[FloatArray]] = {}
    for booster in boosters:
        for column, codes in booster.codes().items():
            known.setdefault(column, []).append(codes)
    joined = {column: np.unique(np.concatenate(codes)) for column, codes in known.items()}
    # no tree asks about a column without any
    return {column: Column(codes, True) for column, codes in joined.items() if len(codes)}


def _joined(trees: Sequence[Branches], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(tree, name) for tree in trees])
