"""Columns that can be cut: numbers, dates and durations, and how a person writes their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plcp.explain.cuts import date_text, number_text, round_date, round_number
from plcp.indices.tables import DATES, DURATIONS, NUMBERS, TEXT, TableEncoder
from plcp.quantiles import FloatArray

if TYPE_CHECKING:
    import pandas as pd

SLACK = 0.05  # share of a bin that may change sides so that bins end at round numbers
LARGEST_WHOLE = 2.0**53  # beyond it a double has no neighbour at distance one


@dataclass(frozen=True, eq=False)
class Scale:
    """Values of a column as numbers, NaN where missing; dates and durations in days."""

    values: FloatArray
    kind: str

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers, which are told by the first and the last."""
        finite = self.values[np.isfinite(self.values)]
        is_whole = (np.abs(finite) < LARGEST_WHOLE) & (finite == np.floor(finite))
        return self.kind != DATES and bool(is_whole.all())

    def text(self, value: float) -> str:
        """Return one value as the data have it."""
        if self.kind == DATES:
            return date_text(value)
        unit = " day" if value == 1 else " days"
        return number_text(value) + unit * (self.kind == DURATIONS)

    def cuts(self, n_bins: int) -> list[float]:
        """Round values that part the rows into bins of about as many; each begins a bin."""
        ordered = np.sort(self.values[~np.isnan(self.values)])
        slack = int(SLACK * len(ordered) / n_bins)
        found = {self._cut(ordered, len(ordered) * i // n_bins, slack) for i in range(1, n_bins)}
        return sorted(cut for cut in found if ordered[0] < cut <= ordered[-1])

    def _cut(self, ordered: FloatArray, rank: int, slack: int) -> float:
        """Round value near a rank, on the nearer side of a value that many rows share."""
        below = ordered[max(rank - 1 - slack, 0)]
        above = ordered[min(rank + slack, len(ordered) - 1)]
        if below == above:
            first, end = np.searchsorted(ordered, above), np.searchsorted(ordered, above, "right")
            if end == len(ordered) or rank - first <= end - rank:
                below = ordered[max(first - 1, 0)]
            else:
                above = ordered[end]
        if below == above:  # the least value begins the first bin anyway
            return float(above)
        if self.kind == DATES:
            return round_date(float(below), float(above))
        return round_number(float(below), float(above), whole=self.is_whole)

    def words(self, low: float | None, high: float | None) -> str:
        """Say that low ≤ x < high; None is no bound.

        Examples
        --------
        >>> ages = Scale(np.array([16.0, 90.0]), "numbers")
        >>> ages.words(None, 31), ages.words(31, 46), ages.words(46, None)
        ('up to 30', '31 to 45', '46 and over')
        """
        is_date, is_whole = self.kind == DATES, self.is_whole
        first = "" if low is None else self.text(low)
        last = "" if high is None else self.text(high - 1 if is_whole else high)
        if high is None:
            return f"from {first} on" if is_date else f"{first} and over"
        if is_whole and first:
            return f"is {first}" if first == last else f"{first} to {last}"
        bound = "up to" if is_whole else "before" if is_date else "under"
        return f"{first} to {bound} {last}" if first else f"{bound} {last}"


def scale_of(column: pd.Series) -> Scale | None:
    """Return the numbers of a column that can be cut; None if it holds categories."""
    from pandas.api import types

    kind = column.dtype
    is_text = types.is_string_dtype(kind) and not types.is_object_dtype(kind)
    if is_text or types.is_bool_dtype(kind) or isinstance(kind, types.CategoricalDtype):
        return None
    if column.isna().all() or types.infer_dtype(column, skipna=True) == "boolean":
        return None
    if types.is_numeric_dtype(kind) and not types.is_complex_dtype(kind):
        return Scale(column.to_numpy(dtype=float, na_value=np.nan), NUMBERS)
    encoder = TableEncoder().fit(column.to_frame())
    found = encoder.kinds_[0]
    if found is None or found == TEXT:
        return None
    return Scale(encoder.transform(column.to_frame())[:, 0], found)
