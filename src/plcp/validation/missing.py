"""Values that are not there: None, NaN, NaT, and what libraries have in their place."""

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is None, NaN, NaT or a library's own NA.

    Examples
    --------
    >>> is_missing(np.array(["a", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if values.dtype.kind != "O":
        return np.asarray(values != values)
    return np.fromiter((is_gap(value) for value in values), dtype=bool, count=len(values))


def is_gap(value: Any) -> bool:
    """Whether one value stands for a missing one."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | Decimal | np.generic) and bool(value != value)
