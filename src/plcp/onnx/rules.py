"""Fitted threshold rules: a threshold and a group for each row."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from plcp.onnx.graph import Graph
from plcp.onnx.inputs import labels_of, place_of
from plcp.onnx.partitions import interval, joined, likeliest, memberships
from plcp.onnx.refusal import refused
from plcp.onnx.regressors import regressor
from plcp.onnx.rows import Rows
from plcp.partitions import OrderedPartition
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds import PLCP, Mondrian, Rectified, SplitConformal
from plcp.thresholds.levels import check_levels
from plcp.thresholds.several import has_levels
from plcp.validation import takes_nan
from plcp.validation.features import LARGEST_FEATURE

TO_INFINITY = np.nextafter(np.finfo(float).max / LARGEST_FEATURE, 0.0)  # takes what is larger there


class Answer(NamedTuple):
    """Thresholds, (n, 1), and groups, whole numbers (n, 1), of a rule that has groups."""

    threshold: str
    group: str | None


def answers(rows: Rows, rule: Any) -> list[Answer]:
    """What a fitted rule gives to rows, one answer a level; thresholds never cross.

    Groups that all levels share are told once.
    """
    if not has_levels(rule):
        return [answer(rows, rule)]
    found = [answer(rows, own) for own in rule.rules_]
    falling = np.argsort(check_levels(rule.alpha))[::-1].tolist()
    for larger, smaller in pairwise(falling):
        raised = rows.graph.add("Max", found[smaller].threshold, found[larger].threshold)
        found[smaller] = found[smaller]._replace(threshold=raised)
    if rule._levels_agree():
        return [found[0], *(own._replace(group=None) for own in found[1:])]
    return found


def answer(rows: Rows, rule: Any) -> Answer:
    """What a rule of one level gives to rows."""
    kind, graph = type(rule), rows.graph
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
    index: str
    number: str
    group_of: IntArray
    memberships: str | None = None


def _plcp(rows: Rows, rule: PLCP) -> Answer:
    graph = rows.graph
    ordered = isinstance(rule.partition_, OrderedPartition)
    place = _ordered_place(rows, rule) if ordered else _soft_place(rows, rule)
    levels = rule.levels_[place.group_of]
    if rule.assignment == "mean" and place.memberships is not None:
        threshold = _mean_level(graph, place.memberships, levels)
    else:
        threshold = graph.look_up(levels[:, None], place.number)
    if rule._follow:
        # the factor is that of an index learned at another level
        base = graph.add("Mul", place.index, graph.constant(float(rule._factor)))
        threshold = graph.add("Sum", base, threshold)
    if np.isfinite(rule._least):
        threshold = graph.add("Max", threshold, graph.constant(float(rule._least)))
    group = graph.look_up(place.group_of.astype(np.int64)[:, None], place.number)
    return _where_known(rows, rule, place.read, Answer(threshold, group))


def _ordered_place(rows: Rows, rule: PLCP) -> _Place:
    partition = rule.partition_
    index = rows.graph.once(partition, lambda: regressor(rows, partition.index_))
    number = interval(rows.graph, index, partition.cuts_)
    return _Place(index, index, number, rule._rank[rule._owner[partition.interval_groups]])


def _soft_place(rows: Rows, rule: PLCP) -> _Place:
    graph, partition = rows.graph, rule.partition_
    if rule.assignment == "sample":
        raise refused(
            rule, 'assignment="sample" draws groups by chance', 'fit with assignment="mode"'
        )
    raw = graph.once(partition, lambda: memberships(rows, partition))
    merged = joined(graph, raw, rule._owner, int(rule._owner.max()) + 1)
    index = graph.line(raw, partition.thresholds_)
    return _Place(raw, index, likeliest(graph, merged), rule._rank, merged)


def _rectified(rows: Rows, rule: Rectified) -> Answer:
    graph = rows.graph
    raw = tau = regressor(rows, rule.index_)
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

    A graph cannot complain of an infinite number, of a gap where the rule takes none, or of a
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
