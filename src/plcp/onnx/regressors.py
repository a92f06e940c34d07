"""Fitted regressors as graphs: lines, sparse scales, trees of boosters, and mixtures."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import numpy_helper
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

from plcp.onnx.graph import ML, Graph, Rows, Table, refused
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors import (
    ColorfulQuantile,
    CrossFitted,
    LinearQuantile,
    SparseScale,
    StackedQuantile,
)
from plcp.regressors._fast_trees import (
    ZERO,
    AnyBooster,
    Booster,
    LightBooster,
    Trees,
    joined,
    numbered_columns,
)
from plcp.regressors.crossfit import Parts, taken_apart

AT_MOST, ONE_OF = 0, 6  # modes of a node
FIRST = 1  # code of a category: some runtimes take a zero for the end of a set
# Leaves before the first: else a root could ask on at a number that its other side has as a leaf,
# and some releases of onnxruntime would take it for a leaf.
UNUSED = 2


def check_numbers(boosters: Sequence[AnyBooster]) -> None:
    """Refuse boosters whose categories are no numbers."""
    for booster in boosters:
        if not booster.has_numbers:
            raise refused(
                booster.model,
                "it knows categories by text, or its objective is not the prediction itself",
                "use the default regressor, or HistGradientBoostingRegressor on codes with "
                "categorical_features",
            )


def averaged(graph: Graph, table: str, width: int, models: Sequence[Parts]) -> str:
    """Mean of models made of boosters, one number per row; ``width``: columns of the table."""
    stages = list(zip(*(model.boosters for model in models), strict=True))
    product = graph.constant(np.array([[model.unit for model in models]]))
    for stage in predictions(graph, table, width, stages):
        product = graph.add("Mul", product, stage)
    return graph.reduce("ReduceMean", product) if len(models) > 1 else product


def predictions(
    graph: Graph, table: str, width: int, stages: Sequence[Sequence[AnyBooster]]
) -> list[str]:
    """What boosters predict, one column each, in as many tables as there are stages."""
    boosters = [booster for stage in stages for booster in stage]
    table, places = seen_by(graph, table, width, boosters)
    parts = [
        booster.trees._replace(
            column=place[booster.trees.column],
            sets={node: codes + FIRST for node, codes in booster.trees.sets.items()},
        )
        for booster, place in zip(boosters, places, strict=True)
    ]
    outputs = np.repeat(np.arange(len(boosters)), [len(part.left) for part in parts])
    starts = graph.constant(np.array([[booster.start for booster in boosters]]))
    total = graph.add("Sum", forest(graph, table, joined(parts), outputs, len(boosters)), starts)
    ends = np.cumsum([len(stage) for stage in stages])
    found = [
        graph.columns(total, np.arange(end - len(stage), end)) if len(stages) > 1 else total
        for stage, end in zip(stages, ends, strict=True)
    ]
    return [
        graph.add("Exp", name) if stage[0].is_log else name
        for stage, name in zip(stages, found, strict=True)
    ]


def seen_by(
    graph: Graph, table: str, width: int, boosters: Sequence[AnyBooster]
) -> tuple[str, list[IntArray]]:
    """Return a table of all that boosters see, and where each finds the columns it knows."""
    if any(isinstance(booster, LightBooster) for booster in boosters):
        small = graph.add("LessOrEqual", graph.add("Abs", table), graph.constant(ZERO))
        table = graph.add("Where", small, graph.constant(0.0), table)
    tables: list[str] = [table]
    places: list[IntArray] = [np.arange(width) for _ in boosters]
    for i, column in numbered_columns(boosters).items():
        if not column.holds_codes:
            continue
        views: dict[bytes, FloatArray] = {}
        for booster, place in zip(boosters, places, strict=True):
            view = _view(booster, i, column.samples)
            views.setdefault(view.tobytes(), view)
            place[i] = width + list(views).index(view.tobytes())
        number = _number(graph, graph.columns(table, i), column.known)
        tables.append(graph.look_up(np.column_stack([*views.values()]), number))
        width += len(views)
    return graph.side_by_side(tables), places


def _view(booster: AnyBooster, column: int, samples: FloatArray) -> FloatArray:
    """What a booster sees of samples of a column of codes."""
    assert isinstance(booster, Booster)  # others have none
    seen = booster.transform(column, samples)
    return seen if column in booster.means else seen + FIRST


def _number(graph: Graph, values: str, known: FloatArray) -> str:
    """Place of each value among those known; two more are those of others, and of gaps."""
    k = len(known)
    place = graph.encoded(values, known, np.arange(k, dtype=float), float(k))
    gaps = graph.add("IsNaN", values)
    return graph.cast(graph.add("Where", gaps, graph.constant(k + 1.0), place), "int64")


def forest(graph: Graph, table: str, trees: Trees, outputs: IntArray, n_outputs: int) -> str:
    """Sums of the leaves of all trees, (n, n_outputs); ``outputs``: to which each node adds."""
    is_leaf, leaves = trees.is_leaf, np.flatnonzero(trees.is_leaf)
    # A tree that is one leaf has a split too, with that leaf on both sides.
    splits = np.sort(np.append(np.flatnonzero(~is_leaf), trees.roots[is_leaf[trees.roots]]))
    split_number, number = np.empty((2, len(is_leaf)), dtype=np.int64)
    split_number[splits] = np.arange(len(splits))
    number[:] = split_number
    number[leaves] = UNUSED + np.arange(len(leaves))
    left, right = trees.left[splits], trees.right[splits]
    members = [trees.sets[node] for node in splits.tolist() if node in trees.sets]
    modes = np.array([ONE_OF if node in trees.sets else AT_MOST for node in splits.tolist()])
    cuts = np.where(modes == ONE_OF, 0.0, trees.cut[splits])
    values = np.concatenate([np.append(codes, np.nan) for codes in members]) if members else None
    optional = {} if values is None else {"membership_values": _tensor(values)}
    return graph.add(
        "TreeEnsemble",
        table,
        domain=ML,
        n_targets=n_outputs,
        tree_roots=split_number[trees.roots].tolist(),
        nodes_featureids=trees.column[splits].tolist(),
        nodes_modes=_tensor(modes.astype(np.uint8)),
        nodes_splits=_tensor(cuts),
        nodes_missing_value_tracks_true=trees.missing_left[splits].astype(int).tolist(),
        nodes_truenodeids=number[left].tolist(),
        nodes_trueleafs=is_leaf[left].astype(int).tolist(),
        nodes_falsenodeids=number[right].tolist(),
        nodes_falseleafs=is_leaf[right].astype(int).tolist(),
        leaf_targetids=np.pad(outputs[leaves], (UNUSED, 0)).tolist(),
        leaf_weights=_tensor(np.pad(trees.value[leaves], (UNUSED, 0))),
        **optional,
    )


def _tensor(values: NDArray[Any]) -> Any:
    return numpy_helper.from_array(values, "values")


def mean_scale(rows: Rows, models: Sequence[SparseScale]) -> str:
    """Mean of g = unit · max(b + w·x, least)^½ over models, one number per row.

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
    """One number per row, (n, 1), as ``model.predict`` gives it."""
    return mean_of(rows, [model])


def mean_of(rows: Rows, models: Sequence[Any]) -> str:
    """Mean of several models of one kind, one number per row."""
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
    """One number per row, by a model that stands alone."""
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
        raise refused(model, f"it predicts {len(coef)} numbers per row", "fit it to one")
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
    """Whether this is a network of ours; torch is imported already then."""
    torch = sys.modules.get("plcp.partitions.torch")
    return torch is not None and type(model) is torch.TorchQuantile
