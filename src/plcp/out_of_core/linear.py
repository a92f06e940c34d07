"""Sums of products of whole numbers, exact: the same in any order and however they are cut."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from plcp._options import check_count, check_share
from plcp._rows import Hashes, hash_rows, is_frame, mixed
from plcp._validation import check_scores
from plcp.out_of_core.passes import Block, Passes
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.base import line
from plcp.regressors.linear import (
    DAMPING,
    EXACT_FIT,
    JITTER,
    RELATIVE_GAP,
    SHRINK,
    LinearQuantile,
    near_range,
    weighted_quantile,
)

Whole = NDArray[np.object_]  # Python's whole numbers, which do not overflow

# A product of the digits of two numbers, added up over ROWS rows, stays within the 53 bits in
# which floating-point numbers are exact: 2^15 · 2^26 · 2^12. So does every sum on the way there,
# in whatever order a matrix product takes them.
LEFT, RIGHT, ROWS = 15, 26, 2**12
MOST_ROWS = 2**22  # sums of as many rows fit in 64 bits


def exact_product(left: FloatArray, right: FloatArray) -> Whole:
    """Return ``left.T @ right`` of floating-point numbers that are whole, of any size.

    Examples
    --------
    >>> left, right = np.array([[1.0], [1.0], [-1.0]]), np.array([[1e30], [1.0], [1e30]])
    >>> exact_product(left, right), left.T @ right
    (array([[1]], dtype=object), array([[0.]]))
    """
    total: Whole = np.zeros((left.shape[1], right.shape[1]), dtype=object)
    for start in range(0, len(left), MOST_ROWS):
        rows = slice(start, start + MOST_ROWS)
        for low, digit in _digits(left[rows], LEFT):
            for high, other in _digits(right[rows], RIGHT):
                total += _product(digit, other).astype(object) * 2 ** (low + high)
    return total


def _digits(values: FloatArray, bits: int) -> Iterator[tuple[int, FloatArray]]:
    """Whole numbers, each at most 2^bits in size, and the powers of two they are worth."""
    place = 0
    while (largest := np.abs(values).max(initial=0.0)) > 2.0**bits:
        if not np.isfinite(largest):
            raise ValueError("numbers so far apart cannot be added in double precision")
        above = np.rint(values * 2.0**-bits)
        yield place, values - above * 2.0**bits  # both are whole, and their difference is small
        values, place = above, place + bits
    yield place, values


def _product(left: FloatArray, right: FloatArray) -> NDArray[np.int64]:
    total: Any = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
    for start in range(0, len(left), ROWS):
        rows = slice(start, start + ROWS)
        total += (left[rows].T @ right[rows]).astype(np.int64)
    return total


UNIT = 2.0**20  # steps of a standardised feature, for one standard deviation
EDGE = 2.0**24  # steps of a residual within the bandwidth, on either side
DEPTH = 2.0**16  # steps from the edge of the band to its middle, where fewer do
LENGTH = 1.5  # of a row with all features at their deviation: those of longer ones count
CHUNK_ROWS = 2**14  # at a time


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
    for start in range(0, len(y), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
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
            "its categories, or use a boosted regressor"
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
            "or use a boosted regressor"
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


TOLERANCE = 1e-6  # largest gradient that a mended dual may leave
DECREASE = 1e-4  # of what a step promises: less, and it was too long
FEW = 3  # passes that do, where a line begins near its end
SHARES = [SHRINK**power for power in (2, 1, 0, -1, -2, -3)]  # of a step, tried at once thereafter
UNSEEN = 1e-6  # of the loss
ROUNDING = 1e-10  # of a pull, where few rows far out make it large
ANY = (-np.inf, np.inf)


def one_thread() -> threadpool_limits:
    """Let matrix products take one thread: with more, they may add in another order."""
    return threadpool_limits(1, user_api="blas")


def _floats(numbers: Whole, divisor: int) -> FloatArray:
    """Whole numbers divided by one, each correctly rounded."""
    return np.asarray(numbers / divisor, dtype=float)


@dataclass(frozen=True)
class Evaluation:
    """Mean loss of a candidate on its rows, as it is and smoothed, and the derivatives of that.

    A row at residual r has the dual weight a = τ - ½ + ½ clip(r / h, -1, 1), and a r is at most
    its loss. ``gap`` is the mean of what lies between, ``pull`` the mean of a z. Would the pull
    vanish, then no line had a loss less than loss - gap.
    """

    bandwidth: float
    loss: float
    gap: float
    smoothed: float
    pull: FloatArray
    near: FloatArray
    inner: FloatArray
    spread: FloatArray
    crossed: int

    @classmethod
    def of(cls, sums: Sums, place: int, candidate: Candidate, quantile: float) -> "Evaluation":
        """Read the sums of the candidate at this place."""
        h, unit = candidate.bandwidth, int(UNIT)
        n = int(sums.features[place, -1]) // unit
        dual = _floats(sums.dual[place], n * unit) / (2 * EDGE)
        steps, sizes = _floats(sums.residuals[place], n) * (h / EDGE)
        slack = _floats(sums.near[place, -2:, -1], n) / [UNIT * EDGE, EDGE**2]
        loss = (quantile - 0.5) * steps + 0.5 * sizes
        return cls(
            bandwidth=h,
            loss=loss,
            gap=h / 2 * (slack[0] - slack[1]),  # mean of |r| (1 - |r| / h) / 2 in the band
            smoothed=loss + h / 4 * slack[1],
            pull=dual - (1 - quantile) * _floats(sums.features[place], n * unit),
            near=_floats(sums.near[place, :-1, :-1], n * unit**2),
            inner=_floats(sums.inner[place], n * unit**2) / DEPTH,
            spread=candidate.spread,
            crossed=int(sums.crossed[place]),
        )

    @cached_property
    def excess(self) -> float:
        """Bound on how much the loss exceeds the least of all lines; infinite if none is known.

        The dual weight of a row inside of the band, at u = |r| / h, can be moved by (1 - u) / 2
        and stays feasible. Moved by (1 - u) z·s / 2hl, with s as below, l the length of the row and
        no |z·s| / l above h, they make the pull vanish; that costs (1 - u) |r| / 2 times
        |z·s| / hl, a share of the gap.
        """
        # where columns are collinear, only a damped shift is not led far away by rounding
        return min(self._excess(damping) for damping in (0.0, TOLERANCE))

    def _excess(self, damping: float) -> float:
        """Bound on the excess by one shift of the dual weights."""
        shift = self._solved(self.inner, damping)
        left = np.abs(self.pull - self.inner @ shift / (2 * self.bandwidth))
        reach = LENGTH * np.sqrt(len(shift)) * float(np.linalg.norm(shift * self.spread))
        if (left > TOLERANCE + ROUNDING * np.abs(self.pull)).any() or reach > self.bandwidth:
            return np.inf
        return float(self.gap * (1 + reach / self.bandwidth))

    @property
    def step(self) -> FloatArray:
        """Newton step, damped while the gradient is large."""
        return self._solved(self.near, DAMPING * self._steepest(self.pull))

    def _steepest(self, pull: FloatArray) -> float:
        """Largest pull on a feature of unit variance."""
        return float(np.abs(pull / self.spread).max())

    def is_improved(self, share: float, later: "Evaluation") -> bool:
        """Whether a share of the step has paid; so little that it is lost in rounding will do."""
        gain = self.smoothed - later.smoothed
        pulls_less = self._steepest(later.pull) <= self._steepest(self.pull) / 2
        promised = share * float(self.pull @ self.step)
        return gain >= DECREASE * promised or (pulls_less and gain >= -UNSEEN * self.loss)

    def _solved(self, products: FloatArray, damping: float) -> FloatArray:
        # collinear columns share their coefficient
        ridge = (JITTER * len(self.pull) + damping) * np.eye(len(self.pull))
        unit = np.sqrt(np.diag(products + ridge))
        scaled = (products + ridge) / np.outer(unit, unit)
        solution = np.linalg.solve(scaled, 2 * self.bandwidth * self.pull / unit)
        return np.asarray(solution / unit)


class Search:
    """The way of one line to the least loss: it learns from one evaluation after the other."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.n_iter, self.is_certified = 0, False
        self._base: Evaluation | None = None  # of the candidate
        self._may_widen = True
        self._shares = [1.0]  # of the step from there

    @property
    def candidates(self) -> list[Candidate]:
        """Candidates to evaluate next: where the whole step is too long, shorter ones too."""
        if self._base is None:
            return [self.candidate]
        step = self._base.step
        return [
            replace(self.candidate, theta=self.candidate.theta + share * step)
            for share in self._shares
        ]

    def learn(self, found: list[Evaluation]) -> None:
        """Choose the next candidates, or find that one is good enough."""
        self.n_iter += 1
        best = int(np.argmin([evaluation.smoothed for evaluation in found]))
        if self._base is not None and not self._base.is_improved(self._shares[best], found[best]):
            self._shares = [min(self._shares) / SHRINK**power for power in range(1, 7)]
            return
        self.candidate, self._base = self.candidates[best], None
        self._shares = SHARES if self.n_iter > FEW else [1.0]
        self._judge(found[best])

    def _judge(self, found: Evaluation) -> None:
        allowed = RELATIVE_GAP * found.loss
        # no row adds more than an eighth of the bandwidth to the gap
        sure, most = 4 * allowed, float(found.near[-1, -1]) * found.bandwidth / 8
        if found.crossed:  # values beyond the bounds do not count by their side alone
            self._change(bounds=ANY)
        elif found.loss <= self.candidate.floor or found.excess <= allowed:
            self.is_certified = True
        elif found.gap > allowed:
            self._change(bandwidth=max(found.bandwidth * allowed / (2 * found.gap), sure))
            self._may_widen = False
        elif self._may_widen and most < allowed / SHRINK**2:
            self._change(bandwidth=max(found.bandwidth * SHRINK, sure))
        else:
            self._base = found

    def _change(self, **changes: Any) -> None:
        self.candidate = replace(self.candidate, **changes)


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


