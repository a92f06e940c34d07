"""The table: every entry point × every bad value of its arguments, and how each cell turns out."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import hostile_columns as columns
import hostile_dask as on_dask
import hostile_made as made
import hostile_objects as objects
import hostile_options as options
import numpy as np
from hostile_data import as_array, mixed, mixed_polars
from hostile_displays import DISPLAYS
from hostile_entries import SUBJECTS, Entry, of_estimator
from hostile_essence import difference
from hostile_functions import FUNCTIONS
from hostile_judging import ANSWERED, LAWFUL, UNDECIDED, fault_of, judged, told
from hostile_laws import SILENT
from hostile_other_rows import DRAWN, FEW_ROWS, PASSED_ON
from hostile_rows import ROWS
from hostile_services import SERVICES
from hostile_value import FIT, NEW, Bad

ENTRIES = {
    name: entry
    for subject_name, subject in SUBJECTS.items()
    for name, entry in of_estimator(subject_name, subject)
}
ENTRIES |= FUNCTIONS | SERVICES | DISPLAYS | made.MADE | on_dask.ON_DASK
VALUES: dict[str, Mapping[str, Bad]] = {
    "X": ROWS,
    "scores": columns.SCORES,
    "y": columns.NUMBERS,
    "numbers": columns.ONE_A_ROW,
    "sizes": columns.SIZES,
    "thresholds": columns.THRESHOLDS,
    "ends": columns.ENDS,
    "shares": columns.SHARES,
    "counts": columns.COUNTS,
    "codes": columns.CODES,
    "known": columns.KNOWN,
    "bands": columns.COLUMNS_OF_NUMBERS,
    "probabilities": columns.COLUMNS_OF_NUMBERS,
    "masks": columns.MASKS,
    "labels": columns.LABELS,
    "weights": columns.WEIGHTS,
    "covered": columns.COVERED,
    "groups": columns.GROUPS,
    "alpha": options.ALPHA,
    "n_groups": options.N_GROUPS,
    "cv": options.CV,
    "random_state": options.RANDOM_STATE,
    "few scores": columns.FEW_SCORES,
    "estimated scores": columns.ESTIMATED,
    "share": options.SHARE,
    "rows": options.ROWS,
    "seed": options.SEED,
    "few rows": FEW_ROWS,
    "drawn rows": DRAWN,
    "rows passed on": PASSED_ON,
    "positive": options.POSITIVE,
    "noise": options.NOISE,
    "times": options.TIMES,
    "column": options.COLUMN,
    "history": options.HISTORY,
    "tried": options.TRIED,
    "rules": objects.RULES,
    "state": objects.STATE,
    "exported": objects.EXPORTED,
    "saved": objects.SAVED,
    "to write": objects.TO_WRITE,
    "to read": objects.TO_READ,
    "trusted": objects.TRUSTED,
    "audited": made.AUDITED,
    "audited lower": made.LOWER,
    "audited upper": made.UPPER,
    "judged": made.JUDGED,
    "tables": made.TABLES,
    "by": made.BY,
    "rows on dask": on_dask.DASK_ROWS,
    "new rows on dask": on_dask.DASK_NEW,
    "scores on dask": on_dask.DASK_SCORES,
    "responses on dask": on_dask.DASK_RESPONSES,
    "labels on dask": on_dask.DASK_LABELS,
}


UNITS = ("any unit", "double precision")  # a law of some, which others need not refuse
Change = Callable[[Any], Any]


class Cell(NamedTuple):
    """An entry point, one of its arguments, and the name of a bad value for it."""

    entry: str
    argument: str
    value: str

    @property
    def bad(self) -> Bad:
        return VALUES[kind(ENTRIES[self.entry], self.argument)][self.value]


def kind(entry: Entry, argument: str) -> str:
    return entry.kind_of.get(argument, argument)


def cells(name: str) -> Iterator[Cell]:
    """Every cell of an entry point that means something."""
    entry = ENTRIES[name]
    for argument in entry.given:
        for value, bad in VALUES.get(kind(entry, argument), {}).items():
            if is_meant(entry, argument, bad):
                yield Cell(name, argument, value)


def is_meant(entry: Entry, argument: str, bad: Bad) -> bool:
    if bad.beside and sum(np.ndim(value) > 0 for value in entry.given.values()) == 1:
        return False
    if bad.needs in UNITS and bad.needs not in entry.takes:
        return False
    if argument == "X" and entry.kind_of:  # a function has no rows that it was fitted to
        return bad.when != NEW
    if bad.base in (mixed, mixed_polars) and not entry.fits and "text" not in entry.takes:
        return False  # nobody was fitted to it
    return bad.when in ("", FIT if entry.fits else NEW)


def try_cell(cell: Cell) -> str:
    """How a cell turns out: ANSWERED, LAWFUL or REFUSED, else what is wrong with it."""
    entry, bad = ENTRIES[cell.entry], cell.bad
    clean = bad.base(entry.given[cell.argument])
    given = {
        name: value[: bad.rows] if bad.rows is not None and np.ndim(value) else value
        for name, value in entry.given.items()
    }
    if cell.argument == "X" and not entry.kind_of:
        given["base"] = bad.base  # what an estimator that is asked about it was fitted to
    given[cell.argument] = bad.make(clean)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            answer = entry.call(**given)
        except Exception as error:
            if is_answered(entry, bad):
                return f"answer expected, got {told(error)}"
            return judged(error, bad.words)
        if not is_answered(entry, bad):
            return "not refused"
        return fault_of(answer, said, bad.warns) or compared(cell, given, answer)


def is_answered(entry: Entry, bad: Bad) -> bool:
    return not bad.words or bad.needs in entry.takes


def compared(cell: Cell, given: dict[str, Any], answer: Any) -> str:
    """How an answer turns out beside that of the clean value, or by every law that is known."""
    entry, bad = ENTRIES[cell.entry], cell.bad
    if bad.like is not None and bad.unless not in entry.takes:
        return difference(answer, clean_answer(cell), bad.precision) or ANSWERED
    if bad.keeps is not None and "folds" not in entry.takes:
        return difference(answer, answer_of_the_kept(cell, given), None) or LAWFUL
    laws = entry.laws if bad.law is None else (*entry.laws, bad.law)
    found = {law: law(entry, cell.entry, bad, given, answer) for law in laws}
    spoken = {law.__qualname__: fault for law, fault in found.items() if fault != SILENT}
    faults = [f"{law}: {fault}" for law, fault in spoken.items() if fault is not None]
    return faults[0] if faults else LAWFUL if spoken else UNDECIDED


def clean_answer(cell: Cell) -> Any:
    bad = cell.bad
    return answer_to(
        cell.entry, cell.argument, bad.like, bad.like_base or bad.base, bad.rows, bad.base
    )


@cache
def answer_to(
    name: str, argument: str, like: Change, base: Change, rows: int | None, made_from: Change
) -> Any:
    """The answer to clean arguments, of which many values are changes."""
    entry = ENTRIES[name]
    given = {
        key: value[:rows] if rows is not None and np.ndim(value) else value
        for key, value in entry.given.items()
    }
    if argument == "X" and not entry.kind_of:
        given["base"] = base
    given[argument] = like((base if base is as_array else made_from)(entry.given[argument]))
    return entry.call(**given)


def answer_of_the_kept(cell: Cell, given: dict[str, Any]) -> Any:
    """The answer where rows that weigh nothing are absent."""
    entry, bad = ENTRIES[cell.entry], cell.bad
    rows = bad.keeps(given[cell.argument])
    kept = {name: value[rows] if np.ndim(value) else value for name, value in given.items()}
    return entry.call(**kept) if entry.kind_of else entry.call(**kept, rows=rows)
