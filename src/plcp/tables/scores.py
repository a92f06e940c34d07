"""Scores of a table's rows: predictions and outcomes read from its columns."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from plcp.quantiles import FloatArray
from plcp.scores import AbsoluteResidual, LabelProbability, QuantileResidual, Score
from plcp.tables.columns import NESTED, Column, Data, coded, kind_of, role_numbers
from plcp.tables.roles import Roles

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
    """Note how many rows of probabilities were rescaled."""
    whose = "1 row whose" if rows == 1 else f"{rows:,} rows whose"
    return f"probabilities of {whose} sum was not 1 were divided by their sum"


def score_of(roles: Roles) -> Score | None:
    """Score that compares these predictions with the target; None where scores are given."""
    return SCORES[roles.task]() if roles.task in SCORES else None


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
    if (values < 0).any():
        row, column = np.argwhere(values < 0)[0]
        raise ValueError(
            f"column {roles.predictions[column]!r} holds {values[row, column]:g}, but "
            "probabilities are not negative: give those, not logits"
        )
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
    names = classes.cast(pa.string())
    places = pc.index_in(labels, value_set=names).to_pylist()
    for label, place in zip(labels.to_pylist(), places, strict=True):
        if place is None and label is not None:
            raise ValueError(_not_a_class(label, roles, names.to_pylist()))
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
    return typed if typed.cast(pa.string()).equals(plain) else plain


def _not_a_class(label: str, roles: Roles, names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return (
        f"target {roles.target!r} holds the label {label!r}, but the columns of probabilities are "
        f"those of {shown}: write a star for the label, as in 'p_*', or rename columns or labels"
    )


@dataclass(frozen=True)
class Counts:
    """How many rows there are, can be used, lack what, and were rescaled."""

    rows: int = 0
    used: int = 0
    lacking: Counter[str] = field(default_factory=Counter)
    rescaled: int = 0

    def __add__(self, more: "Counts") -> "Counts":
        """Count the rows of both."""
        lacking = Counter(self.lacking)
        lacking.update(more.lacking)
        rescaled = self.rescaled + more.rescaled
        return Counts(self.rows + more.rows, self.used + more.used, lacking, rescaled)

    @property
    def notes(self) -> list[str]:
        """Notes about them, one sentence each."""
        lacking = [
            f"{rows_without(count, self.rows, what)} left out"
            for what, count in self.lacking.items()
            if count
        ]
        return [*lacking, rescaled_note(self.rescaled)] if self.rescaled else lacking

    def check_any(self, use: str) -> None:
        """Refuse a table without a row of use."""
        if not self.rows:
            raise ValueError("the table has no rows: give one that has")
        if not self.used:
            raise ValueError(
                f"no row can {use}: {', and '.join(self.notes)}; name others, or correct them"
            )


@dataclass
class Tally:
    """Which rows have all that is needed, and what the others lack.

    Examples
    --------
    >>> tally = Tally(np.ones(3, dtype=bool))
    >>> tally.require(np.array([True, False, True]), "target")
    >>> tally.keep, tally.counts.notes
    (array([ True, False,  True]), ['1 of 3 rows has no target and is left out'])
    """

    keep: NDArray[np.bool_]
    lacking: Counter[str] = field(default_factory=Counter)
    rescaled: int = 0

    def require(self, present: NDArray[np.bool_], what: str) -> None:
        """Keep only rows that have this, too."""
        self.lacking[what] += int((self.keep & ~present).sum())
        self.keep &= present

    @property
    def counts(self) -> Counts:
        """How many rows are what."""
        return Counts(len(self.keep), int(self.keep.sum()), self.lacking, self.rescaled)


def rows_without(count: int, of: int, what: str) -> str:
    """Note how many rows lack something, up to the verb."""
    has, be = ("has", "is") if count == 1 else ("have", "are")
    return f"{count:,} of {of:,} rows {has} no {what} and {be}"


SWAPPED = 0.9  # share of crossed bands that is no accident


@dataclass(frozen=True)
class Pairs:
    """Rows that calibrate, with scores and weights, and how many do not."""

    table: pa.Table
    scores: FloatArray
    weights: FloatArray | None
    counts: Counts


def read_pairs(table: pa.Table, roles: Roles, classes: pa.Array | None) -> Pairs:
    """Score the rows that have all that a score needs, and a weight if there are weights.

    Examples
    --------
    >>> table = pa.table({"y": [1.0, None, 2.0], "yhat": [3.0, 3.0, 3.0]})
    >>> pairs = read_pairs(table, Roles(target="y", prediction="yhat"), None)
    >>> pairs.scores, pairs.counts.notes
    (array([2., 1.]), ['1 of 3 rows has no target and is left out'])
    """
    tally = Tally(np.ones(table.num_rows, dtype=bool))
    scores = read_scores(table, roles, classes, tally)
    weights = None
    if roles.weight is not None:
        weights = role_numbers(table[roles.weight], "weight", roles.weight)
        tally.require(np.isfinite(weights), "weight")
        kept = weights[tally.keep]
        if kept.min(initial=0.0) < 0:
            raise ValueError(
                f"weight {roles.weight!r} holds {kept.min():g}, but weights are not negative: "
                "correct it, or name another column"
            )
        if len(kept) and not kept.any():
            raise ValueError(
                f"weight {roles.weight!r} is 0 in every row: correct it, or name another column"
            )
    keep = tally.keep
    return Pairs(
        table=table if keep.all() else table.filter(pa.array(keep)),
        scores=scores[keep],
        weights=None if weights is None else weights[keep],
        counts=tally.counts,
    )


def read_scores(
    table: pa.Table, roles: Roles, classes: pa.Array | None, tally: Tally
) -> FloatArray:
    """Score of each row, nan where it cannot be known."""
    score = score_of(roles)
    if score is None:
        scores = role_numbers(table[roles.score], "score", str(roles.score))
        tally.require(np.isfinite(scores), "score")
        return scores
    outcomes, known = read_outcomes(table, roles, classes)
    tally.require(known, "target")
    predicted = read_predictions(table, roles)
    tally.require(predicted.present, "finite prediction")
    tally.rescaled += predicted.rescaled
    scores = np.full(table.num_rows, np.nan)
    both = known & predicted.present
    scores[both] = score(predicted.values[both], outcomes[both])
    return scores


def check_order(table: pa.Table, roles: Roles) -> None:
    """Refuse lower ends that lie above the upper ones in nearly all rows."""
    if roles.task != "quantiles":
        return
    ends = read_predictions(table, roles).values
    crossed = int((ends[:, 0] > ends[:, 1]).sum())
    if crossed > SWAPPED * len(ends):
        raise ValueError(
            f"lower {roles.lower!r} lies above upper {roles.upper!r} in {crossed:,} of "
            f"{len(ends):,} rows: they are swapped; name them the other way round"
        )
