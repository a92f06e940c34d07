"""Fast predictions of fitted boosters: their trees as tables, through which rows pass together.

A tree is a set of leaves, and a split rules out those on its other side. For each column, a table
holds the leaves that a value leaves open, of all trees side by side, one bit per leaf: what all
columns of a row leave open is one leaf per tree (QuickScorer, with both sides of each split).

References
----------
Lucchese, Nardini, Orlando, Perego, Tonellotto, Venturini (2015). QuickScorer: a fast algorithm
to rank documents with additive ensembles of regression trees. SIGIR.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn._loss.link import LogLink
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from plcp._rows import batches
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.encoding import mean_of


class Trees(NamedTuple):
    """All nodes of some trees, one tree after the other; parents come before their children.

    A row goes left where its value of ``column`` is at most ``cut``, or is one of the codes in
    ``sets`` of the node, or is missing and ``missing_left``. Both children of a leaf are itself.
    """

    roots: IntArray
    column: IntArray
    cut: FloatArray
    missing_left: NDArray[np.bool_]
    left: IntArray
    right: IntArray
    value: FloatArray
    sets: Mapping[int, IntArray]

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return np.asarray(self.left == np.arange(len(self.left)))

    @property
    def tree(self) -> IntArray:
        """Number of the tree of each node."""
        return np.repeat(np.arange(len(self.roots)), np.diff([*self.roots, len(self.left)]))

    @classmethod
    def constant(cls, value: float) -> "Trees":
        """Return a tree that is one leaf."""
        zero = np.zeros(1, dtype=np.intp)
        return cls(zero, zero, np.zeros(1), zero == 1, zero, zero, np.array([value]), {})


def joined(parts: Sequence[Trees]) -> Trees:
    """Return the trees of several parts, in order."""
    sizes = [len(part.left) for part in parts]
    starts = (np.cumsum(sizes) - sizes).tolist()
    shifted = [
        part._replace(
            roots=part.roots + start,
            left=part.left + start,
            right=part.right + start,
            sets={start + node: codes for node, codes in part.sets.items()},
        )
        for part, start in zip(parts, starts, strict=True)
    ]
    names = [name for name in Trees._fields if name != "sets"]
    arrays: dict[str, Any] = {n: np.concatenate([getattr(p, n) for p in shifted]) for n in names}
    return Trees(**arrays, sets={node: codes for p in shifted for node, codes in p.sets.items()})


@dataclass(frozen=True)
class Booster:
    """A fitted booster of scikit-learn, and what replaces the codes of some columns.

    ``means`` are those of ``CategoryMeans``: what stands in a column for a missing value, for code
    0, 1, …, and for any other. A classifier has trees for each class, of which ``number`` is one.
    """

    model: HistGradientBoostingRegressor | HistGradientBoostingClassifier
    means: Mapping[int, FloatArray] = field(default_factory=dict)
    number: int = 0

    @property
    def start(self) -> float:
        """What the trees add to."""
        return float(self.model._baseline_prediction[0, self.number])

    @property
    def most_leaves(self) -> int:
        """Leaves of the largest tree."""
        return max((tree.get_n_leaf_nodes() for tree in self._predictors), default=1)

    @property
    def is_plain(self) -> bool:
        """Whether it was fitted to an array of numbers, whose categories are numbers then."""
        return not hasattr(self.model, "feature_names_in_")

    @property
    def has_numbers(self) -> bool:
        """Whether categories, if there are any, are numbers, as arrays hold them."""
        known = self._categories.values()
        return all(np.asarray(categories).dtype.kind in "biuf" for categories in known)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self._predictors)

    @property
    def is_log(self) -> bool:
        """Whether leaves add up to the logarithm of a prediction."""
        return isinstance(self.model._loss.link, LogLink)

    def predict(self, total: FloatArray) -> FloatArray:
        """Return predictions, given the sum of the leaves."""
        return np.asarray(self.model._loss.link.inverse(total))

    def holds_codes(self, column: int) -> bool:
        """Whether a column has categories, rather than numbers in order."""
        return column in self.means or column in self._categories

    def known(self, column: int, cuts: FloatArray) -> FloatArray:
        """Values of a column between which trees can distinguish: its categories, or its cuts."""
        return self._codes(column) if self.holds_codes(column) else cuts

    def transform(self, column: int, values: FloatArray) -> FloatArray:
        """Return what trees compare with their cuts and sets, for values of a column of X."""
        if column in self.means:
            return mean_of(values, self.means[column])
        if column in self._categories:
            known = self._codes(column)
            return np.where(np.isin(values, known), np.searchsorted(known, values), np.nan)
        return values

    @cached_property
    def trees(self) -> Trees:
        """All trees, in order."""
        sizes = np.array([len(tree.nodes) for tree in self._predictors], dtype=np.intp)
        if len(sizes) == 0:
            return Trees.constant(0.0)
        nodes = np.concatenate([tree.nodes for tree in self._predictors])
        roots, own = np.cumsum(sizes) - sizes, np.arange(len(nodes))
        first, is_leaf = np.repeat(roots, sizes), nodes["is_leaf"] == 1
        by_code = (nodes["is_categorical"] == 1) & ~is_leaf
        owner = np.repeat(np.arange(len(sizes)), sizes)
        sets = {
            i: _left_codes(self._predictors[owner[i]].raw_left_cat_bitsets[nodes["bitset_idx"][i]])
            for i in np.flatnonzero(by_code).tolist()
        }
        return Trees(
            roots=roots,
            column=self._order[nodes["feature_idx"]],
            cut=np.where(by_code, -np.inf, nodes["num_threshold"]),
            missing_left=nodes["missing_go_to_left"] == 1,
            left=np.where(is_leaf, own, first + nodes["left"]),
            right=np.where(is_leaf, own, first + nodes["right"]),
            value=nodes["value"],
            sets={i: codes for i, codes in sets.items() if len(codes)},  # or gaps alone go left
        )

    @property
    def _predictors(self) -> list[Any]:
        return [trees[self.number] for trees in self.model._predictors]

    @cached_property
    def _order(self) -> IntArray:
        """Column of X that trees know by each number: categories come first for them."""
        flags = self.model.is_categorical_
        if flags is None:
            return np.arange(self.model.n_features_in_)
        return np.concatenate([np.flatnonzero(flags), np.flatnonzero(~flags)])

    @cached_property
    def _categories(self) -> dict[int, FloatArray]:
        if self.model.is_categorical_ is None:
            return {}
        encoder = self.model._preprocessor.named_transformers_["encoder"]
        return dict(zip(self._order.tolist(), encoder.categories_, strict=False))

    def _codes(self, column: int) -> FloatArray:
        if column in self.means:
            return np.arange(len(self.means[column]) - 2.0)
        categories = np.asarray(self._categories[column], dtype=float)
        return categories[~np.isnan(categories)]


def _left_codes(words: NDArray[Any]) -> IntArray:
    """Return the codes of categories that go left, from words of 32 bits."""
    return np.flatnonzero((words[:, None] >> np.arange(32, dtype=words.dtype)) & 1)


ZERO = float(np.float32(1e-35))  # LightGBM takes smaller numbers, and this one, for zero
MOST = 1e300  # how LightGBM writes an infinite cut, beyond which lie missing values alone
# objectives whose trees add up to the prediction itself
PLAIN = ("quantile", "regression", "regression_l1", "huber", "fair", "mape")


@dataclass(frozen=True)
class LightBooster:
    """A fitted regressor of LightGBM, as ``Booster`` is one of scikit-learn."""

    model: Any
    start: float = 0.0
    is_log: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it was fitted to an array of numbers."""
        return self.has_numbers and not hasattr(self.model, "feature_names_in_")

    @property
    def has_numbers(self) -> bool:
        """Whether each split compares a number with a cut, and leaves add up to the prediction."""
        objective = str(self._dump.get("objective", "")).split(" ")[0]
        plain = objective in PLAIN and not self._dump["average_output"]
        return plain and all(
            node["decision_type"] == "<=" and node["missing_type"] in ("None", "NaN")
            for nodes in self._nodes
            for node in filter(_is_split, nodes)
        )

    @property
    def most_leaves(self) -> int:
        """Leaves of the largest tree."""
        return max((tree["num_leaves"] for tree in self._dump["tree_info"]), default=1)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self._dump["tree_info"])

    def predict(self, total: FloatArray) -> FloatArray:
        """Return predictions, given the sum of the leaves."""
        return total

    def holds_codes(self, column: int) -> bool:
        """Whether a column has categories, rather than numbers in order."""
        return False

    def known(self, column: int, cuts: FloatArray) -> FloatArray:
        """Values of a column between which trees can distinguish: cuts, and the ends of zero."""
        return np.concatenate([cuts, [np.nextafter(-ZERO, -1), ZERO]])

    def transform(self, column: int, values: FloatArray) -> FloatArray:
        """Return what trees compare with their cuts: values, the smallest ones as zero."""
        return np.where(np.abs(values) <= ZERO, 0.0, values)

    @cached_property
    def trees(self) -> Trees:
        """All trees, in order."""
        return joined([*map(_lightgbm_tree, self._nodes)] or [Trees.constant(0.0)])

    @cached_property
    def _dump(self) -> dict[str, Any]:
        return dict(self.model.booster_.dump_model())

    @cached_property
    def _nodes(self) -> list[list[dict[str, Any]]]:
        """Nodes of each tree, level by level."""
        trees = [[tree["tree_structure"]] for tree in self._dump["tree_info"]]
        for nodes in trees:
            for node in nodes:  # which grows
                nodes += [node["left_child"], node["right_child"]] if _is_split(node) else []
        return trees


