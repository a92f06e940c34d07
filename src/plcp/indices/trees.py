"""What a fitted histogram booster is made of: the one place that knows it from inside."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn._loss.link import LogLink
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from plcp.indices.category_means import mean_of
from plcp.quantiles import FloatArray, IntArray


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
