"""The columns of a table, each by its kind."""

from collections import Counter
from typing import Any

import numpy as np

from plcp.explain.categories import CategoryColumn
from plcp.explain.columns import Column, DateColumn, DurationColumn, TruthColumn
from plcp.floats import as_floats
from plcp.indices.tables import DATES, DURATIONS, TEXT, TableEncoder
from plcp.quantiles import FloatArray
from plcp.rows import is_frame

KINDS: dict[str | None, type[Column]] = {DATES: DateColumn, DURATIONS: DurationColumn}


def read_columns(X: Any, y: FloatArray, min_rows: int) -> list[Column]:
    """Columns of a DataFrame or of an array of numbers.

    Parameters
    ----------
    X : DataFrame or array
        Rows to learn from.
    y : array
        What orders categories.
    min_rows : int
        A category with fewer rows is rare.

    Examples
    --------
    >>> [column.label for column in read_columns(np.zeros((3, 2)), np.zeros(3), 1)]
    ['x0', 'x1']
    """
    if not is_frame(X):
        array = np.asarray(X)
        array = as_floats("X", array) if array.dtype.kind == "O" else array
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise ValueError(
                f"X must be a DataFrame or a table of numbers, got an array of {array.dtype} and "
                f"shape {array.shape}: give a DataFrame"
            )
        return [Column(place, None, array) for place in range(array.shape[1])]
    counts = Counter(map(str, X.columns))
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"X has several columns named {', '.join(twice)}: rename them")
    return [_column(X, name, y, min_rows) for name in X.columns]


def _column(X: Any, name: Any, y: FloatArray, min_rows: int) -> Column:
    encoder = TableEncoder().fit(X[[name]])
    kind = encoder.kinds_[0]
    if kind == TEXT:
        return CategoryColumn(name, encoder, X, y, min_rows)
    if str(X[name].dtype).lower().startswith("bool"):
        return TruthColumn(name, encoder, X)
    return KINDS.get(kind, Column)(name, encoder, X)