def _is_split(node: Mapping[str, Any]) -> bool:
    return "split_feature" in node


def _lightgbm_tree(nodes: Sequence[Mapping[str, Any]]) -> Trees:
    is_split = np.array([_is_split(node) for node in nodes])
    own = np.arange(len(nodes))
    right = np.where(is_split, 2 * np.cumsum(is_split), own)  # children in the order of parents
    empty: dict[str, Any] = {
        "split_feature": 0,
        "threshold": 0.0,
        "missing_type": "None",
        "leaf_value": 0.0,
    }
    whole = [{**empty, **node} for node in nodes]
    cut = np.array([float(node["threshold"]) for node in whole])
    cut = np.where(np.abs(cut) < MOST, cut, np.copysign(np.inf, cut))
    default = np.array([node.get("default_left", False) for node in whole], dtype=bool)
    as_zero = np.array([node["missing_type"] == "None" for node in whole])  # none was missing
    return Trees(
        roots=np.zeros(1, dtype=np.intp),
        column=np.array([node["split_feature"] for node in whole]),
        cut=cut,
        missing_left=np.where(as_zero, cut >= 0.0, default),
        left=np.where(is_split, right - 1, own),
        right=right,
        value=np.array([node["leaf_value"] for node in whole]),
        sets={},
    )


