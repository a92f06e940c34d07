"""Sparse linear scales as one matrix product."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    QuantileRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from plcp.onnx.graph import Rows, Table, refused
from plcp.onnx.trees import averaged, check_numbers
from plcp.quantiles import FloatArray
from plcp.regressors import (
    ColorfulQuantile,
    CrossFitted,
    LinearQuantile,
    SparseScale,
    StackedQuantile,
)
from plcp.regressors.crossfit import taken_apart


def mean_scale(rows: Rows, models: Sequence[SparseScale]) -> str:
    """Mean of g = unit · max(b + w·x, least)^½ over models, one number a row.

    Gaps count as the column's mean: x without gaps times w, plus the gaps times mean · w.
    """
    graph, table = rows.graph, rows.numbers(models[0])
    numeric = models[0].columns_.numeric
    n = len(numeric)
    numbers = graph.columns(table, numeric)
    gaps = graph.add("IsNaN", numbers)
    blocks = [graph.add("Where", gaps, graph.constant(0.0), numbers), graph.cast(gaps, "double")]
    weights = [
        np.column_stack([model.coef_[:n] for model in models]),
        np.column_stack([model.coef_[:n] * model.columns_.means for model in models]),
    ]
    for place, known, coefs in _flags(models):
        same = graph.add("Equal", graph.columns(table, [place]), graph.constant(known[None, :]))
        blocks.append(graph.cast(same, "double"))
        weights.append(coefs)
    intercepts = [[float(model.intercept_) for model in models]]
    variance = graph.line(graph.side_by_side(blocks), np.vstack(weights), intercepts)
    least = graph.constant([[float(model.least_) for model in models]])
    units = graph.constant([[float(model.unit_) for model in models]])
    scale = graph.add("Mul", graph.add("Sqrt", graph.add("Max", variance, least)), units)
    return graph.reduce("ReduceMean", scale)


def _flags(models: Sequence[SparseScale]) -> list[tuple[int, FloatArray, FloatArray]]:
    """Each column of codes: its place, codes that any model knows, and their weights in each."""
    found: list[tuple[int, FloatArray, FloatArray]] = []
    for number, (place, _) in enumerate(models[0].columns_.levels):
        own = [model.columns_.levels[number][1] for model in models]
        known = np.unique(np.concatenate(own))
        coefs = np.zeros((len(known), len(models)))
        for k, (model, levels) in enumerate(zip(models, own, strict=True)):
            before = [values for _, values in model.columns_.levels[:number]]
            start = len(model.columns_.numeric) + sum(map(len, before))
            coefs[np.searchsorted(known, levels), k] = model.coef_[start : start + len(levels)]
        found.append((place, known, coefs))
    return found


LINEAR = (
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearQuantile,
    LinearRegression,
    QuantileRegressor,
    Ridge,
    RidgeCV,
)


def regressor(rows: Rows, model: Any) -> str:
    """One number a row, (n, 1), as ``model.predict`` gives it."""
    return mean_of(rows, [model])


def mean_of(rows: Rows, models: Sequence[Any]) -> str:
    """Mean of several models of one kind, one number a row."""
    first, graph = models[0], rows.graph
    if type(first) is SparseScale:
        graph.sums = True
        return mean_scale(rows, models)
    apart = [taken_apart(model) for model in models]
    parts = [part for part in apart if part is not None]
    if len(parts) == len(models):
        check_numbers([booster for part in parts for booster in part.boosters])
        return averaged(graph, rows.numbers(first), rows.width, parts)
    columns = [_one(rows, model) for model in models]
    if len(columns) == 1:
        return columns[0]
    return graph.reduce("ReduceMean", graph.side_by_side(columns))


def _one(rows: Rows, model: Any) -> str:
    """One number a row, by a model that stands alone."""
    kind, graph = type(model), rows.graph
    if kind is FrozenEstimator:
        return regressor(rows, model.estimator)
    if kind is CrossFitted:
        return mean_of(rows, model.models_)
    if kind is StackedQuantile:
        return _stacked(rows, model)
    if kind is ColorfulQuantile:
        return regressor(
            rows.encoded(model.encoder_) if model.regressor is None else rows, model.regressor_
        )
    graph.sums = graph.sums or kind is LinearQuantile
    if kind in LINEAR:
        return _linear(rows, model)
    if kind is DummyRegressor:
        return graph.constant_like(rows.column(0), model.constant_)
    if kind is Pipeline:
        return _pipeline(rows, model)
    if is_torch_quantile(model):
        from plcp.onnx.networks import network_quantile

        return network_quantile(rows, model)
    raise refused(
        model,
        "its kind is not known here",
        "use the default, LinearQuantile, HistGradientBoostingRegressor, LGBMRegressor or "
        "TorchQuantile, or serve the model from Python",
    )


def _stacked(rows: Rows, stack: StackedQuantile) -> str:
    graph = rows.graph
    table = rows.encoded(stack.encoder_) if stack.members is None else rows
    mixed = graph.constant_like(rows.column(0), stack.weights_[-1] * stack.constant_)
    parts = zip(stack.weights_[:-1], stack.members_, stack.adjustments_, strict=True)
    for weight, member, adjustment in parts:
        if weight > 0:
            raw = regressor(table, member)
            values = graph.add("Max", raw, graph.constant(float(stack.floor_)))
            put = "Mul" if stack.is_scale_ else "Sum"
            adjusted = graph.add(put, values, graph.constant(float(adjustment)))
            share = graph.add("Mul", adjusted, graph.constant(float(weight)))
            mixed = graph.add("Sum", mixed, share)
    return mixed


def _linear(rows: Rows, model: Any) -> str:
    coef = np.asarray(model.coef_, dtype=float)
    if coef.ndim != 1:
        raise refused(model, f"it predicts {len(coef)} numbers a row", "fit it to one")
    return rows.graph.line(rows.numbers(model), coef, float(model.intercept_))


def _pipeline(rows: Rows, model: Pipeline) -> str:
    graph = rows.graph
    for _, step in model.steps[:-1]:
        if type(step) is not StandardScaler:
            raise refused(
                step,
                "of the steps before a regressor only StandardScaler is known here",
                "fit the rule to rows that have passed it",
            )
        table = rows.numbers(step)
        if step.mean_ is not None:
            table = graph.add("Sum", table, graph.constant(-step.mean_))
        if step.scale_ is not None:
            table = graph.add("Div", table, graph.constant(step.scale_))
        rows = Table(graph, table, (rows.width,))
    return regressor(rows, model.steps[-1][1])


def is_torch_quantile(model: Any) -> bool:
    """Whether this is a network of ours; whoever has one has imported torch already."""
    torch = sys.modules.get("plcp.partitions.torch")
    return torch is not None and type(model) is torch.TorchQuantile
