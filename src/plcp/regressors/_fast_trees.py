"""Trees of fitted boosters as tables: one row or many pass through all of them at once."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn._loss.link import LogLink
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils import gen_batches

from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.encoding import mean_of


class Split(NamedTuple):
    """A question about one column, and the leaves, as bits, on either side of it."""

    column: int
    goes_left: NDArray[np.bool_]
    left: int
    right: int


class Tree(NamedTuple):
    """Values of the leaves, and all splits above them."""

    leaves: list[float]
    splits: list[Split]


class Branches(NamedTuple):
    """A tree as arrays with an entry for each node, the root first.

    A row goes left where its column is at or below the cut, or is one of the codes in ``sets`` of
    the node, or is missing and gaps go left.
    """

    column: IntArray
    cut: FloatArray
    gaps_left: NDArray[np.bool_]
    left: IntArray
    right: IntArray
    is_leaf: NDArray[np.bool_]
    value: FloatArray
    sets: Mapping[int, IntArray]


@dataclass(frozen=True)
class Booster:
    """A fitted booster, and what it is given in place of the codes of some columns.

    ``means`` are those of ``CategoryMeans``: what stands in a column for a missing value, for code
    0, 1, …, and for any other. Of a classifier, which has trees for each class, ``number`` is that
    of the class.
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
        """Whether it was fitted to an array of numbers, as ``known`` takes for granted."""
        return not hasattr(self.model, "feature_names_in_")

    @property
    def has_numbers(self) -> bool:
        """Whether categories, if there are any, are known by numbers, as arrays hold them."""
        known = self._categories.values()
        return all(np.asarray(categories).dtype.kind in "biuf" for categories in known)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self._predictors)

    def predict(self, total: FloatArray) -> FloatArray:
        """Return predictions, given what the leaves add up to."""
        return np.asarray(self.model._loss.link.inverse(total))

    def holds_codes(self, column: int) -> bool:
        """Whether a column has categories, rather than numbers in order."""
        return column in self.means or column in self._categories

    def codes(self) -> dict[int, FloatArray]:
        """Codes of each column that has categories."""
        return {column: self._codes(column) for column in {**self.means, **self._categories}}

    def known(self) -> dict[int, FloatArray]:
        """Values that tell rows apart, in each column that is asked about: categories or cuts."""
        cuts: dict[int, list[FloatArray]] = {}
        for tree in self._predictors:
            inner = tree.nodes[tree.nodes["is_leaf"] == 0]
            for place in np.unique(inner["feature_idx"]):
                own = inner["num_threshold"][inner["feature_idx"] == place]
                cuts.setdefault(int(self._order[place]), []).append(own)
        return {
            column: self._codes(column) if self.holds_codes(column) else np.concatenate(found)
            for column, found in cuts.items()
        }

    def trees(self, samples: Mapping[int, FloatArray]) -> Iterator[Tree]:
        """Trees in order, with the side that each of the ``samples`` of a column takes."""
        seen = {column: self.seen(column, values) for column, values in samples.items()}
        for tree in self._predictors:
            leaves: list[float] = []
            splits: list[Split] = []
            self._walk(tree, 0, seen, leaves, splits)
            yield Tree(leaves, splits)

    def branches(self) -> Iterator[Branches]:
        """Trees in order, as they ask about ``seen`` values of the columns of X."""
        for tree in self._predictors:
            nodes = tree.nodes
            by_code = (nodes["is_categorical"] == 1) & (nodes["is_leaf"] == 0)
            places = np.flatnonzero(by_code).tolist()
            sets = {i: np.flatnonzero(_left_bits(tree, nodes[i])) for i in places}
            yield Branches(
                column=self._order[nodes["feature_idx"]],
                cut=np.where(by_code, -np.inf, nodes["num_threshold"]),
                gaps_left=nodes["missing_go_to_left"] == 1,
                left=nodes["left"].astype(np.intp),
                right=nodes["right"].astype(np.intp),
                is_leaf=nodes["is_leaf"] == 1,
                value=nodes["value"],
                sets={i: codes for i, codes in sets.items() if len(codes)},  # or gaps alone go left
            )

    @property
    def is_log(self) -> bool:
        """Whether leaves add up to the logarithm of a prediction."""
        return isinstance(self.model._loss.link, LogLink)

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

    def seen(self, column: int, values: FloatArray) -> FloatArray:
        """What trees see of values of a column of X."""
        if column in self.means:
            return mean_of(values, self.means[column])
        if column in self._categories:
            known = self._codes(column)
            return np.where(np.isin(values, known), np.searchsorted(known, values), np.nan)
        return values

    def _walk(
        self,
        tree: Any,
        place: int,
        seen: Mapping[int, FloatArray],
        leaves: list[float],
        splits: list[Split],
    ) -> int:
        """Note leaves and splits below a node; return its leaves as bits."""
        node = tree.nodes[place]
        if node["is_leaf"]:
            leaves.append(float(node["value"]))
            return 1 << (len(leaves) - 1)
        left = self._walk(tree, node["left"], seen, leaves, splits)
        right = self._walk(tree, node["right"], seen, leaves, splits)
        column = int(self._order[node["feature_idx"]])
        splits.append(Split(column, _goes_left(tree, node, seen[column]), left, right))
        return left | right


def _goes_left(tree: Any, node: Any, values: FloatArray) -> NDArray[np.bool_]:
    missing = np.isnan(values)
    if node["is_categorical"]:
        left = _left_bits(tree, node)[np.where(missing, 0, values).astype(np.intp)] == 1
    else:
        left = values <= node["num_threshold"]
    return np.where(missing, node["missing_go_to_left"] == 1, left)


