"""The smoothed pinball loss of lines on all rows of many blocks, in sums that are exact."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.blocks.hashing import Hashes, hash_rows, mixed
from plcp.blocks.whole import Whole, exact_product
from plcp.indices.lines import line
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import is_frame

UNIT = 2.0**20  # steps of a standardised feature, for one standard deviation
EDGE = 2.0**24  # steps of a residual within the bandwidth, on either side
DEPTH = 2.0**16  # steps from the edge of the band to its middle, where fewer do
LENGTH = 1.5  # of a row with all features at their deviation: those of longer ones count
ROWS = 2**14  # at a time


@dataclass(frozen=True)
class Grid:
    """Standardised features (x - centre) · gain in whole steps; gains are powers of two."""

    centre: FloatArray
    gain: FloatArray

    def numbers(self, X: FloatArray) -> FloatArray:
        """Steps of each feature, and a column of ones for the intercept."""
        steps = np.full((len(X), X.shape[1] + 1), UNIT)
        inner = steps[:, :-1]
        np.subtract(X, self.centre, out=inner)
        np.multiply(inner, self.gain * UNIT, out=inner)
        np.rint(inner, out=inner)
        return steps

    def coefficients(self, theta: FloatArray) -> tuple[FloatArray, float]:
        """Slopes and intercept for the features as they are."""
        coef = self.gain * theta[:-1]
        return coef, float(theta[-1] - line(self.centre[None], coef)[0])


@dataclass(frozen=True)
class Candidate:
    """A line, the half-width of the band around it in which its loss is rounded off, and its rows.

    ``bounds``: values beyond them count as they do; ``left_out``: the fold that it must not see;
    ``spread``: deviation of each standardised feature among its rows, about; ``floor``: a loss as
    small counts as none.
    """

    theta: FloatArray
    spread: FloatArray
    bandwidth: float
    bounds: tuple[float, float]
    left_out: int
    floor: float


@dataclass(frozen=True)
class Sums:
    """What blocks say about candidates, one entry a candidate: whole numbers, so exact.

    ``features`` and ``dual``: of the features, alone and times the share 0 … 2 EDGE of each row;
    ``residuals``: of the residuals and of their sizes, in steps; ``near``: of the products of
    features, and of how far a row is inside of the band, for rows in the band; ``inner``: of the
    same products of features, each times 0 … DEPTH, by how far the row's dual weight may move;
    ``crossed``: rows beyond the bounds whose side of the line is not safe.
    """

    features: Whole
    dual: Whole
    residuals: Whole
    near: Whole
    inner: Whole
    crossed: Whole

    def __add__(self, other: "Sums") -> "Sums":
        """Sums of the blocks of both."""
        return Sums(**{name: value + getattr(other, name) for name, value in vars(self).items()})


def fold_of(hashes: Hashes, n_folds: int) -> IntArray:
    """Fold of each row, by its hash; rows that are equal share one.

    Examples
    --------
    >>> fold_of(np.arange(8, dtype=np.uint64), 3)
    array([2, 1, 1, 0, 1, 1, 2, 1])
    """
    # scattered once more, so that rows of small hashes, which samples take, are in all folds
    high = mixed(hashes) >> np.uint64(32)
    return ((high * np.uint64(n_folds)) >> np.uint64(32)).astype(np.intp)


def lengths(Z: FloatArray, spread: FloatArray) -> FloatArray:
    """How much longer than usual each row is, at least one, with features in deviations.

    No row has more than LENGTH · √width times the length of s, divided by this, in z·s.
    """
    squares = line(np.square(Z), (UNIT * spread) ** -2.0 / (LENGTH**2 * Z.shape[1]))
    return np.maximum(np.sqrt(squares), 1.0)


def sums_of(
    X: Any, y: Any, candidates: list[Candidate], grid: Grid, n_folds: int, seed: int
) -> Sums:
    """Return the sums of one block."""
    y = np.asarray(y, dtype=float)
    folds = fold_of(hash_rows(X, y, seed), n_folds)
    X = numbers_of(X)
    total = _sums(X[:0], y[:0], folds[:0], candidates, grid)
    for start in range(0, len(y), ROWS):
        rows = slice(start, start + ROWS)
        total += _sums(X[rows], y[rows], folds[rows], candidates, grid)
    return total


def numbers_of(X: Any) -> NDArray[Any]:
    """Features as an array of numbers."""
    if not is_frame(X):
        array = np.asarray(X)
        return array if array.dtype.kind in "biuf" else _numeric(array)
    columns = [_column(name, X[name]) for name in X.columns]
    return np.column_stack(columns) if columns else np.empty(X.shape)


def _numeric(array: NDArray[Any]) -> FloatArray:
    """Objects that are numbers, as numbers."""
    try:
        if array.dtype.kind == "O":
            return array.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers: {error}; leave out what is none") from error
    raise ValueError(f"X must hold numbers, got an array of {array.dtype}: convert it")


def _column(name: Any, column: Any) -> FloatArray:
    try:
        return np.asarray(column, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} of X holds no numbers ({error}): leave it out, make indicators of "
            "its categories, or use a boosted index"
        ) from error


def _sums(
    X: FloatArray, y: FloatArray, folds: IntArray, candidates: list[Candidate], grid: Grid
) -> Sums:
    """Sums of a few rows: all that is rounded here is rounded row by row."""
    Z = grid.numbers(X)
    k, width = len(candidates), Z.shape[1]
    weights, own = np.zeros((len(y), k)), np.zeros((len(y), k))
    residuals: Whole = np.zeros((k, 2), dtype=object)
    near: Whole = np.zeros((k, width + 1, width + 1), dtype=object)
    inner, crossed = near[:, 1:, 1:].copy(), np.zeros(k, dtype=object)
    for i, candidate in enumerate(candidates):
        coef, intercept = grid.coefficients(candidate.theta)
        drawn = np.clip(y, *candidate.bounds)
        steps = np.rint((drawn - (line(X, coef) + intercept)) * (EDGE / candidate.bandwidth))
        taught = folds != candidate.left_out
        own[:, i] = taught
        weights[:, i] = (np.clip(steps, -EDGE, EDGE) + EDGE) * taught
        sizes = np.abs(steps)
        residuals[i] = exact_product(own[:, [i]], np.column_stack([steps, sizes]))[0]
        side = np.sign(y - drawn)
        crossed[i] = int(((side != 0) & (side * steps < EDGE) & taught).sum())
        inside = np.flatnonzero((sizes < EDGE) & taught)
        slack, z = EDGE - sizes[inside], Z[inside]
        curved = np.column_stack([z, slack])
        near[i] = exact_product(curved, curved)
        moves = np.floor(slack * (DEPTH / EDGE) / lengths(z, candidate.spread))
        inner[i] = exact_product(z * moves[:, None], z)
    products = exact_product(np.hstack([own, weights]), Z)
    return Sums(products[:k], products[k:], residuals, near, inner, crossed)
