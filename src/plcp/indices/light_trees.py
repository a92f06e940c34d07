"""What a model of LightGBM is made of: the one place that knows it from inside."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.indices.trees import Branches, Split, Tree
from plcp.quantiles import FloatArray

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
    splits.append(Split(column, _goes_left(node, samples[column]), left, right))
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
        gaps_left=np.array([_goes_left(node, gap)[0] for node in asked], dtype=bool),
        left=left,
        right=right,
        is_leaf=left == 0,
        value=np.array([node.get("leaf_value", 0.0) for node in nodes]),
        sets={},
    )


def _goes_left(node: dict[str, Any], values: FloatArray) -> NDArray[np.bool_]:
    missing = np.isnan(values)
    values = np.where(np.abs(values) <= ZERO, 0.0, values)
    if node["missing_type"] == "None":  # no gap was seen: one counts as zero
        return np.where(missing, 0.0, values) <= _cut(node)
    return np.where(missing, node["default_left"], values <= _cut(node))


def _cut(node: dict[str, Any]) -> float:
    told = float(node["threshold"])
    return told if abs(told) < MOST else np.copysign(np.inf, told)
