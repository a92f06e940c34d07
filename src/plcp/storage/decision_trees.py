"""Decision trees of scikit-learn, alone and in forests, whose branches are looked at first.

Its compiled code follows a tree wherever it leads, so that skops trusts none of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree._tree import NODE_DTYPE, Tree

from plcp.storage.kinds import Kind
from plcp.storage.reader import Reader
from plcp.storage.writer import Writer

CHILDREN = ("left_child", "right_child")
LEAF = -1  # in place of a child


def _dump(tree: Any, writer: Writer) -> list[Any]:
    writer.packages.add("scikit-learn")
    _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
    fields = {name: np.ascontiguousarray(state["nodes"][name]) for name in NODE_DTYPE.names}
    sizes = (n_features, n_classes.tolist(), n_outputs, state["max_depth"])
    return [*sizes, writer.value(fields, ".nodes"), writer.value(state["values"], ".values")]


def _load(content: Any, reader: Reader) -> Any:
    n_features, n_classes, n_outputs, max_depth, *told = content
    fields, values = (reader.value(part) for part in told)
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


def _leads_on(nodes: NDArray[Any], n_features: int) -> bool:
    """Whether each branch asks about a column that is there, and goes on to nodes behind it."""
    inner = nodes["left_child"] != LEAF
    places = np.arange(len(nodes))
    sides = ((nodes[side] > places) & (nodes[side] < len(nodes)) for side in CHILDREN)
    known = (nodes["feature"] >= 0) & (nodes["feature"] < n_features)
    return len(nodes) > 0 and bool(np.logical_and.reduce([known, *sides])[inner].all())


def _depth(nodes: NDArray[Any]) -> int:
    """Length of the longest way down, for which scikit-learn makes room as it is told."""
    level, depth = np.zeros(1, dtype=np.intp), 0
    while len(level := level[nodes["left_child"][level] != LEAF]):
        level = np.unique(np.concatenate([nodes[side][level] for side in CHILDREN]))
        depth += 1
    return depth


def check_trees(made: Any) -> None:
    """Refuse a model whose trees were made for other rows than those that it lets through."""
    state = vars(made)
    tree, members = state.get("tree_"), state.get("estimators_", [])
    n = state.get("n_features_in_")
    if isinstance(tree, Tree) and (tree.n_features, tree.n_outputs) != (n, state["n_outputs_"]):
        raise ValueError("a decision tree asks about other columns than its model has")
    if any(isinstance(vars(m).get("tree_"), Tree) and m.n_features_in_ != n for m in members):
        raise ValueError("the trees of a forest ask about other columns than it has")
    if "n_outputs_" in state and not all(_answers_alike(state, vars(m)) for m in members):
        raise ValueError("the trees of a forest have other classes than it has")


def _answers_alike(forest: dict[str, Any], member: dict[str, Any]) -> bool:
    """Whether a tree answers as widely as its forest, which makes room for as much as it says."""
    both = [name for name in ("n_outputs_", "n_classes_") if name in forest and name in member]
    return all(np.array_equal(forest[name], member[name]) for name in both)


KINDS = (Kind("tree", lambda value: type(value) is Tree, _dump, _load),)
