"""Random numbers and samples by the content of rows, whatever their order and blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np
from scipy.special import ndtri

from plcp._rows import GOLDEN, Hashes, count, earlier_copies, hash_content, hash_rows, mixed, take
from plcp.out_of_core.passes import Block, Passes
from plcp.out_of_core.ranks import Ranks
from plcp.quantiles import FloatArray, IntArray

TRIALS = 2**21  # that are drawn at a time


class RowDraws:
    """Streams of random numbers, one per row, seeded by its content and a seed.

    They do not depend on the position of a row or on other rows, so that rows served one by one
    have the results of one batch. Rows that differ have independent streams; equal rows (as
    ``hash_content`` compares them) have the same one, so that all rows of a constant X share their
    draws. It has the methods of ``numpy.random.Generator`` that a rule needs, for sizes that begin
    with the number of rows.

    Parameters
    ----------
    X : rows of any kind
    seed : int
    purpose : str
        What is drawn: streams of one seed and another purpose are independent.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.out_of_core import RowDraws
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> a, b, c = RowDraws(X, seed=0, purpose="example").random()
    >>> bool(a == c), bool(a == b)
    (True, False)
    >>> bool(RowDraws(X[1:2], seed=0, purpose="example").random()[0] == b)
    True
    """

    def __init__(self, X: Any, seed: int, purpose: str) -> None:
        salt = blake2b(f"{purpose} {int(seed)}".encode(), digest_size=8).digest()
        self._hashes = hash_content(X, int.from_bytes(salt, "little"))
        self._drawn = 0  # numbers of each stream

    def random(self, size: Any = None) -> FloatArray:
        """Uniform draws from (0, 1), which are never 0 nor 1."""
        n = len(self._hashes)
        shape = (n,) if size is None else tuple(np.atleast_1d(size))
        if shape[0] != n:
            raise ValueError(f"size must begin with the number of rows, {n}, got {size}")
        width = prod(shape[1:])
        drawn = _uniform(self._hashes, self._drawn, width)
        self._drawn += width
        return drawn.reshape(shape)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> FloatArray:
        """Uniform draws between two numbers."""
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: Any = None) -> FloatArray:
        """Draws from the standard normal distribution."""
        normal: FloatArray = ndtri(self.random(size))
        return normal

    def multinomial(self, n: int, pvals: FloatArray) -> FloatArray:
        """Counts of n trials of each row with the probabilities of its row."""
        ends = np.minimum(np.cumsum(pvals, axis=1), 1.0)
        ends[:, -1] = 1.0
        below = np.zeros(ends.shape)
        rows = max(1, TRIALS // max(n, 1))
        for start in range(0, len(ends), rows):
            some = slice(start, start + rows)
            trials = _uniform(self._hashes[some], self._drawn, n)
            for group in range(ends.shape[1]):
                below[some, group] = (trials < ends[some, group, None]).sum(axis=1)
        self._drawn += n
        return np.diff(below, axis=1, prepend=0.0)

    def generators(self) -> Iterator[np.random.Generator]:
        """Return a numpy generator for each row, for other distributions."""
        for number in self._hashes:
            yield np.random.default_rng(number)


def _uniform(hashes: Hashes, first: int, width: int) -> FloatArray:
    """Numbers of the stream of each hash, ``width`` of them from the place ``first`` on."""
    places = np.arange(first, first + width, dtype=np.uint64)
    with np.errstate(over="ignore"):
        bits = mixed(hashes[:, None] + places * np.uint64(GOLDEN))
    drawn: FloatArray = ((bits >> np.uint64(12)) + 0.5) * 2.0**-52
    return drawn


LEAST_DRAWS = 2**12  # by which shared rows are counted


def draws(X: Any, scores: FloatArray, seed: int) -> FloatArray:
    """Number in [0, 1) for each row, as if drawn: it depends on the row and the seed alone.

    Copies of a row in the same block have different draws, so that a sample of the rows with the
    least draws holds each kind of row in its share.

    Examples
    --------
    >>> a, b, c = draws(np.array([[1.0], [2.0], [1.0]]), np.zeros(3), seed=0)
    >>> bool(a == draws(np.array([[1.0]]), np.zeros(1), seed=0)[0]), len({a, b, c})
    (True, 3)
    """
    hashes = hash_rows(X, scores, seed)
    copies = earlier_copies(hashes)
    if copies.any():
        with np.errstate(over="ignore"):
            own = mixed(hashes + copies.astype(np.uint64) * np.uint64(GOLDEN) + hashes.sum())
        hashes = np.where(copies > 0, own, hashes)
    return (hashes >> np.uint64(11)) * 2.0**-53


def fold_of(hashes: Hashes, n_folds: int) -> IntArray:
    """Fold of each row, by its hash; equal rows are in the same fold.

    Examples
    --------
    >>> fold_of(np.arange(8, dtype=np.uint64), 3)
    array([2, 1, 1, 0, 1, 1, 2, 1])
    """
    # mixed again, so that rows with small hashes, which samples take, are in all folds
    high = mixed(hashes) >> np.uint64(32)
    return ((high * np.uint64(n_folds)) >> np.uint64(32)).astype(np.intp)


@dataclass(frozen=True)
class BlockSummary:
    """What one pass finds in blocks: number of rows, least score, and the least draws.

    ``parts`` is the number of blocks in which each of these draws occurs.
    """

    n: int
    least: float
    draws: FloatArray
    parts: IntArray

    def __add__(self, other: "BlockSummary") -> "BlockSummary":
        """Return the summary of the blocks of both."""
        numbers, which = np.unique(np.append(self.draws, other.draws), return_inverse=True)
        parts = np.bincount(which.ravel(), np.append(self.parts, other.parts)).astype(np.int64)
        least = min(self.least, other.least)
        n = self.n + other.n
        return BlockSummary(n, least, numbers[:LEAST_DRAWS], parts[:LEAST_DRAWS])

    @property
    def shared(self) -> float:
        """Share of the rows with the least draws that are drawn with a copy in another part."""
        return float(self.parts[self.parts > 1].sum() / max(self.parts.sum(), 1))


def summarise(blocks: Passes, seed: int) -> tuple[BlockSummary, Passes]:
    """Summarise blocks of X and scores, and return the draws of the rows, kept in place."""
    kept = blocks.keep(_draws_and_least, seed)
    return kept.total(_summary), kept


def largest_draw(numbers: Passes, size: int, n: int) -> float:
    """Draw of the last of the ``size`` rows of least draws, among the draws of n rows."""
    if size >= n:
        return 1.0
    return float(Ranks(numbers.then(_in_one_group), 1).at([size - 1])[0])


def sampled(X: Any, scores: FloatArray, seed: int, largest: float) -> Block:
    """Rows of a block whose draw is at most ``largest``."""
    return _chosen(X, scores, draws(X, scores, seed) <= largest)


def not_sampled(X: Any, scores: FloatArray, seed: int, largest: float) -> Block:
    """Rows of a block whose draw is larger."""
    return _chosen(X, scores, draws(X, scores, seed) > largest)


def in_hash_order(X: Any, scores: FloatArray, seed: int = 0) -> tuple[Any, FloatArray]:
    """Rows in the order of their hashes, whatever order they are given in.

    Examples
    --------
    >>> X, scores = np.array([[1.0], [2.0], [3.0]]), np.array([0.1, 0.2, 0.3])
    >>> one, other = in_hash_order(X, scores)[1], in_hash_order(X[::-1], scores[::-1])[1]
    >>> bool((one == other).all())
    True
    """
    order = np.lexsort((scores, hash_rows(X, scores, seed)))
    return take(X, order), scores[order]


def concatenate_blocks(blocks: list[Block]) -> Block:
    """Return the rows of several blocks as one."""
    full = [block for block in blocks if count(block[0])] or blocks[:1]
    return tuple(_concatenated(list(column)) for column in zip(*full, strict=True))


def _concatenated(parts: list[Any]) -> Any:
    if hasattr(parts[0], "columns"):
        from pandas import concat

        return concat(_with_common_categories(parts), ignore_index=True)
    return np.concatenate(parts)


def _with_common_categories(parts: list[Any]) -> list[Any]:
    """Parts with the same sorted categories, if theirs differ: pandas would return text."""
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


def _draws_and_least(X: Any, scores: FloatArray, seed: int) -> Block:
    return draws(X, scores, seed), scores.min(initial=np.inf)


def _summary(numbers: FloatArray, least: float) -> BlockSummary:
    n = len(numbers)
    few = np.partition(numbers, LEAST_DRAWS)[:LEAST_DRAWS] if n > LEAST_DRAWS else numbers
    own = np.unique(few)
    return BlockSummary(n, float(least), own, np.ones(len(own), dtype=np.int64))


def _in_one_group(numbers: FloatArray, least: float) -> Block:
    return numbers, np.zeros(len(numbers), dtype=np.intp)
