"""Columns of an audited table: what kind each is, and which are features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plcp._files import added_by_apply, find_column, is_free_text, is_identifier
from plcp._rows import (
    DATES,
    DURATIONS,
    NUMBERS,
    TEXT,
    column_kind,
    frame_package,
    is_boolean,
    is_frame,
)
from plcp.explain.columns import are_whole, date_text, number_text, round_date, round_number
from plcp.quantiles import FloatArray
from plcp.regressors.encoding import TableEncoder

if TYPE_CHECKING:
    import pandas as pd

SLACK = 0.05  # share of a bin that may change sides so that bins end at round numbers


@dataclass(frozen=True, eq=False)
class Scale:
    """Values of a column as numbers, NaN where missing; dates and durations in days."""

    values: FloatArray
    kind: str

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers, which are written by the first and the last."""
        return self.kind != DATES and are_whole(self.values)

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
    kind = column_kind(column)
    if kind in (None, TEXT) or is_boolean(column):
        return None
    if kind == NUMBERS and column.dtype != object:
        return Scale(column.to_numpy(dtype=float, na_value=np.nan), NUMBERS)
    return Scale(TableEncoder().fit_transform(column.to_frame())[:, 0], str(kind))


def as_pandas(table: Any) -> pd.DataFrame:
    """Return a pandas frame of a table of any library; a column's name is its text.

    Examples
    --------
    >>> as_pandas({"age": [31, 40], 7: [1.0, 2.0]}).columns.tolist()
    ['age', '7']
    """
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    if isinstance(frame, Mapping):
        pd = frame_package("pandas")

        try:
            frame = pd.DataFrame(frame)
        except ValueError as error:
            raise ValueError(f"no table can be made of these columns: {error}; fix them") from error
    if not is_frame(frame):
        raise ValueError(
            f"a table must be a DataFrame, an Arrow table or a dict of columns, got "
            f"{type(table).__name__}: put it into one of them"
        )
    names = [str(name) for name in frame.columns]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"the table has several columns named {twice[0]!r}: rename them")
    return frame.set_axis(names, axis=1)


def holds_lists(column: pd.Series) -> bool:
    """Whether values of a column are lists, records or the like, which are no kinds of rows.

    Examples
    --------
    >>> import pandas as pd
    >>> holds_lists(pd.Series([None, ["a"]])), holds_lists(pd.Series(["a", "b"]))
    (True, False)
    """
    nested = (list, tuple, set, dict, np.ndarray)
    return column.dtype == object and any(isinstance(value, nested) for value in column)


def choose_features(
    frame: pd.DataFrame, features: Sequence[str] | None, left_out: Iterable[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Columns to describe rows by, and notes on those that cannot serve.

    Those named, or else all but ``left_out``, without columns that hold no value, one value, lists,
    text that differs in most rows or whole numbers that differ in all, and without those that
    ``plcp apply`` has made.

    Examples
    --------
    >>> import pandas as pd
    >>> from plcp.evaluation import choose_features
    >>> rows = pd.DataFrame({"age": [31, 48, 31], "country": ["FR", "FR", "FR"]})
    >>> features, notes = choose_features(rows, None, left_out=[])
    >>> list(features.columns), notes[0]
    (['age'], "Column 'country' was not searched for kinds of rows: it is the same in every row.")
    """
    if features is not None:
        names = [find_column(name, list(frame.columns)) for name in features]
        for name in names:
            if holds_lists(frame[name]):
                raise ValueError(
                    f"column {name!r} holds lists, which describe no kinds of rows: drop it"
                )
        return frame[names], []
    hidden, ours = {*left_out}, added_by_apply(list(frame.columns))
    notes, names = [], []
    for name in frame.columns:
        if name in hidden:
            continue
        if reason := "was made by plcp apply" if name in ours else _unfit(frame[name]):
            notes.append(f"Column {name!r} was not searched for kinds of rows: it {reason}.")
        else:
            names.append(name)
    if notes:
        notes.append("To search such columns all the same, name all features.")
    return frame[names], notes


def _unfit(column: pd.Series) -> str | None:
    """Return why a column describes no kinds of rows, if it does not."""
    present = column.dropna()
    if present.empty:
        return "holds no value"
    if holds_lists(column):
        return "holds lists"
    if len(present) == len(column) > 1 and present.nunique() == 1:
        return "is the same in every row"
    if scale_of(column) is not None:
        return _numbering(present)
    distinct = present.astype(str).nunique()
    if is_free_text(len(present), distinct):
        return f"holds {distinct:,} different texts in {len(present):,} rows"
    return None


def _numbering(present: pd.Series) -> str | None:
    """Return why numbers describe no kinds of rows, if they name rows."""
    from pandas.api import types

    if not types.is_numeric_dtype(present) or types.is_bool_dtype(present):
        return None
    if (present % 1 == 0).all() and is_identifier(len(present), present.nunique()):
        return f"holds {len(present):,} whole numbers that all differ"
    return None
