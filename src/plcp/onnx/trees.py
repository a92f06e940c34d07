"""Trees of one or many models as one node of a graph."""

from collections.abc import Sequence
from dataclasses import dataclass
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
    Branches,
    LightBooster,
    numbered_columns,
)
from plcp.regressors.crossfit import Parts

AT_MOST, ONE_OF = 0, 6  # modes of a node
FIRST = 1  # code of a category: some runtimes take a zero for the end of a set
# Leaves before the first: else a root could ask on at a number that its other side has as a leaf,
# and some releases of onnxruntime would take it for a leaf.
UNUSED = 2


@dataclass(frozen=True)
class Grown:
    """A tree, the columns of a table it asks about, and what its leaves add to which output."""

    branches: Branches
    outputs: IntArray
    weights: FloatArray


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
    grown = [
        Grown(
            branches._replace(
                column=place[branches.column],
                sets={i: codes + FIRST for i, codes in branches.sets.items()},
            ),
            np.full(len(branches.left), output),
            branches.value,
        )
        for output, (booster, place) in enumerate(zip(boosters, places, strict=True))
        for branches in booster.branches()
    ]
    starts = graph.constant(np.array([[booster.start for booster in boosters]]))
    total = graph.add("Sum", forest(graph, table, grown, len(boosters)), starts)
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
    seen = booster.seen(column, samples)
    return seen if column in booster.means else seen + FIRST


def _number(graph: Graph, values: str, known: FloatArray) -> str:
    """Place of each value among those known; two more are those of others, and of gaps."""
    k = len(known)
    place = graph.encoded(values, known, np.arange(k, dtype=float), float(k))
    gaps = graph.add("IsNaN", values)
    return graph.cast(graph.add("Where", gaps, graph.constant(k + 1.0), place), "int64")


def forest(graph: Graph, table: str, trees: Sequence[Grown], n_outputs: int) -> str:
    """Sums of what the leaves of all trees add to each output, (n, n_outputs)."""
    whole = [_with_a_question(tree) for tree in trees]
    sizes = np.array([len(tree.branches.left) for tree in whole])
    roots = np.cumsum(sizes) - sizes
    shift = np.repeat(roots, sizes)

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree.branches, name) for tree in whole])

    left, right, is_leaf = joined("left") + shift, joined("right") + shift, joined("is_leaf")
    asked, leaves = np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf)
    number = np.empty(len(left), dtype=np.int64)
    number[asked], number[leaves] = np.arange(len(asked)), UNUSED + np.arange(len(leaves))
    sets = {
        start + place: codes
        for start, tree in zip(roots.tolist(), whole, strict=True)
        for place, codes in tree.branches.sets.items()
    }
    modes = np.array([ONE_OF if place in sets else AT_MOST for place in asked.tolist()])
    cuts = np.where(modes == ONE_OF, 0.0, joined("cut")[asked])
    weights = np.pad(np.concatenate([tree.weights for tree in whole])[leaves], (UNUSED, 0))
    outputs = np.pad(np.concatenate([tree.outputs for tree in whole])[leaves], (UNUSED, 0))
    members = [np.append(sets[place], np.nan) for place in asked.tolist() if place in sets]
    optional = {"membership_values": _tensor(np.concatenate(members))} if members else {}
    return graph.add(
        "TreeEnsemble",
        table,
        domain=ML,
        n_targets=n_outputs,
        tree_roots=number[roots].tolist(),
        nodes_featureids=joined("column")[asked].tolist(),
        nodes_modes=_tensor(modes.astype(np.uint8)),
        nodes_splits=_tensor(cuts),
        nodes_missing_value_tracks_true=joined("gaps_left")[asked].astype(int).tolist(),
        nodes_truenodeids=number[left[asked]].tolist(),
        nodes_trueleafs=is_leaf[left[asked]].astype(int).tolist(),
        nodes_falsenodeids=number[right[asked]].tolist(),
        nodes_falseleafs=is_leaf[right[asked]].astype(int).tolist(),
        leaf_targetids=outputs.tolist(),
        leaf_weights=_tensor(weights),
        **optional,
    )


def _with_a_question(tree: Grown) -> Grown:
    """Return the tree; one that is but a leaf asks a question whose answer is the same."""
    if not tree.branches.is_leaf[0]:
        return tree
    twice = np.zeros(2, dtype=np.intp)
    branches = Branches(
        column=twice,
        cut=np.zeros(2),
        gaps_left=twice == 1,
        left=twice + 1,
        right=twice + 1,
        is_leaf=np.array([False, True]),
        value=np.zeros(2),
        sets={},
    )
    return Grown(branches, tree.outputs[twice], tree.weights[twice])


def _tensor(values: NDArray[Any]) -> Any:
    return numpy_helper.from_array(values, "values")
