"""Rows drawn from blocks by what stands in them: the same ones however the blocks are cut."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plcp.blocks.hashing import GOLDEN, Hashes, hash_rows, mixed
from plcp.blocks.passes import Block, Passes
from plcp.blocks.ranks import Ranks
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import count, take
from plcp.validation import check_count

LEAST_DRAWS = 2**12  # that tell whether parts share rows


def draws(X: Any, scores: FloatArray, seed: int) -> FloatArray:
    """Number in [0, 1) for each row, as if drawn: it depends on the row and the seed alone.

    Copies of a row in the same block have draws of their own, so that a sample of rows with small
    numbers holds each kind of row as often as all rows do.

    Examples
    --------
    >>> a, b, c = draws(np.array([[1.0], [2.0], [1.0]]), np.zeros(3), seed=0)
    >>> bool(a == draws(np.array([[1.0]]), np.zeros(1), seed=0)[0]), len({a, b, c})
    (True, 3)
    """
    hashes = hash_rows(X, scores, seed)
    copies = _earlier_copies(hashes)
    if copies.any():
        with np.errstate(over="ignore"):
            own = mixed(hashes + copies.astype(np.uint64) * np.uint64(GOLDEN) + hashes.sum())
        hashes = np.where(copies > 0, own, hashes)
    return (hashes >> np.uint64(11)) * 2.0**-53


@dataclass(frozen=True)
class Look:
    """What one pass tells of all rows: how many there are, the least score, and the least draws.

    ``parts`` is the number of blocks in which each of these draws occurs.
    """

    n: int
    least: float
    draws: FloatArray
    parts: IntArray

    def __add__(self, other: "Look") -> "Look":
        """Return what the blocks of both have told."""
        numbers, which = np.unique(np.append(self.draws, other.draws), return_inverse=True)
        parts = np.bincount(which.ravel(), np.append(self.parts, other.parts)).astype(np.int64)
        least = min(self.least, other.least)
        return Look(self.n + other.n, least, numbers[:LEAST_DRAWS], parts[:LEAST_DRAWS])

    @property
    def together(self) -> float:
        """Share of the rows, of those of least draws, that are drawn with a row of another part."""
        return float(self.parts[self.parts > 1].sum() / max(self.parts.sum(), 1))


def look_at(blocks: Passes, seed: int) -> tuple[Look, Passes]:
    """Look at blocks of X and scores; the draws of the rows stay where the rows are."""
    kept = blocks.keep(_looked_at, seed)
    return kept.total(_look), kept


def largest_draw(numbers: Passes, size: int, n: int) -> float:
    """Draw of the last of the ``size`` rows of least draws, among the draws of n rows."""
    check_count("size", size, 1)
    if size >= n:
        return 1.0
    return float(Ranks(numbers.then(_in_one_group), 1).at([size - 1])[0])


def drawn(X: Any, scores: FloatArray, seed: int, largest: float) -> Block:
    """Rows of a block whose draw is no larger."""
    return _chosen(X, scores, draws(X, scores, seed) <= largest)


def not_drawn(X: Any, scores: FloatArray, seed: int, largest: float) -> Block:
    """Return the other rows of a block."""
    return _chosen(X, scores, draws(X, scores, seed) > largest)


def in_hash_order(X: Any, scores: FloatArray, seed: int = 0) -> tuple[Any, FloatArray]:
    """Rows in an order of their own, whatever order they came in.

    Examples
    --------
    >>> X, scores = np.array([[1.0], [2.0], [3.0]]), np.array([0.1, 0.2, 0.3])
    >>> one, other = in_hash_order(X, scores)[1], in_hash_order(X[::-1], scores[::-1])[1]
    >>> bool((one == other).all())
    True
    """
    order = np.lexsort((scores, hash_rows(X, scores, seed)))
    return take(X, order), scores[order]


def joined(blocks: list[Block]) -> Block:
    """Rows of several blocks in one."""
    full = [block for block in blocks if count(block[0])] or blocks[:1]
    return tuple(_concatenated(list(column)) for column in zip(*full, strict=True))


def _concatenated(parts: list[Any]) -> Any:
    if hasattr(parts[0], "columns"):
        from pandas import concat

        return concat(_with_common_categories(parts), ignore_index=True)
    return np.concatenate(parts)


def _with_common_categories(parts: list[Any]) -> list[Any]:
    """Parts that all know all categories, in their order, where each knew its own.

    Left as they are, pandas would make text of them.
    """
    for name in parts[0].columns:
        known = [list(p[name].cat.categories) for p in parts if str(p[name].dtype) == "category"]
        if len(known) == len(parts) and any(own != known[0] for own in known):
            every = sorted({v for own in known for v in own}, key=lambda v: (type(v).__name__, v))
            parts = [part.copy(deep=False) for part in parts]
            for part in parts:
                part[name] = part[name].cat.set_categories(every, ordered=False)
    return parts


def _chosen(X: Any, scores: FloatArray, rows: Any) -> Block:
    if rows.all():
        return X, scores
    places = np.flatnonzero(rows)
    return take(X, places), scores[places]


def _looked_at(X: Any, scores: FloatArray, seed: int) -> Block:
    return draws(X, scores, seed), scores.min(initial=np.inf)


def _look(numbers: FloatArray, least: float) -> Look:
    n = len(numbers)
    few = np.partition(numbers, LEAST_DRAWS)[:LEAST_DRAWS] if n > LEAST_DRAWS else numbers
    own = np.unique(few)
    return Look(n, float(least), own, np.ones(len(own), dtype=np.int64))


def _in_one_group(numbers: FloatArray, least: float) -> Block:
    return numbers, np.zeros(len(numbers), dtype=np.intp)


def _earlier_copies(hashes: Hashes) -> IntArray:
    """How many rows with the same hash stand before each, in the block."""
    order = np.argsort(hashes, kind="stable")
    in_order = hashes[order]
    starts = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1]))
    copies = np.empty(len(hashes), dtype=np.int64)
    copies[order] = np.arange(len(hashes)) - np.repeat(
        starts, np.diff(np.append(starts, len(hashes)))
    )
    return copies
