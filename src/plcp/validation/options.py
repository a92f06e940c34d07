"""Options as they must be: rates, counts, one of several words."""

from numbers import Integral, Real
from typing import Any

import numpy as np


def check_alpha(alpha: Any) -> float:
    """Miscoverage rate as a float in (0, 1)."""
    if isinstance(alpha, list | tuple | np.ndarray):
        raise ValueError(f"alpha must be one level here, got {alpha!r}: fit one rule a level")
    return check_share("alpha", alpha, ": 0.1 asks for sets that cover 90 %")


def check_count(name: str, value: Any, least: int) -> int:
    """``value`` if it is a whole number and not below ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
    return int(value)


def check_share(name: str, value: Any, remedy: str = "") -> float:
    """``value`` if it lies strictly between zero and one."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not 0 < number < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {value!r}{remedy}")
    return number


def check_positive(name: str, value: Any) -> float:
    """``value`` if it is a finite number above zero."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not 0 < number < np.inf:
        raise ValueError(f"{name} must be a finite positive number, got {value!r}")
    return number


def check_option(name: str, value: Any, options: tuple[str, ...]) -> str:
    """``value`` if it is one of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return value
