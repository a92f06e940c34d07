"""Where lines through all rows begin: a grid for the features, and fits to a sample of the rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.blocks.hashing import Hashes, hash_rows
from plcp.blocks.look import LAST_HASH, Look
from plcp.blocks.newton import ANY, one_thread
from plcp.blocks.passes import Block, Passes
from plcp.blocks.pinball import Candidate, Grid, fold_of, numbers_of
from plcp.indices.linear import LinearQuantile, near_range
from plcp.indices.lines import line
from plcp.indices.smoothing import EXACT_FIT, RELATIVE_GAP, weighted_quantile
from plcp.quantiles import FloatArray

FAR_OUT = 16.0  # standard deviations: beyond, a sample may miss the rows that matter
BISECTIONS = 60
ENTRIES = 2**21  # of the sample
ROWS_A_COLUMN = 20  # of the sample, at least


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


def begin(blocks: Passes, seen: Look, lesson: Lesson) -> Start:
    """Fit lines to a sample of rows, at one place; the sample does not leave it.

    Where some rows lie far out, a second sample takes a row the sooner the further out it lies,
    and counts it the less: a few such rows turn a line, and the first sample may have none.
    """
    d = len(seen.low) - 1
    last = seen.last_hash(max(ENTRIES // max(d, 1), ROWS_A_COLUMN * d))
    sample = blocks.keep(_chosen, lesson.seed, last, None)
    scale = sample.fetch(sample.gather(_scale, seen))
    if last == LAST_HASH or scale.furthest(seen) <= FAR_OUT:
        return sample.fetch(sample.gather(_started, seen, lesson, last, scale.grid, None))
    sample = blocks.keep(_chosen, lesson.seed, last, scale)
    return sample.fetch(sample.gather(_started, seen, lesson, last, scale.grid, scale))


@dataclass(frozen=True)
class Scale:
    """A grid for the typical rows of a sample, and the deviation of each column on it."""

    grid: Grid
    spread: FloatArray

    def furthest(self, seen: Look) -> float:
        """Largest distance of a row from the centre of a column, in deviations."""
        centre = self.grid.centre
        ends = np.maximum(seen.high[:-1] - centre, centre - seen.low[:-1])
        return float((ends * self.grid.gain / self.spread).max(initial=0.0))

    def leverage(self, X: NDArray[Any]) -> FloatArray:
        """How far out each row lies: one, or a quarter of the mean square of its deviations."""
        z = (X - self.grid.centre) * (self.grid.gain / self.spread)
        return np.maximum(line(np.square(z, out=z), np.full(X.shape[1], 0.25 / X.shape[1])), 1.0)


def _chosen(X: Any, y: Any, seed: int, last: int, scale: Scale | None) -> Block:
    """Distinct rows of a block whose hashes are small; their hashes, and the number of each."""
    y, values = np.asarray(y, dtype=float), numbers_of(X)
    hashes = hash_rows(X, y, seed)
    rows = np.flatnonzero(hashes <= _last_of_each(values, last, scale))
    hashes, first, counts = np.unique(hashes[rows], return_index=True, return_counts=True)
    return values[rows[first]].astype(float), y[rows[first]], hashes, counts


def _last_of_each(X: NDArray[Any], last: int, scale: Scale | None) -> Any:
    """Largest hash at which each row is chosen: the larger, the further out the row lies."""
    if scale is None:
        return float(last)
    return np.minimum(scale.leverage(X) * float(last), float(LAST_HASH))


def _merged(blocks: list[Block]) -> tuple[FloatArray, FloatArray, Hashes, FloatArray]:
    """Distinct rows of all blocks in the order of their hashes, and how many there are of each."""
    X, y, hashes, counts = (np.concatenate(column) for column in zip(*blocks, strict=True))
    hashes, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    return X[first], y[first], hashes, np.bincount(which.ravel(), counts).astype(float)


def _scale(blocks: list[Block], seen: Look) -> Scale:
    """Scale of a sample, whose rows far out must not coarsen the grid of the others."""
    X, _, _, counts = _merged(blocks)
    low, high = seen.low[:-1], seen.high[:-1]
    with one_thread():
        centre = np.array([weighted_quantile(column, counts, 0.5) for column in X.T])
        distances = np.abs(X - centre)
        # those at the centre tell nothing about the others
        typical = np.array([weighted_quantile(z, counts * (z > 0), 0.5) for z in distances.T])
        unit = np.where(typical > 0, typical, np.maximum(high - centre, centre - low))
        gain = np.where(low < high, 2.0 ** -np.ceil(np.log2(np.where(low < high, unit, 1.0))), 0.0)
        squares = counts / counts.sum() @ np.square(distances * gain)
    # a column that is constant in the sample has another value less than once in as many rows
    spread = np.sqrt(np.where(squares > 0, squares, 1 / len(X)))
    return Scale(Grid(centre, gain), spread)


def _started(
    blocks: list[Block], seen: Look, lesson: Lesson, last: int, grid: Grid, drawn_by: Scale | None
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
                candidates.append(_candidate(models[-1], grid, *part, lesson.quantile, fold))
    return Start(models, candidates, grid)


def _candidate(
    model: LinearQuantile,
    grid: Grid,
    X: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    quantile: float,
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
    bandwidth = bandwidth_of(near - predicted, weight, quantile)
    side = np.sign(y - near)
    if bounds[0] == bounds[1] or (side * (near - predicted) < bandwidth)[side != 0].any():
        bounds, near = ANY, y
        bandwidth = bandwidth_of(y - predicted, weight, quantile)
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
