"""Prediction intervals: what a score makes of a prediction and thresholds."""

from dataclasses import replace
from typing import Any

import numpy as np

from plcp.models import MeanScalePair, QuantilePair
from plcp.onnx.graph import Graph
from plcp.onnx.refusal import NotExportableError, refused
from plcp.onnx.regressors import regressor
from plcp.onnx.rows import Rows
from plcp.scores import AbsoluteResidual, NormalizedResidual, QuantileResidual, SignedResidual

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
            "export the rule, model.thresholds_[0], and invert the score where you serve it",
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
    """Lower and upper ends, (n, levels), of thresholds of the same shape, one a tail."""
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