def _left_bits(tree: Any, node: Any) -> NDArray[Any]:
    """Whether each code of a category goes left."""
    words = tree.raw_left_cat_bitsets[node["bitset_idx"]]
    return (words[:, None] >> np.arange(32, dtype=words.dtype)).ravel() & 1


ZERO = float(np.float32(1e-35))  # LightGBM takes smaller numbers, and this one, for zero
MOST = 1e300  # what an infinite cut is told as: one that only gaps lie beyond
# objectives whose trees add up to the prediction itself
PLAIN = ("quantile", "regression", "regression_l1", "huber", "fair", "mape")


def is_light(model: Any) -> bool:
    """Whether this is a regressor of LightGBM; whoever has one has imported it already."""
    lightgbm = sys.modules.get("lightgbm")
    return lightgbm is not None and type(model) is lightgbm.LGBMRegressor


@dataclass(frozen=True)
class LightBooster:
    """A fitted regressor of LightGBM, as ``Booster`` is one of scikit-learn."""

    model: Any
    start: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether it was fitted to an array of numbers."""
        return self.has_numbers and not hasattr(self.model, "feature_names_in_")

    @property
    def has_numbers(self) -> bool:
        """Whether all it asks is on which side of a cut a number lies, or a gap."""
        told = self._told
        objective = str(told.get("objective", "")).split(" ")[0]
        return objective in PLAIN and not told["average_output"] and all(map(_asks, self._nodes))

    @property
    def most_leaves(self) -> int:
        """Leaves of the largest tree."""
        return max((tree["num_leaves"] for tree in self._told["tree_info"]), default=1)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self._told["tree_info"])

    def predict(self, total: FloatArray) -> FloatArray:
        """Return predictions, given what the leaves add up to."""
        return total

    def holds_codes(self, column: int) -> bool:
        """Whether a column has categories, rather than numbers in order."""
        return False

    def known(self) -> dict[int, FloatArray]:
        """Cuts in each column that is asked about."""
        cuts: dict[int, list[float]] = {}
        for node in self._nodes:
            ends = [np.nextafter(-ZERO, -1), ZERO]  # of what counts as zero
            cuts.setdefault(node["split_feature"], ends).append(_cut(node))
        return {column: np.array(found) for column, found in cuts.items()}

    def trees(self, samples: Mapping[int, FloatArray]) -> Iterator[Tree]:
        """Trees in order, with the side that each of the ``samples`` of a column takes."""
        for tree in self._told["tree_info"]:
            leaves: list[float] = []
            splits: list[Split] = []
            _walk(tree["tree_structure"], samples, leaves, splits)
            yield Tree(leaves, splits)

    def branches(self) -> Iterator[Branches]:
        """Trees in order; what counts as zero must be zero in the columns they ask about."""
        for tree in self._told["tree_info"]:
            yield _branches(tree["tree_structure"])

    @property
    def is_log(self) -> bool:
        """Whether leaves add up to the logarithm of a prediction: never, for plain objectives."""
        return False

    @cached_property
    def _told(self) -> dict[str, Any]:
        return dict(self.model.booster_.dump_model())

    @cached_property
    def _nodes(self) -> list[dict[str, Any]]:
        """All questions of all trees."""
        found, left = [], [tree["tree_structure"] for tree in self._told["tree_info"]]
        while left:
            node = left.pop()
            if "split_feature" in node:
                found.append(node)
                left += [node["left_child"], node["right_child"]]
        return found


def _asks(node: dict[str, Any]) -> bool:
    return node["decision_type"] == "<=" and node["missing_type"] in ("None", "NaN")


def _walk(
    node: dict[str, Any],
    samples: Mapping[int, FloatArray],
    leaves: list[float],
    splits: list[Split],
) -> int:
    """Note leaves and splits below a node; return its leaves as bits."""
    if "split_feature" not in node:
        leaves.append(node["leaf_value"])
        return 1 << (len(leaves) - 1)
    left = _walk(node["left_child"], samples, leaves, splits)
    right = _walk(node["right_child"], samples, leaves, splits)
    column = node["split_feature"]
    splits.append(Split(column, _lightgbm_goes_left(node, samples[column]), left, right))
    return left | right


def _branches(root: dict[str, Any]) -> Branches:
    nodes, children = [root], []
    for node in nodes:  # which grows: children come after all that are known
        asks = "split_feature" in node
        children.append((len(nodes), len(nodes) + 1) if asks else (0, 0))
        nodes += [node["left_child"], node["right_child"]] if asks else []
    left, right = np.array(children, dtype=np.intp).T
    gap, leaf = np.array([np.nan]), {"split_feature": 0, "threshold": 0.0, "missing_type": "None"}
    asked = [leaf | node for node in nodes]
    return Branches(
        column=np.array([node["split_feature"] for node in asked]),
        cut=np.array([_cut(node) for node in asked]),
        gaps_left=np.array([_lightgbm_goes_left(node, gap)[0] for node in asked], dtype=bool),
        left=left,
        right=right,
        is_leaf=left == 0,
        value=np.array([node.get("leaf_value", 0.0) for node in nodes]),
        sets={},
    )


def _lightgbm_goes_left(node: dict[str, Any], values: FloatArray) -> NDArray[np.bool_]:
    missing = np.isnan(values)
    values = np.where(np.abs(values) <= ZERO, 0.0, values)
    if node["missing_type"] == "None":  # no gap was seen: one counts as zero
        return np.where(missing, 0.0, values) <= _cut(node)
    return np.where(missing, node["default_left"], values <= _cut(node))


def _cut(node: dict[str, Any]) -> float:
    told = float(node["threshold"])
    return told if abs(told) < MOST else np.copysign(np.inf, told)


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
    >>> from plcp.regressors._fast_trees import Booster
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
