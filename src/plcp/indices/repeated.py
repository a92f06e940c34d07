"""Which rows of a column hold the same text, so that each need be read only once."""

from typing import Any

import numpy as np

from plcp.quantiles import IntArray


def same_text(column: Any) -> IntArray | None:
    """Return a number for each row, the same for the same text and -1 where it is missing.

    None for a column of anything else than text or categories: 1, 1.0 and True are equal, but not
    the same.

    Examples
    --------
    >>> import pandas as pd
    >>> same_text(pd.Series(["b", None, "a", "b"]))
    array([ 0, -1,  1,  0])
    """
    if hasattr(column, "to_physical"):
        return _of_polars(column)
    if hasattr(column, "factorize"):
        return _of_pandas(column)
    return None


def one_row_each(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return a row for each number that occurs, and the place of every row's number among them.

    Rows without a number (-1) are at the place after the last.

    Examples
    --------
    >>> one_row_each(np.array([5, -1, 2, 5]))
    (array([2, 3]), array([1, 2, 0, 1]))
    """
    found = np.full(numbers.max(initial=-1) + 2, -1)
    found[numbers] = np.arange(len(numbers))
    found[-1] = -1  # where those without a number fell
    occurs = found >= 0
    places = np.where(occurs, np.cumsum(occurs) - 1, occurs.sum())
    return found[occurs], places[numbers]


def _of_pandas(column: Any) -> IntArray | None:
    kind = str(column.dtype)
    if kind == "category":
        return np.asarray(column.cat.codes, dtype=np.intp)
    if kind == "object":
        from pandas.api.types import infer_dtype

        kind = infer_dtype(column, skipna=True)
    is_text = kind.startswith(("str", "large_string"))
    return np.asarray(column.factorize()[0], dtype=np.intp) if is_text else None


def _of_polars(column: Any) -> IntArray | None:
    from polars import Categorical, Enum, Int64, String

    if column.dtype == String:
        column = column.cast(Enum(column.drop_nulls().unique()))
    if column.dtype not in (Categorical, Enum):
        return None
    return np.asarray(column.to_physical().cast(Int64).fill_null(-1), dtype=np.intp)
