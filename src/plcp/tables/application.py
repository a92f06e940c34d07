"""Apply a model: add sets, groups and thresholds to the rows of a table, part by part."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from plcp._files import find_column
from plcp.quantiles import FloatArray
from plcp.sets import Intervals
from plcp.tables.columns import LABELS, Framer, rule_input
from plcp.tables.csv import DelimitedTable, Dialect
from plcp.tables.folders import FolderTable, Part, write_folder_atomically
from plcp.tables.io import (
    CSV,
    ParquetTable,
    TableFile,
    check_output_table,
    create_table,
    format_of,
    prefetch,
)
from plcp.tables.model import TabularModel
from plcp.tables.roles import CsvOptions
from plcp.tables.scores import Predicted, read_predictions, rescaled_note, rows_without
from plcp.thresholds import ThresholdRule
from plcp.thresholds.base import Assigned, never_crossing
from plcp.thresholds.labels import LabelConditional, has_groups

NAMED = 3  # values listed by name


def unseen_notes(framer: Framer, by: str = "calibration rows") -> list[str]:
    """Note which values the rows so far had that calibration rows lack, and what they become."""
    notes = []
    for feature in framer.features:
        if unseen := framer.unseen.get(feature.column):
            n = unseen.total()
            holds = "1 row holds a value" if n == 1 else f"{n:,} rows hold values"
            often = ", ".join(f"{value!r}: {count:,}" for value, count in unseen.most_common(NAMED))
            others = len(unseen) - NAMED
            if others > 0:
                often += f", and {others:,} other value{'' if others == 1 else 's'}"
            is_label = feature.kind == LABELS
            fate = "belong to no group of that column" if is_label else "count as missing"
            notes.append(f"{holds} of {feature.column!r} that {by} lack ({often}): they {fate}")
    return notes


class Applier:
    """Adds sets, groups and thresholds to batches of new rows, and counts what is odd in them.

    ``lower`` and ``upper``, or ``set``, then ``group`` if the rule has groups, and ``threshold``;
    for a further miscoverage rate ``lower_0.05`` and so on. Sets of a row are nested. Where each
    label has a threshold of its own, ``threshold`` lists them in the order of the classes.
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
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from plcp.tables import Applier, calibrate, choose_roles
    >>> table = pa.table({"y": np.arange(1.0, 20), "yhat": np.zeros(19)})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> applier = Applier(calibrate(table, roles, method="split"))
    >>> new = pa.record_batch({"yhat": [0.0, None]})
    >>> applier.apply(new).to_pylist()[0]
    {'yhat': 0.0, 'lower': -18.0, 'upper': 18.0, 'threshold': 18.0}
    >>> applier.notes()
    ['1 of 2 rows has no finite prediction and is left without a set']
    """

    def __init__(self, model: TabularModel, prefix: str = "") -> None:
        self.model = model
        self.prefix = prefix
        self._framer = Framer(model.features)
        self._score = model.conformity
        self._has_groups = has_groups(model.rule)
        self._by_label = isinstance(model.rule, LabelConditional)
        self._rows = self._lacking = self._rescaled = self._infinite = self._empty = 0

    def schema(self, given: pa.Schema, where: str = "the table") -> pa.Schema:
        """Return the columns of the output, after a check of the input."""
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
        return pa.schema([*given, *fields], given.metadata)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with the new columns."""
        schema, new = self.schema(batch.schema), self.new_columns(batch)
        return pa.RecordBatch.from_arrays([*batch.columns, *new.columns], schema=schema)

    def new_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the new columns alone."""
        fields = self._new_fields()
        if batch.num_rows:
            return pa.RecordBatch.from_arrays(self._new_columns(batch), schema=pa.schema(fields))
        return pa.RecordBatch.from_pylist([], pa.schema(fields))

    def notes(self) -> list[str]:
        """Return what was odd in the rows so far, one sentence each."""
        notes = unseen_notes(self._framer)
        if self._lacking:
            lacking = rows_without(self._lacking, self._rows, "finite prediction")
            notes.append(f"{lacking} left without a set")
        if self._rescaled:
            notes.append(rescaled_note(self._rescaled))
        if self._infinite:
            sets = "1 set holds" if self._infinite == 1 else f"{self._infinite:,} sets hold"
            what = "some label, however improbable" if self._by_label else "every outcome"
            notes.append(
                f"{sets} {what}, of {self._rows:,} rows: calibration has too few rows of "
                f"{'that label' if self._by_label else 'their kind'} for a finite threshold"
            )
        if self._empty:
            sets = f"{self._empty:,} of {self._rows:,} sets"
            are = "is" if self._empty == 1 else "are"
            notes.append(f"{sets} {are} empty: no outcome is near enough")
        return notes

    def _new_fields(self) -> list[pa.Field]:
        sets = []
        if self._score is not None and self.model.classes is None:
            sets = [("lower", pa.float64()), ("upper", pa.float64())]
        elif self.model.classes is not None:
            sets = [("set", pa.list_(self.model.classes.type))]
        one = pa.float64()
        threshold = ("threshold", pa.list_(one) if self._by_label else one)
        groups = [("group", pa.int32())]
        fields = [*sets, *(groups if self._has_groups else ()), threshold]
        for alpha in self.model.alphas[1:]:
            fields += [(f"{name}_{alpha:g}", kind) for name, kind in (*sets, threshold)]
        return [pa.field(self.prefix + name, kind) for name, kind in fields]

    def _new_columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        X = rule_input(self._framer, batch)
        groups, thresholds = assigned(self.model.rule, X)
        others: list[FloatArray] = []
        if self.model.others:
            more = [assigned(rule, X).thresholds for rule in self.model.others]
            nested = never_crossing(self.model.alphas, np.stack([thresholds, *more], axis=-1))
            thresholds, *others = np.moveaxis(nested, -1, 0)
        if self._score is None:
            predicted = Predicted(np.empty((len(batch), 0)), np.ones(len(batch), dtype=bool))
        else:
            predicted = read_predictions(batch, self.model.roles)
        lacking = ~predicted.present
        columns, empty = self._sets(predicted, thresholds)
        if groups is not None:
            columns.append(pa.array(groups, pa.int32(), mask=lacking | (groups < 0)))
        columns.append(_thresholds(thresholds, lacking))
        for other in others:
            columns += [*self._sets(predicted, other)[0], _thresholds(other, lacking)]
        self._rows += batch.num_rows
        self._lacking += int(lacking.sum())
        self._empty += empty
        self._rescaled += predicted.rescaled
        infinite = np.isinf(thresholds).reshape(len(batch), -1).any(axis=1)
        self._infinite += int((infinite & predicted.present).sum())
        return columns

    def _sets(self, predicted: Predicted, thresholds: FloatArray) -> tuple[list[pa.Array], int]:
        """Columns that hold the sets, none for scores made elsewhere; and how many are empty."""
        if self._score is None:
            return [], 0
        present = predicted.present
        sets = self._score.invert(predicted.values[present], thresholds[present])
        empty = int(sets.is_empty.sum())
        if isinstance(sets, Intervals):
            low = np.where(sets.is_empty, np.inf, sets.lower)
            high = np.where(sets.is_empty, -np.inf, sets.upper)
            return [_spread(low, present), _spread(high, present)], empty
        return [_lists(sets.mask, present, self.model.classes)], empty


def assigned(rule: ThresholdRule, X: Any) -> Assigned:
    """Group (-1: none) and threshold of each row, without the rule's warnings: they are counted.

    A rule for each label gives the thresholds of all of them, one column each.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(rule, LabelConditional):
            return Assigned(None, rule.predict_each(X))
        return rule.assign(X)


