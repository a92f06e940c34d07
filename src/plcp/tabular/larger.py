"""Calibration on a table on disk that may be larger than memory."""

from dataclasses import replace
from typing import Any

from plcp.files import TableFile
from plcp.tabular.calibration import learn
from plcp.tabular.counting import Counting
from plcp.tabular.fitting import Options, fit_in_memory
from plcp.tabular.methods import METHODS
from plcp.tabular.model import TabularModel
from plcp.tabular.roles import Roles

IN_MEMORY = ("rectified", "batch-gcp")  # methods that look at all their rows at once


def calibrate_file(
    file: TableFile, roles: Roles, *, most: int = 1_000_000, **options: Any
) -> TabularModel:
    """Learn from a table on disk, of whose rows at most ``most`` are held in memory.

    Of more rows, so many are drawn, and teach the groups; the thresholds are read off all rows, by
    counting. Split and Mondrian learn the same, to the last bit, as from all rows in memory.
    Rectified and BatchGCP, and any method with weights, stay with the rows drawn; the model's
    notes say so.

    Parameters
    ----------
    file : TableFile
        The calibration rows.
    roles : Roles
        Which column is what.
    most : int, default=1_000_000
        How many rows to hold.
    **options
        Those of `calibrate`.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from plcp.files import create_table, open_table
    >>> from plcp.tabular import choose_roles
    >>> table = pa.table({"s": range(99)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with create_table(f"{folder}/cal.parquet", table.schema) as writer:
    ...         writer.write(table.to_batches()[0])
    ...     file = open_table(f"{folder}/cal.parquet")
    ...     calibrate_file(file, choose_roles(["s"], score="s"), most=5, method="split").rule
    ...
    SplitConformal()
    """
    model = _calibrated(file, roles, most, Options(**options))
    file.check_unchanged()
    return model


def _calibrated(file: TableFile, roles: Roles, most: int, asked: Options) -> TabularModel:
    columns = _in_use(file, roles, asked)
    sample = file.draw(columns, most=_to_draw(file, most, asked.method), seed=asked.seed)
    if file.n_rows == len(sample.rows):
        return learn(sample.table, roles, asked, fit_in_memory)
    if asked.method in IN_MEMORY or roles.weight is not None:
        model = learn(sample.table, roles, asked, fit_in_memory)
        whose = f"the method {asked.method}" if roles.weight is None else "a weighted table"
        told = f"No others were used: the rows of {whose} must be in memory; --rows takes more."
        notes = (f"{note} {told}" for note in file.sample_note(len(sample.rows)))
        return replace(model, notes=(*notes, *model.notes))
    return learn(sample.table, roles, asked, Counting(file, columns, sample.rows).fit)


def _in_use(file: TableFile, roles: Roles, asked: Options) -> list[str]:
    """Columns that are read: of many features none, where the method looks at none."""
    used = {*roles.unknown_later, *roles.predictions, *(asked.by or ()), *asked.sensitive}
    if asked.method not in METHODS or METHODS[asked.method].looks_at == "features":
        used.update(roles.features)
    return [name for name in file.schema.names if name in used]


def _to_draw(file: TableFile, most: int, method: str) -> int:
    """How many rows to draw: of more than fit, those that calibrate alone must not be few."""
    if method == "plcp-split" and file.n_rows is not None and file.n_rows > most:
        return min(most, file.n_rows // 2)
    return most
