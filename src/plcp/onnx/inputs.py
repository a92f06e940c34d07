"""Which inputs a graph has: those that a model was shown in fit."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.indices.tables import TEXT, TableEncoder
from plcp.onnx.graph import Graph
from plcp.onnx.refusal import refused
from plcp.onnx.rows import Frame, Rows, Table
from plcp.thresholds import Mondrian
from plcp.thresholds.several import has_levels

OUTPUTS = ("threshold", "group", "prediction", "lower", "upper")


def inputs_of(graph: Graph, shown: Any, rule: Any, kept: Sequence[int] | None = None) -> Rows:
    """Give a graph the inputs of ``shown``, an estimator, of which a rule sees those ``kept``.

    Numbers alone are one input ``X``, (n, d). Beside text, and where a rule names a column, each
    column is an input of its own name, (n, 1), as scikit-learn's converters have it.
    """
    text = text_columns(rule)
    if not text and not names_a_column(rule):
        shape = row_shape(rule if kept is None else shown, shown)
        return Table(graph, graph.input("X", "double", *shape), shape)
    if not hasattr(shown, "feature_names_in_"):
        raise refused(shown, "columns beside text have no names", "name them by text and fit again")
    names = tuple(str(name) for name in shown.feature_names_in_)
    of_text = frozenset(names[i if kept is None else kept[i]] for i in text)
    for name in names:
        if name in OUTPUTS or name.startswith("plcp/"):
            raise refused(f"column {name!r}", "an output has that name", "rename the column")
        graph.input(name, "string" if name in of_text else "double", 1)
    return Frame(graph, names, of_text)


def row_shape(learned: Any, shown: Any) -> tuple[int, ...]:
    """Shape of a row: what a network within was shown, or the number of columns."""
    for part in parts_of(learned):
        if hasattr(part, "_row_shape"):
            return tuple(part._row_shape)
    if not hasattr(shown, "n_features_in_"):
        raise refused(shown, "it does not know how many columns it was shown", "fit it to an array")
    return (int(shown.n_features_in_),)


def text_columns(rule: Any) -> set[int]:
    """Places of the columns that hold text, among those that a rule was shown."""
    if names_a_column(rule) and labels_of(rule).dtype.kind == "U":
        return {place_of(rule, rule.groups)}
    kinds = [part.kinds_ for part in parts_of(rule) if isinstance(part, TableEncoder)]
    return {i for own in kinds for i, kind in enumerate(own) if kind == TEXT}


def names_a_column(rule: Any) -> bool:
    """Whether a rule looks at one column of a frame alone, whatever the others hold."""
    single = isinstance(rule, Mondrian) and isinstance(rule.groups, str | int)
    return single and hasattr(rule, "feature_names_in_")


def labels_of(rule: Mondrian) -> NDArray[Any]:
    """Labels of given groups: text, or numbers that doubles tell apart."""
    groups = rule.rules_[0].groups_ if has_levels(rule) else rule.groups_
    labels = np.array(groups.tolist())
    if labels.dtype.kind == "U":
        return labels
    if labels.dtype.kind not in "biuf" or labels.astype(float).tolist() != labels.tolist():
        raise refused(
            rule,
            "its labels are neither text nor numbers that doubles tell apart",
            "give labels of text",
        )
    return labels.astype(float)


def place_of(fitted: Any, column: Any) -> int:
    """Place of a column that is known by its name or its place."""
    names = list(getattr(fitted, "feature_names_in_", range(fitted.n_features_in_)))
    if column in names:
        return names.index(column)
    return range(len(names))[column]


def parts_of(fitted: Any) -> Iterator[Any]:
    """All that an estimator learned, and what those learned."""
    yield fitted
    learned = vars(fitted).items() if hasattr(fitted, "get_params") else ()
    for name, value in learned:
        if name.endswith("_"):
            for part in value if isinstance(value, list) else [value]:
                yield from parts_of(part)