def _thresholds(values: FloatArray, lacking: NDArray[np.bool_]) -> pa.Array:
    """Thresholds of all rows, or a list of them in each row; null where a prediction lacks."""
    if values.ndim == 1:
        return pa.array(values, mask=lacking)
    ends = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.ListArray.from_arrays(pa.array(ends), values.ravel(), mask=pa.array(lacking))


def _spread(values: FloatArray, present: NDArray[np.bool_]) -> pa.Array:
    """Values at the rows that have one, null elsewhere."""
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


def serve(
    applier: Applier,
    table: TableFile,
    out: Path,
    *,
    force: bool = False,
    csv: CsvOptions | None = None,
    advance: Callable[[int], None] = lambda rows: None,
) -> int:
    r"""Write the rows of a table with their sets, and return how many there are.

    What the columns are parsed as for the model does not touch what is written. From CSV to CSV,
    records are copied byte for byte; to other formats a column of CSV gets the type in which each
    value gives the same text back, and is text if there is none.

    A folder of parts becomes a folder with a part for each, of the same names, if the name of
    ``out`` has no ending; else all rows go to one file. Nothing is there before all is written,
    and no more than a few batches are in memory.

    Parameters
    ----------
    applier : Applier
        What adds the sets.
    table : TableFile
        The rows.
    out : Path
        Where they go.
    force : bool, default=False
        Whether what is there may be replaced; it may be the table itself.
    csv : CsvOptions or None
        How a CSV file is written.
    advance : callable
        Called with the number of rows written since its last call.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from plcp.tables import Applier, calibrate, choose_roles, serve
    >>> table = pa.table({"x": range(19), "y": range(1, 20), "yhat": [0.0] * 19})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> model = calibrate(table, roles, method="split")
    >>> from plcp.tables.io import open_table
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     _ = (folder / "new.csv").write_text("yhat\n0.5\n")
    ...     n = serve(Applier(model), open_table(folder / "new.csv"), folder / "sets.csv")
    ...     print((folder / "sets.csv").read_text().strip())
    yhat,lower,upper,threshold
    0.5,-17.5,18.5,18
    """
    check_output_table(table.path, out, force)
    if not isinstance(table, FolderTable) or out.suffix:
        return _serve(applier, table, table, out, force, csv, advance)
    rows = 0
    with write_folder_atomically(out, force=force) as folder:
        for part in table.parts:
            path = folder / part.inside
            path.parent.mkdir(parents=True, exist_ok=True)
            rows += _serve(applier, part, part.file, path, force, csv, advance)
    return rows


