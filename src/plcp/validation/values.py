"""What may be looked at, and where the first wrong value is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray
from plcp.rows import is_on_dask

MOST_WHOLE = 2**53  # beyond it, not every whole number is a float


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


def as_floats(name: str, values: NDArray[Any]) -> FloatArray:
    """Numbers as floats; text is refused, and whole numbers that a float cannot tell apart."""
    if values.dtype.kind in "iu" and values.size and _beyond(values):
        raise ValueError(
            f"{name} must lie within ±2**53, where floats tell whole numbers apart, got "
            f"{values.flat[np.argmax(np.abs(values.astype(float)))]}: subtract a constant from all "
            "of them, or give floats if rounding will do"
        )
    try:
        if values.dtype.kind in "biufO":
            return np.asarray(values.astype(float, copy=False))
    except (TypeError, ValueError, OverflowError):
        pass
    row = _first_that_is_no_number(values)
    raise ValueError(
        f"{name} must be numbers, got {values.tolist()[row]!r} at row {row} of type "
        f"{values.dtype}: convert them, for example by .astype(float)"
    )


def _beyond(values: NDArray[Any]) -> bool:
    return bool(int(values.max()) > MOST_WHOLE or int(values.min()) < -MOST_WHOLE)


def _first_that_is_no_number(values: NDArray[Any]) -> int:
    for row, value in enumerate(values.tolist()):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return row
    return 0
