"""The table: every entry point × every bad value of its arguments, and how each cell turns out."""

import warnings
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import hostile_columns as columns
import hostile_options as options
import numpy as np
from hostile_data import mixed, mixed_polars
from hostile_entries import SUBJECTS, Entry, of_estimator
from hostile_functions import FUNCTIONS
from hostile_judging import ANSWERED, SOUND, difference, fault_of, judged, told
from hostile_rows import ROWS
from hostile_value import FIT, NEW, Bad

ENTRIES = {
    name: entry
    for subject_name, subject in SUBJECTS.items()
    for name, entry in of_estimator(subject_name, subject)
} | FUNCTIONS
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
    "optional alpha": options.OPTIONAL_ALPHA,
    "n_groups": options.N_GROUPS,
    "cv": options.CV,
    "random_state": options.RANDOM_STATE,
}


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
    if argument == "X" and entry.kind_of:  # a function has no rows that it was fitted to
        return bad.when != NEW
    if bad.base in (mixed, mixed_polars) and not entry.fits and "text" not in entry.takes:
        return False  # nobody was fitted to it
    return bad.when in ("", FIT if entry.fits else NEW)


def try_cell(cell: Cell) -> str:
    """How a cell turns out: ANSWERED, SOUND or REFUSED, else what is wrong with it.

    An answer that has none to be compared with is SOUND if it has no NaN and mutters nothing.
    """
    entry, bad = ENTRIES[cell.entry], cell.bad
    clean = bad.base(entry.given[cell.argument])
    answered = bad.either or not bad.words or bad.needs in entry.takes
    given = {
        name: value[: bad.rows] if bad.rows is not None and np.ndim(value) else value
        for name, value in entry.given.items()
    }
    if cell.argument == "X" and not entry.kind_of:
        given["base"] = bad.base  # what an estimator that is asked about it was fitted to
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            answer = entry.call(**given | {cell.argument: bad.make(clean)})
        except Exception as error:
            if answered and not bad.either:
                return f"answer expected, got {told(error)}"
            return judged(error, bad.words)
        if not answered:
            return "not refused"
        fault = fault_of(answer, said, bad.warns)
        if fault is None and bad.like is not None:
            right = entry.call(**given | {cell.argument: bad.like(clean)})
            fault = difference(answer, right, bad.precision)
    return fault or (SOUND if bad.like is None else ANSWERED)