__all__ = ["fit_folds", "fit_line", "fold_of"]

MOST_PASSES = 100
NOBODY = -1  # a fold that has no rows


def fit_folds(blocks: Passes, quantile: float, n_folds: int, seed: int = 0) -> list[LinearQuantile]:
    """Lines through the quantile of the scores, one for each fold that it has not seen.

    Parameters
    ----------
    blocks : Passes
        Blocks of features and scores.
    quantile : float
        Level of the quantile.
    n_folds : int
        Number of folds; ``fold_of(hash_rows(X, scores, seed), n_folds)`` is the fold of a row.
    seed : int
        Seed of the folds, and of the rows that are fitted first.

    Returns
    -------
    list of LinearQuantile
        Model k has learned from the rows of all folds but k: its mean pinball loss on them is
        within 0.1 % of the least. Of the rows of fold k it knows no more than the range, centre
        and spread of features, by which numbers are rounded.
    """
    n_folds = check_count("n_folds", n_folds, 2)
    return _fit(blocks, quantile, n_folds, list(range(n_folds)), seed)


def fit_line(blocks: Passes, quantile: float, seed: int = 0) -> LinearQuantile:
    """Line through the quantile of the scores of all rows, within 0.1 % of the least mean loss.

    Examples
    --------
    >>> from plcp.out_of_core import Held
    >>> X = np.arange(101.0)[:, None]
    >>> one, other = (X[:60], 2 * X[:60, 0]), (X[60:], 2 * X[60:, 0])
    >>> fit_line(Held([one, other]), 0.5).predict([[10.0]]).round(6)
    array([20.])
    """
    return _fit(blocks, quantile, 1, [NOBODY], seed)[0]


