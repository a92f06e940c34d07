"""Checks of what happened to each row: covered or not, the size of its set, how often it counts."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.floats import as_floats
from plcp.quantiles import FloatArray
from plcp.rows import plain

LARGEST = 1e100  # squares of numbers, and sums of them, must not overflow
MOST_ROWS = 2**31  # products of two counts must be whole numbers of 64 bits


def check_covered(covered: ArrayLike) -> NDArray[np.bool_]:
    """One True or False a row, of at least one row."""
    indicator = np.asarray(plain(covered))
    if indicator.ndim == 2 and indicator.shape[1] > 1:
        raise ValueError(
            f"covered must have shape (n,), one level at a time, got {indicator.shape}: "
            "pass sets[alpha].contains(y), or a column"
        )
    if indicator.ndim != 1 or len(indicator) == 0:
        raise ValueError(
            f"covered must have shape (n,), n at least 1, got {indicator.shape}: "
            "pass sets.contains(y)"
        )
    if indicator.dtype == bool:
        return indicator
    good = _are_truths(indicator)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(
            f"covered must be True or False, got {indicator.tolist()[row]!r} at row {row}: "
            "pass sets.contains(y)"
        )
    return indicator.astype(bool)


def _are_truths(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype == object:  # one by one: pandas.NA is neither equal nor unequal to True
        return np.array([isinstance(value, bool | np.bool_) for value in values])
    # isin would take the string "1" for the number 1
    return np.isin(values, (0, 1)) & (values.dtype.kind in "iuf")


def check_size(size: ArrayLike, n: int | None = None, *, finite: bool = False) -> FloatArray:
    """One size a row, not negative; infinite ones only where the metric has a meaning for them."""
    return check_numbers("size", size, n, least=0.0, finite=finite, source="sets.size")


def check_numbers(
    name: str,
    values: ArrayLike,
    n: int | None = None,
    *,
    least: float = -np.inf,
    most: float = np.inf,
    finite: bool = True,
    source: str = "one number a row",
) -> FloatArray:
    """Return one number a row between ``least`` and ``most``, and no NaN among them.

    Of ``n`` rows, or else of as many as there are, at least one. A number may be infinite if not
    ``finite``, but none may be so large that its square overflows.
    """
    numbers = _as_floats(name, values, source)
    if numbers.size == 0 and not n:
        raise ValueError(f"{name} is empty: pass {source}, of at least one row")
    n = numbers.size if n is None else n
    if numbers.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {numbers.shape}: pass {source}")
    if max(least, -LARGEST) <= numbers.min() and numbers.max() <= min(most, LARGEST):
        return numbers  # a NaN would not be less, nor greater
    size = np.abs(numbers)
    good = (numbers >= least) & (numbers <= most) & ((size <= LARGEST) | np.isinf(size))
    good &= np.isfinite(numbers) | (not finite)
    if good.all():
        return numbers
    row = int(np.argmin(good))
    if finite and not np.isfinite(numbers[row]):
        wanted = "finite"
    elif least <= numbers[row] <= most:
        wanted = f"at most {LARGEST:g} in absolute value"
    else:
        wanted = _between(least, most)
    raise ValueError(
        f"{name} must be {wanted}, got {numbers[row]} at row {row}: drop or mend that row"
    )


def _as_floats(name: str, values: ArrayLike, source: str) -> FloatArray:
    array = np.asarray(plain(values))
    if array.dtype.kind in "iu":
        return as_floats(name, array)
    try:
        if array.dtype.kind in "bfO":  # no text, dates or complex numbers
            return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(
        f"{name} must hold real numbers, got dtype {array.dtype} or what no float can hold: "
        f"pass {source}"
    )


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
    total = counts.sum()
    if total == 0:
        raise ValueError("sample_weight is 0 in every row: no row counts")
    if total > MOST_ROWS:
        raise ValueError(
            f"sample_weight counts {total:g} rows, more than {MOST_ROWS}: give how often each row "
            "was seen, not a probability scaled up"
        )
    return counts


def _between(least: float, most: float) -> str:
    if most == np.inf:
        return "a number" if least == -np.inf else f"at least {least:g}"
    return f"between {least:g} and {most:g}"
