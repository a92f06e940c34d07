"""Checks of what happened to each row: covered or not, the size of its set, how often it counts."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.quantiles import FloatArray


def check_covered(covered: ArrayLike) -> NDArray[np.bool_]:
    """One True or False a row, of at least one row."""
    indicator = np.asarray(covered)
    if indicator.ndim != 1 or len(indicator) == 0:
        raise ValueError(
            f"covered must have shape (n,), n at least 1, got {indicator.shape}: "
            "pass sets.contains(y)"
        )
    if indicator.dtype == bool:
        return indicator
    # isin would take the string "1" for the number 1
    bad = ~np.isin(indicator, (0, 1)) | (indicator.dtype.kind not in "biuf")
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"covered must be True or False, got {indicator[row]!s} at row {row}: "
            "pass sets.contains(y)"
        )
    return indicator.astype(bool)


def check_size(size: ArrayLike, n: int, *, finite: bool = False) -> FloatArray:
    """One size a row, not negative; infinite ones only where the metric has a meaning for them."""
    return check_numbers("size", size, n, least=0.0, finite=finite, source="sets.size")


def check_numbers(
    name: str,
    values: ArrayLike,
    n: int,
    *,
    least: float = -np.inf,
    most: float = np.inf,
    finite: bool = True,
    source: str = "one number a row",
) -> FloatArray:
    """Return one number a row between ``least`` and ``most``, and no NaN among them."""
    numbers = np.asarray(values, dtype=float)
    if numbers.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {numbers.shape}: pass {source}")
    low, high = (numbers.min(), numbers.max()) if n else (least, most)  # NaN, if one is NaN
    if not (least <= low and high <= most) or (finite and np.isinf([low, high]).any()):
        good = (numbers >= least) & (numbers <= most) & (np.isfinite(numbers) | (not finite))
        row = int(np.argmin(good))
        wanted = "finite" if finite and not np.isfinite(numbers[row]) else _between(least, most)
        raise ValueError(
            f"{name} must be {wanted}, got {numbers[row]} at row {row}: drop or mend that row"
        )
    return numbers


def check_counts(sample_weight: ArrayLike | None, n: int) -> FloatArray | None:
    """How many rows each row stands for: whole numbers, not negative, not all zero."""
    if sample_weight is None:
        return None
    counts = check_numbers("sample_weight", sample_weight, n, least=0.0)
    whole = counts == np.floor(counts)
    if not whole.all():
        row = int(np.argmin(whole))
        raise ValueError(
            f"sample_weight counts rows, got {counts[row]} at row {row}: give whole numbers; for "
            "other weights, draw rows with those probabilities"
        )
    if counts.sum() == 0:
        raise ValueError("sample_weight is 0 in every row: no row counts")
    return counts


def _between(least: float, most: float) -> str:
    if most == np.inf:
        return "a number" if least == -np.inf else f"at least {least:g}"
    return f"between {least:g} and {most:g}"


def is_constant(values: Any) -> bool:
    """Whether all values are the same."""
    return bool((values == values[0]).all())
