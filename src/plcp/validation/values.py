"""What may be looked at, and where the first wrong value is."""

from typing import Any

import numpy as np

from plcp.quantiles import FloatArray
from plcp.rows import is_on_dask


def check_at_hand(**given: Any) -> None:
    """Refuse collections of Dask, which would be computed whole without a word."""
    for name, value in given.items():
        if is_on_dask(value):
            raise TypeError(
                f"{name} is a Dask {type(value).__name__}, whose rows lie elsewhere: use the "
                f"estimators of plcp.dask, or give {name}.compute() if all of it fits into memory"
            )


def first_not_finite(values: FloatArray) -> str | None:
    """Kind and row of the first value that is no finite number, if there is one."""
    if np.isfinite(values).all():
        return None
    row = int(np.flatnonzero(~np.isfinite(values))[0])
    kind = "NaN" if np.isnan(values[row]) else "inf (infinity)"
    return f"{kind} at row {row}"
