"""A value that somebody hands in by mistake, and what is to become of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from hostile_data import as_array

FIT, NEW = "fit", "new"
BIG = 2**53  # whole numbers beyond it are not all floats


@dataclass(frozen=True)
class Bad:
    """One value in place of a clean one.

    It must be refused with ``words``; without words, or by an entry point that takes what it
    ``needs``, it must be answered as ``like`` would be (None: as laws say, see ``hostile_laws``).
    "As" is to the bit, but to half of the digits where numbers are rounded on the way.
    """

    make: Callable[[Any], Any]
    words: str = ""
    needs: str = ""
    like: Callable[[Any], Any] | None = None
    base: Callable[[Any], Any] = as_array  # what it is a change of, and others are fitted to
    when: str = ""  # only in fit, or only of new rows
    rows: int | None = None  # how many are left, of the other arguments too
    warns: type[Warning] | None = None
    unit: float = 2.0**-40  # in which the answer is the same number
    like_base: Callable[[Any], Any] | None = None  # what ``like`` is a change of, if not ``base``
    unless: str = ""  # what entry points take by whom laws are kept in the place of ``like``
    row: int | None = None  # the only one that is changed
    law: Callable[..., str | None] | None = None  # of its own, see ``hostile_laws``
    keeps: Callable[[Any], Any] | None = None  # rows that an answer to no others would be like
    beside: bool = False  # whether it means something only beside other arrays
    precision: Any = None  # of floats that are rounded on the way, in another order or type


def same(make, **options):
    """Return what has the answer of the clean value."""
    return Bad(make, like=as_array, **options)


def refused(make, words, **options):
    return Bad(make, words, **options)


def some(values, names):
    """Values by their names, between commas."""
    return {name: values[name] for name in names.split(", ")}


def put(place, value, dtype=None):
    """Return a change of one place of an array."""

    def change(array):
        changed = np.array(array, dtype=dtype)
        changed[place] = value
        return changed

    return change


def put_in_frame(value, row=3, column="b"):
    def change(frame):
        if isinstance(frame, pl.DataFrame):
            return polars_with(frame, row, column, value)
        changed = frame.copy()
        changed[column] = changed[column].astype(object)
        changed.loc[row, column] = value
        return changed if isinstance(value, str) else changed.infer_objects()

    return change


def polars_with(frame, row, column, value):
    values = frame[column].to_list()
    values[row] = value
    return frame.with_columns(pl.Series(column, values, strict=False))


def read_only(array):
    array = np.array(array)
    array.setflags(write=False)
    return array


def strided(array):
    """Every other one of twice as many, from behind."""
    return np.repeat(np.asarray(array)[::-1], 2, axis=0)[::-2]


def masked(array):
    hidden = np.zeros(np.shape(array), dtype=bool)
    hidden[3] = True
    return np.ma.array(array, mask=hidden)


def nothing_masked(array):
    return np.ma.array(array, mask=False)


def objects(array):
    return np.asarray(array).astype(object)


def as_text(array):
    return np.asarray(array).astype(str)


def scaled(factor):
    return lambda array: np.asarray(array) * factor


def first(n):
    return lambda values: values[:n]


def column_of(value, column=1):
    """A column constant: the second, unless another is named."""
    return put((slice(None), column), value)


NO_SPARSE = r"[Ss]parse.*toarray"
MASKED = r"masked.*filled"
NO_GAPS = r"(?s)(NaN|nan|missing).*(impute|drop|HistGradient|leave out)"
NO_INFINITY = r"inf"
NO_TEXT = r"text|no numbers|hold numbers|give it the type"
EMPTY = r"0 sample\(s\)|empty|0 rows|at least one row|n at least 1"
FEW = (
    r"n_samples ?= ?1|1 sample|one row|1 rows|at most|so few|hold no calibration point|sums to zero"
    "|two groups at least|at least one non-zero"
)