def _serve(
    applier: Applier,
    table: TableFile,
    file: TableFile,
    out: Path,
    force: bool,
    csv: CsvOptions | None,
    advance: Callable[[int], None],
) -> int:
    """Write one file: the rows as ``file`` holds them, and what ``table`` gives to the model."""
    given = applier.schema(table.schema, str(table.path))
    added = pa.schema([field for field in given if field.name not in table.schema.names])
    needed = applier.model.needed or table.schema.names[:1]
    to, rows = format_of(out), 0
    copied = file if to is CSV and isinstance(file, DelimitedTable) else None
    if copied and Dialect.of(out, csv).writes_like(copied.dialect):
        schema, batches = added, (applier.new_columns(batch) for batch in table.batches(needed))
    else:
        copied, kept = None, file.as_written(to)
        schema = pa.schema([*kept.schema, *added], kept.schema.metadata)
        pairs: Iterable[tuple[pa.RecordBatch, pa.RecordBatch]]
        if kept is not file:
            pairs = zip(kept.batches(), table.batches(needed), strict=True)
        else:
            as_common = table.as_common if isinstance(table, Part) else lambda batch: batch
            pairs = ((batch, as_common(batch)) for batch in file.batches())
        batches = (
            pa.RecordBatch.from_arrays(
                [*own.columns, *applier.new_columns(parsed).columns], schema=schema
            )
            for own, parsed in pairs
        )
    int96 = isinstance(file, ParquetTable) and file.int96
    with create_table(out, schema, force=force, csv=csv, after=copied, int96=int96) as writer:
        # the next batch is made while this one is written
        for batch in prefetch(batches):
            writer.write(batch)
            rows += len(batch)
            advance(len(batch))
    return rows
