"""Kinds of columns: every part of a frame must hold what the collection promises."""

from typing import Any

from plcp.indices.tables import DATES, KINDS, NUMBERS, TEXT, read_column
from plcp.rows import is_frame


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


def check_categories(X: Any, like: Any) -> None:
    """Refuse a part with categories of its own: every worker would number them in its own way."""
    for name in like.columns if is_frame(like) else ():
        # types with the same categories in another order are equal to pandas
        if _categories(X[name]) != _categories(like[name]):
            raise ValueError(
                f"column {name!r} of X has categories of its own in this part, but an index that "
                f"learns where the rows lie needs the same in all: give X[{name!r}].cat.as_known(),"
                " or X.astype with one pandas.CategoricalDtype"
            )


def _categories(column: Any) -> list[Any] | None:
    return list(column.cat.categories) if str(column.dtype) == "category" else None


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
