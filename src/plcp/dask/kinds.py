"""Kinds of columns: every part of a frame must hold what the collection promises."""

from typing import Any

from plcp.indices.tables import DATES, KINDS, NUMBERS, TEXT, read_column


def check_kinds(X: Any, like: Any) -> None:
    """Refuse a part with a column of another kind than promised, unless it is all missing.

    Joined with the others, numbers beside text would become categories without a word. Of a column
    of objects nothing is promised.
    """
    for name in like.columns:
        here, elsewhere = X[name].dtype, like[name].dtype
        if here == elsewhere or kind_of(elsewhere) is None:
            continue
        kind = read_column(X, name).kind
        if kind not in (None, kind_of(elsewhere)):
            raise ValueError(
                f"column {name!r} of X holds {kind} ({here}) here and {kind_of(elsewhere)} "
                f"({elsewhere}) elsewhere: write it in one type in all parts"
            )


def kind_of(dtype: Any) -> str | None:
    """Kind of a type of pandas; None for objects, which may be anything.

    Examples
    --------
    >>> import pandas as pd
    >>> [kind_of(pd.array(values).dtype) for values in ([True, None], ["a"], [pd.Timestamp(0)])]
    ['numbers', 'categories', 'dates']
    """
    from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

    if dtype == "object":
        return None
    if is_numeric_dtype(dtype):  # decimals of Arrow are objects to numpy
        return NUMBERS
    return DATES if is_datetime64_any_dtype(dtype) else KINDS.get(dtype.kind, TEXT)