AnyBooster = Booster | LightBooster
# Multiplied by a power of two, the topmost bits of each of these show which power it was.
DE_BRUIJN = {8: 0x17, 16: 0x09AF, 32: 0x077CB531, 64: 0x03F79D71B4CB0A89}
MOST_LEAVES = max(DE_BRUIJN)
MOST_BYTES = 2**27  # of all tables: a column may have a category for every other row
ROWS = 256  # at a time: they stay in the cache


@dataclass(frozen=True)
class Column:
    """Numbers for the values of a column between which trees can distinguish.

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
        codes = self.known.searchsorted(values)
        if self.holds_codes:
            codes[self.known.take(codes, mode="clip") != values] = len(self.known)
        codes[np.isnan(values)] = len(self.known) + 1
        return codes


def numbered_columns(boosters: Sequence[AnyBooster]) -> dict[int, Column]:
    """Columns that some booster splits."""
    known: dict[int, list[FloatArray]] = {}
    for booster in boosters:
        inner = ~booster.trees.is_leaf
        column, cut = booster.trees.column[inner], booster.trees.cut[inner]
        for i in np.unique(column).tolist():
            known.setdefault(i, []).append(booster.known(i, cut[column == i]))
    return {
        i: Column(np.unique(np.concatenate(values)), boosters[0].holds_codes(i))
        for i, values in known.items()
    }


def tree_tables(boosters: Sequence[AnyBooster]) -> "TreeTables | None":
    """Tables of all trees; None where there can be none, or they would gain nothing."""
    if not all(b.is_plain and b.most_leaves <= MOST_LEAVES for b in boosters):
        return None
    columns, n_trees = numbered_columns(boosters), sum(booster.n_trees for booster in boosters)
    per_row = sum(b.n_trees * word_width(b.most_leaves) // 8 for b in boosters)
    n_bytes = per_row * sum(len(column.samples) for column in columns.values())
    # to number the values of a column takes about as long as to pass through a tree
    fit = len(columns) <= n_trees and n_bytes <= MOST_BYTES
    return TreeTables(boosters, columns) if fit else None


class TreeTables:
    """Predictions of several boosters: theirs to the last bit, several times as fast.

    Parameters
    ----------
    boosters : sequence of Booster or LightBooster
        Of one library, fitted to arrays with the same columns of categories, and with no tree of
        more than 64 leaves.
    columns : mapping of int to Column, default=None
        Those that boosters split, if they are known already.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=5).fit(X, X[:, 0] ** 2)
    >>> bool((TreeTables([Booster(model)]).predict(X)[0] == model.predict(X)).all())
    True
    """

    def __init__(
        self, boosters: Sequence[AnyBooster], columns: Mapping[int, Column] | None = None
    ) -> None:
        self.boosters = boosters
        self.columns = numbered_columns(boosters) if columns is None else columns
        widths = [word_width(booster.most_leaves) for booster in boosters]
        owners = {bits: [k for k, own in enumerate(widths) if own == bits] for bits in {*widths}}
        self.words = [WordTables(boosters, own, self.columns, bits) for bits, own in owners.items()]

    def predict(self, X: NDArray[Any]) -> list[FloatArray]:
        """Prediction of each booster, one number per row."""
        totals = np.empty((len(self.boosters), len(X)))
        for rows in batches(len(X), ROWS):
            block = np.asarray(X[rows], dtype=float)
            codes = {i: column.codes(block[:, i]) for i, column in self.columns.items()}
            for words in self.words:
                totals[words.owners, rows] = words.sums(codes, len(block)).T
        return [b.predict(total) for b, total in zip(self.boosters, totals, strict=True)]


class WordTables:
    """Tables of the boosters ``owners``, with a word of ``bits`` for the leaves of each tree."""

    def __init__(
        self,
        boosters: Sequence[AnyBooster],
        owners: Sequence[int],
        columns: Mapping[int, Column],
        bits: int,
    ) -> None:
        self.owners = owners
        own = [boosters[k] for k in owners]
        # The start is a tree too: numbers are added up in the order of scikit-learn.
        parts = [joined([Trees.constant(b.start), b.trees]) for b in own]
        trees, kind = joined(parts), np.dtype(f"u{bits // 8}")
        counts = [len(part.roots) for part in parts]
        self.ends = np.append(0, np.cumsum(counts)).astype(np.int32)
        bit, leaves = _leaf_sets(trees, kind)
        lane, is_leaf = trees.tree, trees.is_leaf
        self.open = leaves[trees.roots]
        self.first = (np.arange(len(trees.roots)) * bits).astype(np.int32)
        self.values = np.zeros(len(trees.roots) * bits)
        self.values[(self.first[lane] + which_bit(bit))[is_leaf]] = trees.value[is_leaf]
        owner = np.repeat(np.arange(len(own)), counts)[lane]
        self.tables: dict[int, NDArray[Any]] = {}
        for i, column in columns.items():
            nodes = np.flatnonzero((trees.column == i) & ~is_leaf)
            if len(nodes) == 0:
                continue
            several = own if column.holds_codes else own[:1]  # numbers are the same to all
            values = np.array([booster.transform(i, column.samples) for booster in several])
            goes_left = _goes_left(trees, nodes, values[owner[nodes] if len(values) > 1 else [0]])
            sides = ~leaves[trees.right[nodes], None], ~leaves[trees.left[nodes], None]
            first = np.flatnonzero(np.diff(lane[nodes], prepend=-1))
            left_open = np.bitwise_and.reduceat(np.where(goes_left, *sides), first, axis=0)
            table = np.tile(self.open, (len(column.samples), 1))
            table[:, lane[nodes[first]]] &= left_open.T
            self.tables[i] = table

    def sums(self, codes: Mapping[int, IntArray], n: int) -> FloatArray:
        """Sum of the leaves of each row and booster, in the order of its trees."""
        words = np.tile(self.open, (n, 1))
        buffer = np.empty_like(words)
        for i, table in self.tables.items():
            table.take(codes[i], axis=0, out=buffer, mode="clip")  # without a copy
            words &= buffer
        leaves = which_bit(words) + self.first
        starts = np.arange(n, dtype=np.int32)[:, None] * self.ends[-1] + self.ends[:-1]
        # a matrix that picks leaves: a product with it adds them up one by one
        picks = csr_array(
            (np.ones(leaves.size), leaves.ravel(), np.append(starts, leaves.size).astype(np.int32)),
            shape=(starts.size, len(self.values)),
        )
        return (picks @ self.values).reshape(starts.shape)


def word_width(n_leaves: int) -> int:
    """Least number of bits, of those a word may have, that hold a tree."""
    return next(bits for bits in DE_BRUIJN if bits >= n_leaves)


def _leaf_sets(trees: Trees, kind: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bit of each leaf in its tree, and all leaves below each node as bits."""
    is_leaf = trees.is_leaf
    count: IntArray = np.cumsum(is_leaf) - is_leaf
    rank: IntArray = count - count[trees.roots][trees.tree]
    bit = np.where(is_leaf, kind.type(1) << rank.astype(kind), kind.type(0))
    levels = [trees.roots]
    while len(inner := levels[-1][~is_leaf[levels[-1]]]):
        levels[-1] = inner
        levels.append(np.concatenate([trees.left[inner], trees.right[inner]]))
    leaves = bit.copy()
    for nodes in levels[-2::-1]:
        leaves[nodes] = leaves[trees.left[nodes]] | leaves[trees.right[nodes]]
    return bit, leaves


def _goes_left(trees: Trees, nodes: IntArray, values: FloatArray) -> NDArray[np.bool_]:
    """Whether values go left at each of the nodes, which have a row of them each or share one."""
    left = values <= trees.cut[nodes, None]
    for row, node in enumerate(nodes.tolist()) if trees.sets else ():
        if node in trees.sets:
            left[row] = np.isin(values[row % len(values)], trees.sets[node])
    return np.where(np.isnan(values), trees.missing_left[nodes, None], left)


def which_bit(words: NDArray[Any]) -> NDArray[np.int32]:
    """Return a number below the word's width, another for each bit that may be set.

    Examples
    --------
    >>> sorted(which_bit(np.array([1, 2, 4, 8, 16, 32, 64, 128], dtype=np.uint8)).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    kind, bits = words.dtype.type, words.dtype.itemsize * 8
    topmost = words * kind(DE_BRUIJN[bits]) >> kind(bits + 1 - bits.bit_length())
    return topmost.astype(np.int32)
