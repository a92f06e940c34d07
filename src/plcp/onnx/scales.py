"""Sparse linear scales as one matrix product."""

from collections.abc import Sequence

import numpy as np

from plcp.indices import SparseScale
from plcp.onnx.rows import Rows
from plcp.quantiles import FloatArray


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
