"""Trees of one or many models as one node of a graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import numpy_helper

from plcp.onnx.graph import ML, Graph, refused
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors._fast_trees import (
    ZERO,
    AnyBooster,
    Booster,
    LightBooster,
    Trees,
    joined,
    numbered_columns,
)
from plcp.regressors.crossfit import Parts

AT_MOST, ONE_OF = 0, 6  # modes of a node
FIRST = 1  # code of a category: some runtimes take a zero for the end of a set
# Leaves before the first: else a root could ask on at a number that its other side has as a leaf,
# and some releases of onnxruntime would take it for a leaf.
UNUSED = 2


def check_numbers(boosters: Sequence[AnyBooster]) -> None:
    """Refuse boosters that know categories by other than numbers."""
    for booster in boosters:
        if not booster.has_numbers:
            raise refused(
                booster.model,
                "it asks about categories by text, or its objective is not the prediction itself",
                "use the default regressor, or HistGradientBoostingRegressor on codes with "
                "categorical_features",
            )


def averaged(graph: Graph, table: str, width: int, models: Sequence[Parts]) -> str:
    """Mean of models made of boosters, one number a row; ``width``: columns of the table."""
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
