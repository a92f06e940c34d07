"""Where lines through all rows begin: a grid for the features, and fits to a sample of the rows."""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.blocks.hashing import Hashes, hash_rows
from plcp.blocks.newton import ANY, one_thread
from plcp.blocks.passes import Block, Passes
from plcp.blocks.pinball import Candidate, Grid, fold_of, numbers_of
from plcp.indices.linear import LinearQuantile, near_range
from plcp.indices.lines import line
from plcp.indices.smoothing import EXACT_FIT, RELATIVE_GAP, standardisation
from plcp.quantiles import FloatArray
from plcp.rows import is_frame
from plcp.validation import check_scores, first_not_finite

LEAST_HASHES = 256  # of each block: they tell how many distinct rows there are, within 6 %
LAST_HASH = 2**64 - 1
LARGEST = 1e100  # number whose square, and more, is finite
FAR_OUT = 16.0  # standard deviations: beyond, a sample may miss the rows that matter
BISECTIONS = 60
ENTRIES = 2**21  # of the sample
ROWS_A_COLUMN = 20  # of the sample, at least


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


@dataclass(frozen=True)
class Start:
    """Fits to a sample, one for each fold left out; without ``candidates`` it was all rows."""

    models: list[LinearQuantile]
    candidates: list[Candidate]
    grid: Grid


@dataclass(frozen=True)
class Lesson:
    """What is to be learned: one line for each fold that is left out."""

    quantile: float
    n_folds: int
    left_out: list[int]
    seed: int


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
        told = first_not_finite(values[:, column]) or f"numbers beyond {LARGEST:g}"
        raise ValueError(
            f"column {names[column] if names else int(column)!r} of X contains {told}: a line "
            "cannot take that; mend or leave out the column, or use a boosted index"
        )
    hashes = np.unique(hash_rows(X, y, seed))[:LEAST_HASHES]
    return Look(len(y), low, high, hashes, names)


def looked_at(blocks: Passes, seed: int) -> Look:
    """Look at all blocks."""
    looks = blocks.each(look, seed)
    if sum(found.n for found in looks) == 0:
        raise ValueError("there are no rows: 0 sample(s), at least 1 is needed")
    return reduce(add, looks)


