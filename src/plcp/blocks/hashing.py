"""A number for each row that depends on what stands in it, and on nothing else."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.blocks.values import bits_of, by_value
from plcp.rows import is_frame

Hashes = NDArray[np.uint64]

ROWS = 8192  # at a time: they stay in the cache
GOLDEN = 0x9E3779B97F4A7C15
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def hash_rows(X: Any, scores: ArrayLike, seed: int = 0) -> Hashes:
    """Hash of each row of X and its score, the same wherever the row stands.

    Values count as what they are worth, in whichever type a part holds them: 1, 1.0, True and
    Decimal(1) are the same, and so are 0.0 and -0.0, a moment in any unit, a text in any layout,
    and all that is missing. Numbers are compared as floating-point ones: whole numbers beyond 2^53
    that are next to each other may count as the same.

    Examples
    --------
    >>> a, b, c = hash_rows(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]), [0.5, 0.5, 0.5])
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    columns = [X[name] for name in X.columns] if is_frame(X) else np.asarray(X).T
    values = [by_value(column) for column in columns]
    scores = np.asarray(scores, dtype=float)
    hashes = np.full(len(scores), mixed(np.uint64(seed % 2**64)), dtype=np.uint64)
    for start in range(0, len(scores), ROWS):
        rows = slice(start, start + ROWS)
        for column in [*values, scores]:
            hashes[rows] = mixed(hashes[rows] ^ bits_of(column[rows]))
    return hashes


def mixed(numbers: Any) -> Any:
    """Numbers scattered over all 64 bits, different ones to different places (splitmix64)."""
    with np.errstate(over="ignore"):
        numbers = numbers + np.uint64(GOLDEN)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * FIRST
        numbers = (numbers ^ (numbers >> np.uint64(27))) * SECOND
        return numbers ^ (numbers >> np.uint64(31))
