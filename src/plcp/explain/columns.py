"""Columns of a table as numbers that can be cut, and ranges of them in words."""

from itertools import pairwise
from typing import Any

import numpy as np

from plcp.explain.cuts import date_text, number_text, round_date, round_number
from plcp.indices.tables import TableEncoder
from plcp.quantiles import FloatArray
from plcp.rows import is_frame

MOST_CUTS = 255  # finer ones have more digits, and say little more
SLACK = 0.25  # of the rows between two cuts may be given up on either side for a rounder one
LARGEST_WHOLE = 2.0**53  # beyond it a double has no neighbour at distance one


class Column:
    """Numbers: read from a table, cut at round values, and ranges of them told in words.

    A range is half open, low ≤ x < high, and None where it has no end. Whole numbers are told by
    the first and last of them: SCHL ≥ 23, not SCHL > 22.5.

    Parameters
    ----------
    name : object
        Name in a DataFrame, or place in an array.
    encoder : TableEncoder or None
        Fitted to the column alone; None for an array of numbers.
    X : table
        Rows to learn from.
    """

    unit = ""

    def __init__(self, name: Any, encoder: TableEncoder | None, X: Any) -> None:
        self.name, self.label = name, f"x{name}" if encoder is None else str(name)
        self._encoder = encoder
        self.has_missing, self.whole = False, True
        self.meet(self.read(X))

    def meet(self, values: FloatArray) -> None:
        """Note what words must tell of these values too: gaps, and fractions."""
        self.has_missing |= bool(np.isnan(values).any())
        finite = values[np.isfinite(values)]
        near = np.abs(finite) < LARGEST_WHOLE
        self.whole &= bool((near & (finite == np.floor(finite))).all())

    def read(self, X: Any) -> FloatArray:
        """Values in the rows of X; nan is missing."""
        if self._encoder is None:
            return _numbers(X, self.name)
        return self._encoder.transform(alone(X, self.name))[:, 0]

    def cuts(self, values: FloatArray, most: int = MOST_CUTS) -> FloatArray:
        """Cuts between any two values, or, if they are many, ``most`` that part rows evenly."""
        known = np.unique(values[~np.isnan(values)])
        if len(known) <= most + 1:
            return np.array([self.cut(*pair) for pair in pairwise(known.tolist())])
        shares = (np.arange(1, most + 1)[:, None] + [-SLACK, SLACK]) / (most + 1)
        first, last = np.searchsorted(known, np.nanquantile(values, shares, method="lower").T)
        # a value so common that it fills the slack is parted from both of its neighbours
        common = first[first == last]
        below = np.concatenate([first[first < last], common - 1, common])
        above = np.concatenate([last[first < last], common, common + 1])
        inner = (below >= 0) & (above < len(known))
        pairs = zip(known[below[inner]].tolist(), known[above[inner]].tolist(), strict=True)
        return np.unique([self.cut(*pair) for pair in pairs])

    def cut(self, below: float, above: float) -> float:
        """Round value c that parts two neighbours: below < c ≤ above."""
        return round_number(below, above, whole=self.whole)

    def words(self, low: float | None, high: float | None) -> str:
        """Say that x lies in a range that has an end."""
        sign, last = ("<", high) if high is None or not self.whole else ("≤", high - 1)
        if last is None:
            return f"{self.label} ≥ {self._text(low)}"
        if low is None:
            return f"{self.label} {sign} {self._text(last)}"
        if low == last:
            return f"{self.label} = {self._text(low)}"
        return f"{self._text(low)} ≤ {self.label} {sign} {self._text(last)}"

    def value_words(self, value: float) -> str:
        """Say that x is one value."""
        return f"{self.label} is {self._text(value)}"

    def rounded(self, value: float) -> str:
        """Return a value that is told, not compared with: three digits, or the whole number."""
        return (
            number_text(float(f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}")) + self.unit
        )

    def _text(self, value: float | None) -> str:
        return "" if value is None else number_text(value) + self.unit


class DurationColumn(Column):
    """Durations, in days."""

    unit = " days"


class TruthColumn(Column):
    """Booleans: x is true, x is false."""

    def words(self, low: float | None, high: float | None) -> str:
        """Say which of the two it is."""
        return f"{self.label} is {'false' if low is None else 'true'}"

    def value_words(self, value: float) -> str:
        """Say which of the two it is."""
        return f"{self.label} is {'true' if value else 'false'}"


class DateColumn(Column):
    """Dates, cut at the start of a year, month, day, …; those of a time zone are in UTC."""

    def cut(self, below: float, above: float) -> float:
        """Round date that parts two neighbours."""
        return round_date(below, above)

    def words(self, low: float | None, high: float | None) -> str:
        """Say that x lies in a range of dates that has an end."""
        if high is None:
            return f"{self.label} from {self._text(low)} on"
        if low is None:
            return f"{self.label} before {self._text(high)}"
        return f"{self._text(low)} ≤ {self.label} < {self._text(high)}"

    def rounded(self, value: float) -> str:
        """Return the day."""
        return date_text(np.floor(value))

    def _text(self, value: float | None) -> str:
        return "" if value is None else date_text(value)


def _numbers(X: Any, place: int) -> FloatArray:
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] <= place:
        raise ValueError(
            f"no column x{place} in X of shape {array.shape}, which the rule asks about: give as "
            "many columns as in fit"
        )
    return array[:, place].astype(float)


def alone(X: Any, name: Any) -> Any:
    """Return the table of one column of a table."""
    if not is_frame(X):
        raise ValueError(f"the rule was learned from a table with a column {str(name)!r}: give one")
    if name not in list(X.columns):
        raise ValueError(f"no column {str(name)!r} in X, which the rule asks about: add it")
    return X[[name]]
