"""Warnings in words: thresholds that must be infinite, groups that are too small."""

import sys
import warnings
from typing import Any

import numpy as np

from plcp.quantiles import FloatArray


class InfiniteThresholdWarning(UserWarning):
    """Too few calibration points for a finite threshold at this alpha."""


class ColumnOrderWarning(UserWarning):
    """Columns came in another order than in ``fit``, and were put back into it by their names."""


class SmallGroupWarning(UserWarning):
    """A given group holds too few calibration points to say anything about it."""


def outside() -> int:
    """Return the stack level of the first caller outside this package, for ``warnings.warn``.

    It is the user's line that a warning is to name, however many of ours lie in between.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and f"{frame.f_globals['__name__']}.".startswith("plcp."):
        level, frame = level + 1, frame.f_back
    return level


def warn_infinite(what: str) -> None:
    """Say who has too few points for a finite threshold."""
    warnings.warn(
        f"{what}: the only honest threshold is infinite, and the set holds every label",
        InfiniteThresholdWarning,
        stacklevel=outside(),
    )


def warn_if_small(names: list[str], sizes: FloatArray, alpha: float) -> None:
    """Name the given groups that hold fewer points than a finite conformal threshold needs."""
    needed = least_points(alpha)
    small = [name for name, size in zip(names, sizes, strict=True) if size < needed]
    if small:
        warnings.warn(
            f"groups {shortened(small)} hold fewer than {needed} calibration points: their "
            "coverage of new rows is not to be relied on; join or drop them, or use "
            "ConditionalCalibration, which gives them infinite thresholds",
            SmallGroupWarning,
            stacklevel=outside(),
        )


def shortened(names: list[Any]) -> str:
    """Some names, and how many more there are.

    Examples
    --------
    >>> shortened(["a", "b"]), shortened(list(range(13)))
    ("['a', 'b']", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] and 3 more')
    """
    first = [str(name) if isinstance(name, str) else name for name in names[:10]]  # numpy's too
    return f"{first}" + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def least_points(alpha: float) -> int:
    """Return the number of points from which a conformal threshold is finite."""
    return int(np.ceil(round((1 - alpha) / alpha, 9)))


def too_few(weights: FloatArray | None, n: int, alpha: float) -> str:
    """Complaint that n points, or what they weigh, are too few for this alpha."""
    points = n if weights is None else weights.sum()
    needed = least_points(alpha)
    return f"{points:g} calibration points are fewer than the {needed} that alpha = {alpha:g} needs"
