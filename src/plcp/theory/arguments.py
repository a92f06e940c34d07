"""Checks of what a bound is asked about: arrays as well as single numbers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plcp.quantiles import FloatArray, IntArray


def check_whole(name: str, value: ArrayLike, least: int) -> IntArray:
    """Whole numbers, none below ``least``."""
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iu" or numbers.size == 0 or (numbers < least).any():
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
    return numbers.astype(np.int64)


def check_not_negative(name: str, value: ArrayLike) -> FloatArray:
    """Numbers that may be zero or infinite, but neither negative nor NaN."""
    numbers = _numbers(name, value)
    if not (numbers >= 0).all():
        raise ValueError(f"{name} must not be negative or NaN, got {value!r}")
    return numbers


def check_positive(name: str, value: ArrayLike) -> FloatArray:
    """Finite numbers above zero."""
    numbers = _numbers(name, value)
    if not ((numbers > 0) & (numbers < np.inf)).all():
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return numbers


def check_variance(variance: ArrayLike, score_range: ArrayLike) -> FloatArray:
    """Return a variance that numbers on an interval of this length can have (Popoviciu 1935)."""
    numbers, length = (
        check_not_negative("variance", variance),
        check_positive("score_range", score_range),
    )
    if (numbers > length**2 / 4).any():
        raise ValueError(
            f"variance must not exceed score_range² / 4, got {variance!r} and {score_range!r}: "
            "give the length of an interval that holds all scores as score_range"
        )
    return numbers


def check_shares(name: str, value: ArrayLike, *, one: bool = False) -> FloatArray:
    """Numbers in (0, 1), or in (0, 1] where ``one`` is allowed."""
    numbers = _numbers(name, value)
    if not ((numbers > 0) & ((numbers <= 1) if one else (numbers < 1))).all():
        raise ValueError(f"{name} must lie in (0, 1{']' if one else ')'}, got {value!r}")
    return numbers


def _numbers(name: str, value: Any) -> FloatArray:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a number or an array of them, got {value!r}") from error
