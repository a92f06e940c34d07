"""Decision trees of scikit-learn, alone and in forests, whose branches are checked first.

Its compiled code follows a tree wherever it leads, and into any column. So a tree is written with
the estimator that checks the rows for it, and never apart.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.tree._tree import NODE_DTYPE, Tree

from plcp.storage.kinds import Kind
from plcp.storage.objects import check_attributes, dump_state, load_state
from plcp.storage.reader import Reader
from plcp.storage.writer import Writer

TREE_CLASSES = {
    cls.__name__: cls
    for cls in (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreeClassifier,
        ExtraTreeRegressor,
    )
}
TREE = "tree_"
CHILDREN = ("left_child", "right_child")
LEAF = -1  # in place of a child
SHALLOW = 64  # levels: of most trees, counted level by level


def _dump(value: Any, writer: Writer) -> list[Any]:
    """Class, attributes and tree, if it has one: sizes, nodes and values."""
    writer.packages.add("scikit-learn")
    state = dict(vars(value))
    tree = state.pop(TREE, None)
    return [type(value).__name__, dump_state(state, writer), _dump_tree(tree, writer)]


def _dump_tree(tree: Any, writer: Writer) -> list[Any] | None:
    if tree is None:
        return None
    _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
    fields = {name: np.ascontiguousarray(state["nodes"][name]) for name in NODE_DTYPE.names}
    sizes = (n_features, n_classes.tolist(), n_outputs, state["max_depth"])
    return [*sizes, writer.value(fields, ".nodes"), writer.value(state["values"], ".values")]


def _load(content: Any, reader: Reader) -> Any:
    name, told, tree = content
    cls, state = TREE_CLASSES[name], load_state(told, reader)
    check_attributes(cls, state)
    made = object.__new__(cls)
    vars(made).update(state)
    if TREE in state:
        raise ValueError("a decision tree stands apart from its estimator")
    if tree is not None:
        made.tree_ = _load_tree(tree, reader)
        _check_sizes(made.tree_, state)
    return made


def _load_tree(content: Any, reader: Reader) -> Any:
    n_features, n_classes, n_outputs, max_depth, *told = content
    fields, values = (reader.value(part) for part in told)
    if type(values) is not np.ndarray or values.dtype != np.float64 or values.ndim != 3:
        raise ValueError("the values of a decision tree are not those of its classes")
    reader.spend(2 * NODE_DTYPE.itemsize * len(values))
    nodes = np.zeros(len(values), dtype=NODE_DTYPE)
    for name in NODE_DTYPE.names:
        nodes[name] = fields[name]
    counts = np.array(n_classes, dtype=np.intp)
    if counts.shape != (n_outputs,) or values.shape[1:] != (n_outputs, counts.max(initial=0)):
        raise ValueError("the values of a decision tree are not those of its classes")
    if counts.min() < 1 or not _leads_on(nodes, n_features) or _depth(nodes) != max_depth:
        raise ValueError("a decision tree leads nowhere")
    tree = Tree(n_features, counts, n_outputs)
    tree.__setstate__(
        {"max_depth": max_depth, "node_count": len(nodes), "nodes": nodes, "values": values}
    )
    return tree


def _check_sizes(tree: Any, state: dict[str, Any]) -> None:
    """Refuse a tree for other rows than its estimator lets through, or of other classes."""
    if (tree.n_features, tree.n_outputs) != (state.get("n_features_in_"), state.get("n_outputs_")):
        raise ValueError("a decision tree is for other columns than its estimator")
    if "n_classes_" in state and not np.array_equal(
        np.atleast_1d(state["n_classes_"]), tree.n_classes
    ):
        raise ValueError("a decision tree has other classes than its estimator")


def _leads_on(nodes: NDArray[Any], n_features: int) -> bool:
    """Whether each branch asks about a column that is there, and goes on to nodes behind it."""
    inner = nodes["left_child"] != LEAF
    places = np.arange(len(nodes))
    sides = ((nodes[side] > places) & (nodes[side] < len(nodes)) for side in CHILDREN)
    known = (nodes["feature"] >= 0) & (nodes["feature"] < n_features)
    return len(nodes) > 0 and bool(np.logical_and.reduce([known, *sides])[inner].all())


def _depth(nodes: NDArray[Any]) -> int:
    """Length of the longest way down, for which scikit-learn makes room."""
    level, depth = np.zeros(1, dtype=np.intp), 0
    while len(level := level[nodes["left_child"][level] != LEAF]):
        level = np.unique(np.concatenate([nodes[side][level] for side in CHILDREN]))
        depth += 1
        if depth > SHALLOW:
            return _depth_by_node(nodes)
    return depth


def _depth_by_node(nodes: NDArray[Any]) -> int:
    """The same in one pass, for a tree of many levels; children come after their parents."""
    depths = [0] * len(nodes)
    left, right = (nodes[side].tolist() for side in CHILDREN)
    for own, sides in enumerate(zip(left, right, strict=True)):
        for child in sides if sides[0] != LEAF else ():
            depths[child] = max(depths[child], depths[own] + 1)
    return max(depths)


KINDS = (Kind("decision_tree", lambda v: type(v) in TREE_CLASSES.values(), _dump, _load),)
