"""Tables as pandas frames whose columns are known by their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from plcp.rows import is_frame

if TYPE_CHECKING:
    import pandas as pd


def as_pandas(table: Any) -> pd.DataFrame:
    """Return a pandas frame of a table of any library; a column's name is its text.

    Examples
    --------
    >>> as_pandas({"age": [31, 40], 7: [1.0, 2.0]}).columns.tolist()
    ['age', '7']
    """
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    frame = _side_by_side(frame) if isinstance(frame, Mapping) else frame
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


def _side_by_side(columns: Mapping[Any, Any]) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.DataFrame(columns)
    except ValueError as error:
        raise ValueError(f"no table can be made of these columns: {error}; mend them") from error


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
