"""Fitted partitions: the interval a row falls into, or its memberships of all groups."""

import sys
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from plcp.indices.trees import Booster, Branches
from plcp.onnx.forests import Grown, check_numbers, forest, predictions
from plcp.onnx.graph import Graph
from plcp.onnx.refusal import refused
from plcp.onnx.rows import Rows
from plcp.partitions import ClassifierPartition, SoftmaxPartition, TreePartition
from plcp.partitions.base import ROUNDING
from plcp.partitions.crossfit import CrossFittedPartition
from plcp.quantiles import FloatArray, IntArray


def interval(graph: Graph, index: str, cuts: FloatArray) -> str:
    """Number of cuts below each value of an index, whole numbers (n,)."""
    below = graph.add("Greater", index, graph.constant(cuts[None, :]))
    total = graph.reduce("ReduceSum", graph.cast(below, "int64"))
    return graph.flat(total)


def memberships(rows: Rows, partition: Any) -> str:
    """Memberships h(x) of all groups, (n, n_groups_)."""
    kind, graph = type(partition), rows.graph
    if kind is CrossFittedPartition:
        found = [
            joined(graph, memberships(rows, part), owner, partition.n_groups_)
            for part, owner in zip(partition.partitions_, partition._owners, strict=True)
        ]
        total = graph.add("Sum", *found)
        return graph.add("Div", total, graph.constant(float(len(found))))
    if kind is SoftmaxPartition:
        raw = _softmax_of_line(rows, partition)
    elif kind is TreePartition:
        return _leaves(rows, partition)
    elif kind is ClassifierPartition:
        return _classes(rows, partition)
    elif is_torch_partition(partition):
        from plcp.onnx.networks import network_outputs

        raw = graph.add("Softmax", network_outputs(rows, partition), axis=1)
    else:
        raise refused(
            partition,
            "its kind is not known here",
            "use one of plcp.partitions, or serve the rule from Python",
        )
    return joined(graph, raw, partition._group_of, partition.n_groups_)


def joined(graph: Graph, table: str, owner: IntArray, n_groups: int) -> str:
    """Memberships of merged groups: the sum of those that became one."""
    return graph.line(table, np.eye(n_groups)[owner])


def likeliest(graph: Graph, table: str) -> str:
    """Likeliest group of each row, whole numbers (n,); of several, the middle one."""
    top = graph.reduce("ReduceMax", table)
    least = graph.add("Sub", top, graph.constant(ROUNDING))
    tied = graph.cast(graph.add("GreaterOrEqual", table, least), "double")
    half = graph.add("Mul", graph.reduce("ReduceSum", tied), graph.constant(0.5))
    passed = graph.add("CumSum", tied, graph.constant(np.array(1)))
    beyond = graph.cast(graph.add("Greater", passed, graph.add("Floor", half)), "float")
    return graph.add("ArgMax", beyond, axis=1, keepdims=0)


def is_torch_partition(partition: Any) -> bool:
    """Whether this is a network of ours; whoever has one has imported torch already."""
    torch = sys.modules.get("plcp.partitions.torch")
    return torch is not None and type(partition) is torch.TorchPartition


def _softmax_of_line(rows: Rows, partition: SoftmaxPartition) -> str:
    graph = rows.graph
    graph.sums = True
    centred = graph.add("Sum", rows.numbers(partition), graph.constant(-partition._center))
    scaled = graph.add("Div", centred, graph.constant(partition._spread))
    logits = graph.line(scaled, partition._weights[:-1], partition._weights[-1])
    return graph.add("Softmax", logits, axis=1)


def _leaves(rows: Rows, partition: TreePartition) -> str:
    graph, tree = rows.graph, partition.tree_.tree_
    table = rows.encoded(partition.encoder_).numbers(partition)
    single = graph.cast(graph.cast(table, "float"), "double")  # as the tree sees it
    is_leaf = tree.children_left < 0
    branches = Branches(
        column=np.maximum(tree.feature, 0),
        cut=tree.threshold,
        gaps_left=tree.missing_go_to_left == 1,
        left=np.maximum(tree.children_left, 0),
        right=np.maximum(tree.children_right, 0),
        is_leaf=is_leaf,
        value=np.ones(len(is_leaf)),
        sets={},
    )
    outputs = np.zeros(len(is_leaf), dtype=np.intp)
    outputs[partition.leaves_] = partition._group_of
    grown = Grown(branches, outputs, branches.value)
    return forest(graph, single, [grown], partition.n_groups_)


def _classes(rows: Rows, partition: ClassifierPartition) -> str:
    """One for the group of the likeliest class, as the default classifier tells it."""
    graph, model = rows.graph, partition.classifier_
    if isinstance(model, int):  # a lone group
        known = np.eye(partition.n_groups_)[[partition._group_of[model]]]
        return graph.add("Sum", graph.constant_like(rows.column(0), 0.0), graph.constant(known))
    if type(model) is not HistGradientBoostingClassifier:
        raise refused(
            model,
            "of classifiers only HistGradientBoostingClassifier is known here",
            "use that, or OrderedPartition",
        )
    boosters = [Booster(model, number=i) for i in range(model.n_trees_per_iteration_)]
    check_numbers(boosters)
    (raw,) = predictions(graph, rows.numbers(model), rows.width, [boosters])
    if len(boosters) == 1:  # the sign tells two classes apart
        raw = graph.side_by_side([graph.constant_like(raw, 0.0), raw])
    likeliest_class = graph.add("ArgMax", raw, axis=1, keepdims=0)
    groups = partition._group_of[model.classes_]
    return graph.look_up(np.eye(partition.n_groups_)[groups], likeliest_class)
