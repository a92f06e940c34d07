"""The first pass over rows that are to teach a line: how many there are, and where they lie."""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.blocks.hashing import Hashes, hash_rows
from plcp.blocks.passes import Passes
from plcp.blocks.pinball import numbers_of
from plcp.quantiles import FloatArray
from plcp.rows import is_frame
from plcp.validation import check_scores

LEAST_HASHES = 256  # of each block: they tell how many distinct rows there are, within 6 %
LAST_HASH = 2**64 - 1
LARGEST = 1e100  # number whose square, and more, is finite


@dataclass(frozen=True)
class Look:
    """What the first pass learns: number of rows, range of columns and scores, least hashes."""

    n: int
    low: FloatArray
    high: FloatArray
    hashes: Hashes
    names: list[Any] | None

    def __add__(self, other: "Look") -> "Look":
        """Return what the blocks of both have told."""
        return Look(
            self.n + other.n,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            np.union1d(self.hashes, other.hashes)[:LEAST_HASHES],
            self.names,
        )

    def last_hash(self, size: int) -> int:
        """Hash up to which there are about as many distinct rows as that."""
        if len(self.hashes) < LEAST_HASHES:
            return LAST_HASH
        return min(LAST_HASH, int(self.hashes[-1]) * size // LEAST_HASHES)


def look(X: Any, y: Any, seed: int) -> Look:
    """Look at one block, and refuse what no line can take."""
    values = numbers_of(X)
    names = list(X.columns) if is_frame(X) else None
    if len(values) == 0:
        nothing = np.full(values.shape[1] + 1, np.inf)
        return Look(0, nothing, -nothing, np.empty(0, dtype=np.uint64), names)
    y = check_scores(y)
    low = np.append(values.min(axis=0), y.min()).astype(float)
    high = np.append(values.max(axis=0), y.max()).astype(float)
    for column in np.flatnonzero(~((low > -LARGEST) & (high < LARGEST))[:-1]):
        raise ValueError(
            f"column {names[column] if names else int(column)!r} of X contains "
            f"{_fault(values[:, column])}: a line cannot take that; mend or leave out the column, "
            "or use a boosted index"
        )
    hashes = np.unique(hash_rows(X, y, seed))[:LEAST_HASHES]
    return Look(len(y), low, high, hashes, names)


def _fault(values: NDArray[Any]) -> str:
    """Kind and row of the first value that is too much for a line."""
    row = int(np.flatnonzero(~(np.abs(values) < LARGEST))[0])
    value = values[row]
    kind = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}"
    return f"{kind} at row {row}"


def looked_at(blocks: Passes, seed: int) -> Look:
    """Look at all blocks."""
    looks = blocks.each(look, seed)
    if sum(found.n for found in looks) == 0:
        raise ValueError("the calibration set is empty: 0 sample(s), at least 1 is needed")
    return reduce(add, looks)