def _fit(
    blocks: Passes, quantile: float, n_folds: int, left_out: list[int], seed: int
) -> list[LinearQuantile]:
    seen = looked_at(blocks, seed)
    start = begin(blocks, seen, Lesson(check_share("quantile", quantile), n_folds, left_out, seed))
    searches = [Search(candidate) for candidate in start.candidates]
    for _ in range(MOST_PASSES):
        going_on = [search for search in searches if not search.is_certified]
        if not going_on:
            break
        asked = [search.candidates for search in going_on]
        sums = blocks.total(sums_of, [c for some in asked for c in some], start.grid, n_folds, seed)
        found = (
            Evaluation.of(sums, i, c, quantile)
            for i, c in enumerate(c for some in asked for c in some)
        )
        with one_thread():
            for search, some in zip(going_on, asked, strict=True):
                search.learn([next(found) for _ in some])
    else:
        warnings.warn(
            f"not certified within 0.1 % of the least loss after {MOST_PASSES} passes: clip far "
            "values of X and of the scores",
            ConvergenceWarning,
            stacklevel=3,
        )
    for model, search in zip(start.models, searches, strict=False):  # no searches after all rows
        model.coef_, model.intercept_ = start.grid.coefficients(search.candidate.theta)
        model.n_iter_ = search.n_iter
    return [_named(model, seen) for model in start.models]


def _named(model: LinearQuantile, seen: Look) -> LinearQuantile:
    """Give the model the names of columns, if they are strings."""
    if seen.names and all(isinstance(name, str) for name in seen.names):
        model.feature_names_in_ = np.array(seen.names, dtype=object)
    return model
