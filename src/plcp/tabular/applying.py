"""New rows get their sets: columns added to batches of a table."""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from plcp.files import find_column
from plcp.quantiles import FloatArray
from plcp.sets import Intervals
from plcp.tabular.frames import Framer, rule_input
from plcp.tabular.model import TabularModel
from plcp.tabular.predictions import Predicted, read_predictions, rescaled_note
from plcp.tabular.tally import rows_without
from plcp.tabular.words import empty_note, infinite_note, unseen_note
from plcp.thresholds import PLCP, Mondrian, ThresholdRule
from plcp.thresholds.base import Assigned


class Applier:
    """Adds sets, groups and thresholds to batches of new rows, and counts what is odd in them.

    ``lower`` and ``upper``, or ``set``, then ``group`` if the rule has groups, and ``threshold``.
    All columns and the order of rows stay. A row without a prediction gets nulls. An empty
    interval is written as ``lower`` = inf, ``upper`` = -inf: it holds no number.

    Parameters
    ----------
    model : TabularModel
        The calibrated model.
    prefix : str, default=""
        Put before the names of the new columns.

    Examples
    --------
    >>> from plcp.tabular import calibrate, choose_roles
    >>> table = pa.table({"y": np.arange(1.0, 20), "yhat": np.zeros(19)})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> applier = Applier(calibrate(table, roles, method="split"))
    >>> new = pa.record_batch({"yhat": [0.0, None]})
    >>> applier.apply(new).to_pylist()[0]
    {'yhat': 0.0, 'lower': -18.0, 'upper': 18.0, 'threshold': 18.0}
    >>> applier.notes()
    ['1 of 2 rows has no prediction and is left without a set']
    """

    def __init__(self, model: TabularModel, prefix: str = "") -> None:
        self.model = model
        self.prefix = prefix
        self._framer = Framer(model.features)
        self._score = model.conformity
        self._has_groups = isinstance(model.rule, PLCP | Mondrian)
        self._rows = self._lacking = self._rescaled = self._infinite = self._empty = 0

    def schema(self, given: pa.Schema, where: str = "the table") -> pa.Schema:
        """Return the columns of the output, after a look whether the input will do."""
        for name in self.model.needed:
            find_column(name, given.names, where)
        self._framer.check(given)
        fields = self._new_fields()
        taken = [field.name for field in fields if field.name in given.names]
        if taken:
            raise ValueError(
                f"{where} has a column {taken[0]!r} already: give the new ones a prefix, as in "
                "--prefix plcp_"
            )
        for field in fields:
            given = given.append(field)
        return given

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with the new columns."""
        schema = self.schema(batch.schema)
        new = self._new_columns(batch) if batch.num_rows else _no_rows(self._new_fields())
        return pa.RecordBatch.from_arrays([*batch.columns, *new], schema=schema)

    def notes(self) -> list[str]:
        """Return what was odd in the rows so far, one sentence each."""
        said = [unseen_note(f, self._framer.unseen.get(f.column)) for f in self._framer.features]
        if self._lacking:
            lacking = rows_without(self._lacking, self._rows, "prediction")
            said.append(f"{lacking} left without a set")
        if self._rescaled:
            said.append(rescaled_note(self._rescaled))
        said += [infinite_note(self._infinite, self._rows), empty_note(self._empty, self._rows)]
        return [note for note in said if note]

    def _new_fields(self) -> list[pa.Field]:
        fields = []
        if self._score is not None and self.model.classes is None:
            fields = [("lower", pa.float64()), ("upper", pa.float64())]
        elif self.model.classes is not None:
            fields = [("set", pa.list_(self.model.classes.type))]
        if self._has_groups:
            fields.append(("group", pa.int32()))
        fields.append(("threshold", pa.float64()))
        return [pa.field(self.prefix + name, kind) for name, kind in fields]

    def _new_columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        X = rule_input(self._framer, batch)
        groups, thresholds = assigned(self.model.rule, X)
        predicted = self._predicted(batch)
        lacking = ~predicted.present
        columns = self._sets(predicted, thresholds)
        if groups is not None:
            columns.append(pa.array(groups, pa.int32(), mask=lacking | (groups < 0)))
        columns.append(pa.array(thresholds, mask=lacking))
        self._rows += batch.num_rows
        self._lacking += int(lacking.sum())
        self._rescaled += predicted.rescaled
        self._infinite += int((np.isinf(thresholds) & predicted.present).sum())
        return columns

    def _predicted(self, batch: pa.RecordBatch) -> Predicted:
        if self._score is None:
            return Predicted(np.empty((batch.num_rows, 0)), np.ones(batch.num_rows, dtype=bool))
        return read_predictions(batch, self.model.roles)

    def _sets(self, predicted: Predicted, thresholds: FloatArray) -> list[pa.Array]:
        """Columns that hold the sets; none, for scores made elsewhere."""
        if self._score is None:
            return []
        present = predicted.present
        sets = self._score.invert(predicted.values[present], thresholds[present])
        self._empty += int(sets.is_empty.sum())
        if isinstance(sets, Intervals):
            low = np.where(sets.is_empty, np.inf, sets.lower)
            high = np.where(sets.is_empty, -np.inf, sets.upper)
            return [_spread(low, present), _spread(high, present)]
        return [_lists(sets.mask, present, self.model.classes)]


def assigned(rule: ThresholdRule, X: Any) -> Assigned:
    """Group (-1: none) and threshold of each row, without the rule's warnings: they are counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rule.assign(X)


def _spread(values: FloatArray, present: NDArray[np.bool_]) -> pa.Array:
    """Values at the rows that have one, null elsewhere."""
    if present.all():
        return pa.array(values)
    full = np.zeros(len(present))
    full[present] = values
    return pa.array(full, mask=~present)


def _lists(mask: NDArray[np.bool_], present: NDArray[np.bool_], classes: pa.Array) -> pa.Array:
    """Labels of each set as a list, null at rows without one."""
    sizes = np.zeros(len(present), dtype=np.int32)
    sizes[present] = mask.sum(axis=1)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    labels = classes.take(pa.array(np.nonzero(mask)[1]))
    return pa.ListArray.from_arrays(pa.array(offsets), labels, mask=pa.array(~present))


def _no_rows(fields: list[pa.Field]) -> list[pa.Array]:
    return [pa.array([], field.type) for field in fields]