def begin(blocks: Passes, seen: Look, lesson: Lesson) -> Start:
    """Fit lines to a sample of rows, at one place; the sample does not leave it.

    Where some rows lie far out, a second sample takes a row the sooner the further out it lies,
    and counts it the less: a few such rows turn a line, and the first sample may have none.
    """
    d = len(seen.low) - 1
    last = seen.last_hash(max(ENTRIES // max(d, 1), ROWS_A_COLUMN * d))
    sample = blocks.keep(_chosen, lesson.seed, last, None)
    grid = sample.fetch(sample.gather(_grid, seen))
    if last == LAST_HASH or _largest(grid, seen) <= FAR_OUT:
        return sample.fetch(sample.gather(_started, seen, lesson, last, grid, None))
    sample = blocks.keep(_chosen, lesson.seed, last, grid)
    return sample.fetch(sample.gather(_started, seen, lesson, last, grid, grid))


def _largest(grid: Grid, seen: Look) -> float:
    """Largest distance of a row from the centre, in standard deviations of a column."""
    ends = np.maximum(seen.high[:-1] - grid.centre, grid.centre - seen.low[:-1])
    return float((ends * grid.gain).max(initial=0.0))


def _chosen(X: Any, y: Any, seed: int, last: int, grid: Grid | None) -> Block:
    """Distinct rows of a block whose hashes are small; their hashes, and the number of each."""
    y, values = np.asarray(y, dtype=float), numbers_of(X)
    hashes = hash_rows(X, y, seed)
    rows = np.flatnonzero(hashes <= _last_of_each(values, last, grid))
    hashes, first, counts = np.unique(hashes[rows], return_index=True, return_counts=True)
    return values[rows[first]].astype(float), y[rows[first]], hashes, counts


def _last_of_each(X: NDArray[Any], last: int, grid: Grid | None) -> Any:
    """Largest hash at which each row is chosen: the larger, the further out the row lies."""
    if grid is None:
        return float(last)
    z = (X - grid.centre) * grid.gain
    share = line(np.square(z, out=z), np.full(X.shape[1], 1 / (4 * X.shape[1])))
    return np.minimum(np.maximum(share, 1.0) * float(last), float(LAST_HASH))


def _merged(blocks: list[Block]) -> tuple[FloatArray, FloatArray, Hashes, FloatArray]:
    """Distinct rows of all blocks in the order of their hashes, and how many there are of each."""
    X, y, hashes, counts = (np.concatenate(column) for column in zip(*blocks, strict=True))
    hashes, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    return X[first], y[first], hashes, np.bincount(which.ravel(), counts)


def _grid(blocks: list[Block], seen: Look) -> Grid:
    """Grid of centre and spread of a sample; a column that is constant there is told by range."""
    X, _, _, counts = _merged(blocks)
    with one_thread():
        centre, gain = standardisation(X, counts / counts.sum(), True)
    low, high = seen.low[:-1], seen.high[:-1]
    varies = low < high
    # one row in as many as the sample has would give a column this spread
    spread = np.maximum(high - centre, centre - low) / np.sqrt(len(X))
    np.divide(1, gain, out=spread, where=gain > 0)
    rounded = 2.0 ** -np.ceil(np.log2(np.where(varies, spread, 1.0)))
    return Grid(np.where(varies, centre, low), np.where(varies, rounded, 0.0))


def _started(
    blocks: list[Block], seen: Look, lesson: Lesson, last: int, grid: Grid, drawn_by: Grid | None
) -> Start:
    X, y, hashes, weight = _merged(blocks)
    weight *= last / _last_of_each(X, last, drawn_by)
    folds = fold_of(hashes, lesson.n_folds)
    complete = last == LAST_HASH
    models, candidates = [], []
    with one_thread():
        for fold in lesson.left_out:
            own = folds != fold
            if not own.any():
                raise ValueError(
                    f"all {seen.n} rows fall into fold {fold} of {lesson.n_folds}, which leaves "
                    "none to learn from: rows that are equal share a fold, so give more that differ"
                )
            part = X[own], y[own], weight[own]
            models.append(LinearQuantile(lesson.quantile).fit(*part))
            if not complete:
                candidates.append(_candidate(models[-1], grid, *part, fold))
    return Start(models, candidates, grid)


def _candidate(
    model: LinearQuantile,
    grid: Grid,
    X: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    fold: int,
) -> Candidate:
    """Return the line that was fitted to a sample, for all rows."""
    weight = weight / weight.sum()
    gain, predicted = grid.gain, model.predict(X)
    slopes = np.divide(model.coef_, gain, out=np.zeros_like(gain), where=gain > 0)
    theta = np.append(slopes, model.intercept_ + line(grid.centre[None], model.coef_)[0])
    squares = np.append(weight @ np.square((X - grid.centre) * gain), 1.0)
    spread = np.sqrt(np.where(squares > 0, squares, 1.0))
    bounds = near_range(y, weight)
    near = np.clip(y, *bounds)
    bandwidth = bandwidth_of(near - predicted, weight, model.quantile)
    side = np.sign(y - near)
    if bounds[0] == bounds[1] or (side * (near - predicted) < bandwidth)[side != 0].any():
        bounds, near = ANY, y
        bandwidth = bandwidth_of(y - predicted, weight, model.quantile)
    floor = EXACT_FIT * float(weight @ np.abs(near - weight @ near))
    return Candidate(theta, spread, bandwidth or floor or 1.0, bounds, fold, floor)


def bandwidth_of(residuals: FloatArray, weight: FloatArray, quantile: float) -> float:
    """Widest bandwidth whose duality gap, at an optimum, is half of what is allowed.

    Examples
    --------
    >>> bandwidth_of(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 0.5)  # nothing lies inside
    1.0
    """
    sizes = np.abs(residuals)
    loss = 0.5 * (weight @ sizes) + (quantile - 0.5) * (weight @ residuals)
    # the rows on the line will not stay there: each may add an eighth of the bandwidth
    met = weight @ (sizes <= EXACT_FIT * (weight @ sizes)) / 8
    low, high = 0.0, float(sizes.max())
    for _ in range(BISECTIONS):
        middle = (low + high) / 2 or 1.0
        gap = 0.5 * (weight @ (sizes * np.maximum(1 - sizes / middle, 0))) + met * middle
        low, high = (middle, high) if gap <= RELATIVE_GAP / 2 * loss else (low, middle)
    return low
