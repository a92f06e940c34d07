"""Fitted partitions, scores and threshold rules as graphs."""

import sys
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from plcp._validation import LARGEST_FEATURE, takes_nan
from plcp.exceptions import NotExportableError
from plcp.models import MeanScalePair, QuantilePair
from plcp.onnx.graph import Graph, Rows, labels_of, place_of, refused
from plcp.onnx.regressors import check_numbers, forest, predictions, regressor
from plcp.partitions import ClassifierPartition, OrderedPartition, SoftmaxPartition, TreePartition
from plcp.partitions.base import ROUNDING
from plcp.partitions.crossfit import CrossFittedPartition
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors._fast_trees import Booster, Trees
from plcp.scores import AbsoluteResidual, NormalizedResidual, QuantileResidual, SignedResidual
from plcp.thresholds import PLCP, Mondrian, Rectified, SplitConformal
from plcp.thresholds.base import check_alphas, fitted_at_several


def interval(graph: Graph, regressor: str, cuts: FloatArray) -> str:
    """Number of cuts below each value of a regressor, whole numbers (n,)."""
    below = graph.add("Greater", regressor, graph.constant(cuts[None, :]))
    total = graph.reduce("ReduceSum", graph.cast(below, "int64"))
    return graph.flat(total)


def memberships(rows: Rows, partition: Any) -> str:
    """Memberships h(x) of all groups, (n, n_groups_)."""
    kind, graph = type(partition), rows.graph
    if kind is CrossFittedPartition:
        found = [
            joined(graph, memberships(rows, part), group_of, partition.n_groups_)
            for part, group_of in zip(partition.partitions_, partition._owners, strict=True)
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


def joined(graph: Graph, table: str, group_of: IntArray, n_groups: int) -> str:
    """Memberships of merged groups: the sum of those that became one."""
    return graph.line(table, np.eye(n_groups)[group_of])


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
    """Whether this is a network of ours; torch is imported already then."""
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
    own = np.arange(len(is_leaf))
    trees = Trees(
        roots=own[:1],
        column=np.maximum(tree.feature, 0),
        cut=tree.threshold,
        missing_left=tree.missing_go_to_left == 1,
        left=np.where(is_leaf, own, tree.children_left),
        right=np.where(is_leaf, own, tree.children_right),
        value=np.ones(len(is_leaf)),
        sets={},
    )
    outputs = np.zeros(len(is_leaf), dtype=np.intp)
    outputs[partition.leaves_] = partition._group_of
    return forest(graph, single, trees, outputs, partition.n_groups_)


def _classes(rows: Rows, partition: ClassifierPartition) -> str:
    """One for the group of the likeliest class, as the default classifier predicts it."""
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
    if len(boosters) == 1:  # the sign decides between two classes
        raw = graph.side_by_side([graph.constant_like(raw, 0.0), raw])
    likeliest_class = graph.add("ArgMax", raw, axis=1, keepdims=0)
    groups = partition._group_of[model.classes_]
    return graph.look_up(np.eye(partition.n_groups_)[groups], likeliest_class)


PREDICTION = "prediction"
COLUMNS: dict[type[Any], int] = {
    AbsoluteResidual: 1,
    SignedResidual: 1,
    NormalizedResidual: 2,
    QuantileResidual: 2,
}


def check_score(score: Any) -> None:
    """Refuse a score whose inverse is not known here."""
    if type(score) not in COLUMNS:
        raise refused(
            score,
            "its inverse is not known here",
            "export the rule, model.tail_rules_[0], and invert the score where you serve it",
        )


def prediction(rows: Rows, model: Any, score: Any) -> str:
    """Columns that a score reads, by the model itself or, of a kind not known, as an input."""
    columns, graph = COLUMNS[type(score)], rows.graph
    if has_graph(rows, model, columns):
        return _columns(rows, model, columns)
    if columns == 2:
        return graph.input(PREDICTION, "double", 2)
    return graph.add("Unsqueeze", graph.input(PREDICTION, "double"), graph.constant(np.array([1])))


def has_graph(rows: Rows, model: Any, columns: int) -> bool:
    """Whether a model can be written as a graph; tried on a draft."""
    try:
        _columns(replace(rows, graph=Graph()), model, columns)
    except NotExportableError:
        return False
    return True


def ends(graph: Graph, score: Any, given: str, thresholds: list[str]) -> tuple[str, str]:
    """Lower and upper ends, (n, levels), of thresholds of the same shape, one per tail."""
    below, above = thresholds[0], thresholds[-1]
    low = high = given
    if type(score) is NormalizedResidual:
        low = high = graph.columns(given, [0])
        least = graph.constant(float(score.min_scale))
        scale = graph.add("Max", graph.columns(given, [1]), least)
        below = above = graph.add("Mul", below, scale)
    elif type(score) is QuantileResidual:
        one, other = graph.columns(given, [0]), graph.columns(given, [1])
        low, high = graph.add("Min", one, other), graph.add("Max", one, other)
    elif type(score) is SignedResidual and score.side != "both":
        everything = graph.constant(np.inf)
        below, above = (everything, above) if score.side == "upper" else (below, everything)
    return graph.add("Sub", low, below), graph.add("Sum", high, above)


def point(graph: Graph, score: Any, given: str) -> str:
    """One number that stands for the prediction, (n, 1)."""
    if type(score) is NormalizedResidual:
        return graph.columns(given, [0])
    return graph.reduce("ReduceMean", given) if type(score) is QuantileResidual else given


def _columns(rows: Rows, model: Any, columns: int) -> str:
    graph, kind = rows.graph, type(model)
    if columns == 1:
        return regressor(rows, model)
    if kind is QuantilePair:
        return graph.side_by_side([regressor(rows, model.lower_), regressor(rows, model.upper_)])
    if kind is MeanScalePair:
        least = graph.constant(float(model.min_scale_))
        scale = graph.add("Max", regressor(rows, model.scale_), least)
        return graph.side_by_side([regressor(rows, model.mean_), scale])
    raise refused(model, "it predicts two columns", "give its predictions")


TO_INFINITY = np.nextafter(np.finfo(float).max / LARGEST_FEATURE, 0.0)  # takes what is larger there


class Answer(NamedTuple):
    """Thresholds, (n, 1), and groups, whole numbers (n, 1), of a rule that has groups."""

    threshold: str
    group: str | None


def answers(rows: Rows, rule: Any) -> list[Answer]:
    """What a fitted rule gives to rows, one answer per alpha; thresholds never cross.

    Groups that all alphas share are given once.
    """
    if not fitted_at_several(rule):
        return [answer(rows, rule)]
    found = [answer(rows, own) for own in rule.rules_]
    falling = np.argsort(check_alphas(rule.alpha))[::-1].tolist()
    for larger, smaller in pairwise(falling):
        raised = rows.graph.add("Max", found[smaller].threshold, found[larger].threshold)
        found[smaller] = found[smaller]._replace(threshold=raised)
    if rule._shares_groups():
        return [found[0], *(own._replace(group=None) for own in found[1:])]
    return found


def answer(rows: Rows, rule: Any) -> Answer:
    """What a rule of one level gives to rows."""
    kind, graph = type(rule), rows.graph
    if rule._drawn_ranks is not None:
        raise refused(rule, "randomize=True draws a rank for each row", "fit with randomize=False")
    if kind is SplitConformal:
        return Answer(graph.constant_like(rows.column(0), rule.threshold_), None)
    if kind is Rectified:
        return _rectified(rows, rule)
    if kind is Mondrian:
        return _mondrian(rows, rule)
    if kind is PLCP:
        return _plcp(rows, rule)
    raise refused(
        rule,
        "its thresholds are no function that a graph can hold",
        "serve it from Python, or use PLCP, Rectified, Mondrian or SplitConformal",
    )


@dataclass(frozen=True)
class _Place:
    """Where rows fell in a partition, and what that read off them.

    ``group_of`` is the group at each of the numbered places; ``memberships`` are those of soft
    groups.
    """

    read: str
    regressor: str
    number: str
    group_of: IntArray
    memberships: str | None = None


def _plcp(rows: Rows, rule: PLCP) -> Answer:
    if hasattr(rule, "rotation_"):
        return _rotation(rows, rule)
    graph = rows.graph
    ordered = isinstance(rule.partition_, OrderedPartition)
    place = _ordered_place(rows, rule) if ordered else _soft_place(rows, rule)
    levels = rule.corrections_[place.group_of]
    if rule._assigns == "mean" and place.memberships is not None:
        threshold = _mean_level(graph, place.memberships, levels)
    else:
        threshold = graph.look_up(levels[:, None], place.number)
    if rule._follow:
        # the factor is that of a regressor learned at another level
        base = graph.add("Mul", place.regressor, graph.constant(float(rule._factor)))
        threshold = graph.add("Sum", base, threshold)
    if rule.shift_:
        threshold = graph.add("Sum", threshold, graph.constant(float(rule.shift_)))
    if np.isfinite(rule._least):
        threshold = graph.add("Max", threshold, graph.constant(float(rule._least)))
    group = graph.look_up(place.group_of.astype(np.int64)[:, None], place.number)
    return _where_known(rows, rule, place.read, Answer(threshold, group))


def _rotation(rows: Rows, rule: PLCP) -> Answer:
    """Mean of the rules of all blocks, and the interval of threshold that it lies in."""
    graph = rows.graph
    if rule._assigns != "mean":
        raise refused(
            rule,
            "each row draws a rule by a hash of its content, which no graph computes",
            'fit with assignment="mean" for the mean of these rules, or calibration="held-out"',
        )
    found = [_plcp(rows, own) for own in rule.rotation_]
    each = [own.threshold for own in found]
    mean = graph.add("Div", graph.add("Sum", *each), graph.constant(float(len(each))))
    lowest, highest = graph.add("Min", *each), graph.add("Max", *each)
    threshold = graph.add("Min", graph.add("Max", mean, lowest), highest)
    below = graph.add("Greater", threshold, graph.constant(rule._cuts[None, :]))
    number = graph.reduce("ReduceSum", graph.cast(below, "int64"))
    unknown = graph.add("Less", str(found[0].group), graph.constant(np.array(0)))
    return Answer(threshold, graph.add("Where", unknown, str(found[0].group), number))


def _ordered_place(rows: Rows, rule: PLCP) -> _Place:
    partition = rule.partition_
    predicted = rows.graph.once(partition, lambda: regressor(rows, partition.regressor_))
    number = interval(rows.graph, predicted, partition.cuts_)
    return _Place(predicted, predicted, number, rule._group_of)


def _soft_place(rows: Rows, rule: PLCP) -> _Place:
    graph, partition = rows.graph, rule.partition_
    if rule._assigns == "sample":
        raise refused(
            rule, 'assignment="sample" draws groups by chance', 'fit with assignment="mode"'
        )
    raw = graph.once(partition, lambda: memberships(rows, partition))
    group_of = np.asarray(rule._merged)
    merged = joined(graph, raw, group_of, int(group_of.max()) + 1)
    regressor = graph.line(raw, partition.thresholds_)
    return _Place(raw, regressor, likeliest(graph, merged), rule._group_of, merged)


def _rectified(rows: Rows, rule: Rectified) -> Answer:
    graph = rows.graph
    raw = tau = regressor(rows, rule.regressor_)
    ratio = rule.adjustment_ == "ratio"
    if ratio:
        tau = graph.add("Max", tau, graph.constant(float(rule.floor_)))
    threshold = graph.add("Mul" if ratio else "Sum", tau, graph.constant(float(rule.level_)))
    return _where_known(rows, rule, raw, Answer(threshold, None))


def _mondrian(rows: Rows, rule: Mondrian) -> Answer:
    graph = rows.graph
    if not isinstance(rule.groups, str | int):
        raise refused(
            rule,
            f"groups={rule.groups!r} is no single column",
            "put the label of the group into a column and name that",
        )
    column, labels = rows.column(place_of(rule, rule.groups)), labels_of(rule)
    known = labels.astype(object) if labels.dtype.kind == "U" else labels
    numbers = np.arange(len(known), dtype=float)
    group = graph.cast(graph.encoded(column, known, numbers, -1.0), "int64")
    threshold = graph.encoded(column, known, rule.thresholds_, np.inf)
    return Answer(threshold, group)


def _mean_level(graph: Graph, merged: str, levels: FloatArray) -> str:
    """Mean level of each row; infinite where an infinite one has any share."""
    finite = np.isfinite(levels)
    mean = graph.line(merged, np.where(finite, levels, 0.0))
    if finite.all():
        return mean
    share = graph.line(merged, ~finite)
    some = graph.add("Greater", share, graph.constant(0.0))
    return graph.add("Where", some, graph.constant(np.inf), mean)


def _where_known(rows: Rows, rule: Any, values: str, found: Answer) -> Answer:
    """Infinite thresholds, and group -1, for rows that ``predict`` would refuse.

    A graph cannot refuse an infinite number, of a gap where the rule takes none, or of a
    number too large for those who do sums.
    """
    graph, zero = rows.graph, rows.graph.constant(0.0)
    doubts = [graph.reduce("ReduceSum", graph.add("Mul", values, zero))]  # nan if not finite
    table = rows.all_numbers()
    if table is not None:
        if takes_nan(rule):
            table = graph.add("Where", graph.add("IsNaN", table), zero, table)
        if graph.sums:
            table = graph.add("Mul", table, graph.constant(TO_INFINITY))
        doubts.append(graph.reduce("ReduceSum", graph.add("Mul", table, zero)))
    doubt = doubts[0] if len(doubts) == 1 else graph.add("Sum", *doubts)
    known = graph.add("Equal", doubt, zero)
    threshold = graph.add("Where", known, found.threshold, graph.constant(np.inf))
    if found.group is None:
        return Answer(threshold, None)
    return Answer(threshold, graph.add("Where", known, found.group, graph.constant(np.array(-1))))
