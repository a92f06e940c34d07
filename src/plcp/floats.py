"""Numbers as floats, and what floats cannot hold."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.rows import plain

MOST_WHOLE = 2**53  # beyond it, not every whole number is a float
LARGEST = 2.0**1000  # about 1e301: sums of eight million, and differences of two, are finite


def as_floats(name: str, given: ArrayLike) -> NDArray[np.float64]:
    """Numbers as floats; text is refused, and whole numbers that floats cannot tell apart.

    Examples
    --------
    >>> as_floats("y", [1, 2])
    array([1., 2.])
    >>> as_floats("y", ["1", "2"])
    Traceback (most recent call last):
    ValueError: y must be real numbers, got '1' at row 0: convert them, as by .astype(float)
    """
    values = np.asarray(plain(given))
    if values.dtype.kind in "iu" and values.size and _beyond(values):
        most = values.flat[int(np.argmax(np.abs(values.astype(float))))]
        raise ValueError(
            f"{name} must lie within ±2**53, where floats tell whole numbers apart, got {most}: "
            "subtract a constant from all of them, or give floats if rounding will do"
        )
    try:
        if values.dtype.kind in "biufO":
            return np.asarray(values.astype(np.float64, copy=False))
    except (TypeError, ValueError, OverflowError):
        pass
    place = _first_that_is_no_number(values)
    row = place // max(1, values.size // max(1, len(np.atleast_1d(values))))
    raise ValueError(
        f"{name} must be real numbers, got {values.ravel().tolist()[place]!r} at row {row}: "
        "convert them, as by .astype(float)"
    )


def check_sizes(name: str, values: NDArray[Any]) -> None:
    """Refuse finite numbers so large that sums and differences of them are not."""
    sizes = np.abs(values)
    beyond = np.argwhere((sizes > LARGEST) & np.isfinite(sizes))
    if len(beyond):
        place = tuple(beyond[0])
        raise ValueError(
            f"{name} must be at most {LARGEST:g} in absolute value, got {values[place]:g} at row "
            f"{place[0]}: drop the row, or divide all of them by a constant"
        )


def _beyond(values: NDArray[Any]) -> bool:
    return int(values.max()) > MOST_WHOLE or int(values.min()) < -MOST_WHOLE


def _first_that_is_no_number(values: NDArray[Any]) -> int:
    """Place, along the rows, of the first value that is not held by a float or an integer."""
    for place, value in enumerate(values.ravel().tolist()):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return place
    return 0  # such as text of numbers: the first will do
