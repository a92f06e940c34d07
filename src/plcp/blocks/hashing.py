"""A number for each row that depends on what stands in it, and on nothing else."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.indices.repeated import one_row_each, same_text
from plcp.rows import is_frame, take

Hashes = NDArray[np.uint64]

ROWS = 8192  # at a time: they stay in the cache
GOLDEN = 0x9E3779B97F4A7C15
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def hash_rows(X: Any, scores: ArrayLike, seed: int = 0) -> Hashes:
    """Hash of each row of X and its score, the same wherever the row stands.

    Numbers count as what they are worth: 1, 1.0 and True are the same, and so are 0.0 and -0.0,
    and all kinds of NaN.

    Examples
    --------
    >>> a, b, c = hash_rows(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]), [0.5, 0.5, 0.5])
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    columns = [_as_numbers(X[name]) for name in X.columns] if is_frame(X) else np.asarray(X).T
    scores = np.asarray(scores, dtype=float)
    hashes = np.full(len(scores), mixed(np.uint64(seed % 2**64)), dtype=np.uint64)
    for start in range(0, len(scores), ROWS):
        rows = slice(start, start + ROWS)
        for column in columns:
            _take_in(hashes[rows], column[rows])
        _take_in(hashes[rows], scores[rows])
    return hashes


def mixed(numbers: Any) -> Any:
    """Numbers scattered over all 64 bits, different ones to different places (splitmix64)."""
    with np.errstate(over="ignore"):
        numbers = numbers + np.uint64(GOLDEN)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * FIRST
        numbers = (numbers ^ (numbers >> np.uint64(27))) * SECOND
        return numbers ^ (numbers >> np.uint64(31))


def _take_in(hashes: Hashes, column: NDArray[Any]) -> None:
    """Take one more column into the hashes, in place."""
    hashes[:] = mixed(hashes ^ _bits(column))


def _bits(column: NDArray[Any]) -> Hashes:
    if column.dtype == np.uint64:
        return column
    values = column.astype(float) + 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.uint64)


def _as_numbers(column: Any) -> NDArray[Any]:
    """Numbers as they are; text, categories and anything else as hashes of what they are called."""
    numbers = same_text(column)
    if numbers is not None:
        rows, places = one_row_each(numbers)
        return np.append(_of_objects(np.asarray(take(column, rows))), np.uint64(0))[places]
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        return values.astype(np.int64).view(np.uint64)
    if values.dtype.kind in "biuf":
        return values
    return _of_objects(values)


def _of_objects(values: NDArray[Any]) -> Hashes:
    from pandas.util import hash_array

    return np.asarray(hash_array(np.array([str(v) for v in values.tolist()], dtype=object)))
