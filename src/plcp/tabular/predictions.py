"""What a model predicted, and what came true, read from the columns of a table."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from plcp.quantiles import FloatArray
from plcp.scores import AbsoluteResidual, LabelProbability, QuantileResidual, Score
from plcp.tabular.arrow import Column, Data, coded, role_numbers
from plcp.tabular.kinds import NESTED, kind_of
from plcp.tabular.roles import Roles

SCORES = {
    "regression": AbsoluteResidual,
    "quantiles": QuantileResidual,
    "classes": LabelProbability,
}
BOOLEANS = {"0": "false", "1": "true", "false": "false", "true": "true"}
WHOLE = 1e-6  # what the scores of probabilities allow a sum to be off


class Predicted(NamedTuple):
    """Predictions of all rows, which of them are there, and how many rows were rescaled."""

    values: FloatArray
    present: NDArray[np.bool_]
    rescaled: int = 0


def rescaled_note(rows: int) -> str:
    """Say how many rows of probabilities were put right."""
    whose = "1 row whose" if rows == 1 else f"{rows:,} rows whose"
    return f"probabilities of {whose} sum was not 1 were divided by their sum"


def score_of(roles: Roles) -> Score | None:
    """Score that compares these predictions with the target; None where scores are given."""
    made = SCORES.get(roles.task)
    return None if made is None else made()


def read_predictions(data: Data, roles: Roles) -> Predicted:
    """Predictions, one row each; a row that lacks one of its numbers has none.

    Probabilities of a row are divided by their sum where it is not one, as of digits rounded.
    """
    role = "probabilities" if roles.task == "classes" else "prediction"
    columns = [role_numbers(data.column(name), role, name) for name in roles.predictions]
    values = np.column_stack(columns)
    present = np.asarray(np.isfinite(values).all(axis=1))
    if roles.task != "classes":
        return Predicted(values, present)
    _check_nonnegative(values, roles.predictions)
    sums = values.sum(axis=1)
    present &= sums > 0
    off = present & (np.abs(sums - 1) > WHOLE)
    values[off] /= sums[off, None]
    return Predicted(values, present, int(off.sum()))


def read_outcomes(
    data: Data, roles: Roles, classes: pa.Array | None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Outcomes, as codes where they are labels, and which rows have one."""
    assert roles.target is not None
    column = data.column(roles.target)
    if roles.task != "classes":
        values = role_numbers(column, "target", roles.target)
        return values, np.isfinite(values)
    assert classes is not None
    codes, labels = coded_labels(column, roles.target)
    places = pc.index_in(labels, value_set=texts(classes)).to_pylist()
    for label, place in zip(labels.to_pylist(), places, strict=True):
        if place is None and label is not None:
            raise ValueError(_not_a_class(label, roles, texts(classes).to_pylist()))
    found = np.array([-1 if place is None else place for place in places] + [-1])[codes]
    return found, found >= 0


def coded_labels(column: Column, name: str) -> tuple[NDArray[Any], pa.Array]:
    """Code of each label, -1 where missing, and the text of each code."""
    if kind_of(column.type) == NESTED:
        raise ValueError(f"target {name!r} holds {column.type}, not labels: name another column")
    codes, values = coded(column)
    used = np.unique(codes[codes >= 0])  # a dictionary may name labels that no row has
    places = np.append(np.searchsorted(used, np.arange(len(values))), -1)
    return places[codes], values.take(pa.array(used))


def learn_classes(table: pa.Table, roles: Roles) -> pa.Array:
    """Class of each column of probabilities, in the type that the target has.

    A class is known by the part of its column's name that a star stood for, or by the whole name.
    """
    assert roles.target is not None
    column = table[roles.target]
    labels = {
        text for text in coded_labels(column, roles.target)[1].to_pylist() if text is not None
    }
    spelled = [_spelled(roles.classes, column.type), _spelled(roles.probabilities, column.type)]
    names = next((names for names in spelled if labels <= {*names}), None)
    if names is None:
        strange = min(labels - {*spelled[0]})
        raise ValueError(_not_a_class(strange, roles, spelled[0]))
    return _typed(names, column.type)


def _spelled(names: Sequence[str], given: pa.DataType) -> list[str]:
    """Names as Arrow spells the labels of this type."""
    return (
        [BOOLEANS.get(name.lower(), name) for name in names] if pt.is_boolean(given) else [*names]
    )


def _typed(names: list[str], given: pa.DataType) -> pa.Array:
    """Names in the type of the labels, where all of them can be; as text otherwise."""
    plain = pa.array(names, pa.string())
    if not (pt.is_integer(given) or pt.is_floating(given) or pt.is_boolean(given)):
        return plain
    try:
        typed = plain.cast(given)
    except pa.ArrowInvalid:
        return plain
    return typed if texts(typed).equals(plain) else plain


def texts(classes: pa.Array) -> pa.Array:
    """Names of classes by their text."""
    return classes.cast(pa.string())


def _check_nonnegative(values: FloatArray, names: Sequence[str]) -> None:
    negative = np.argwhere(values < 0)
    if len(negative):
        row, column = negative[0]
        raise ValueError(
            f"column {names[column]!r} holds {values[row, column]:g}, but probabilities are not "
            "negative: give those, not logits"
        )


def _not_a_class(label: str, roles: Roles, names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return (
        f"target {roles.target!r} holds the label {label!r}, but the columns of probabilities are "
        f"those of {shown}: write a star for the label, as in 'p_*', or rename columns or labels"
    )
