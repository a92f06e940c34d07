"""What is near: kernels, the space in which they measure, and quantiles weighted by them."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from plcp._options import check_count, is_real, shown
from plcp._rows import is_frame, is_missing
from plcp.quantiles import FloatArray, IntArray

__all__ = [
    "BoxKernel",
    "GaussianKernel",
]


CENTRES = 200  # points at which the effective share is measured
ROWS = 10_000  # that they see then: more would change nothing but the memory it takes
SERVED = 0.9  # share of them that see enough points: were it half, many would see next to none
MOST_TRIALS = 500  # beyond, counts say hardly more about the probabilities
LARGEST_PRECISION = 100_000  # each trial of a row takes time and memory
STEPS = 40  # halvings of six decades: to one part in 10^11
NEAR = 2.0**16  # squared norm, in bandwidths, below which a product gives weights to 1e-10


@dataclass(frozen=True)
class GaussianKernel:
    """H(x, z) = exp(-‖x - z‖² / (2 bandwidth²)).

    Parameters
    ----------
    bandwidth : float
        Standard deviation of a draw, in the units of X; infinite: every point counts the same.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.kernels import GaussianKernel
    >>> GaussianKernel(1.0)(np.array([[0.0], [2.0]]), np.array([[0.0]])).round(3)
    array([[1.   ],
           [0.135]])
    """

    bandwidth: float

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Weights H(x, z) in [0, 1], shape (n, m)."""
        logs = self.logs_to(Z)(X)
        return np.exp(np.minimum(logs, 0.0, out=logs), out=logs)

    def logs_to(self, Z: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Logarithms of the weights to these points, as a function of X.

        They are right, but for rounding, where the weights themselves are too small for a float.
        """
        if np.isinf(self.bandwidth):
            return lambda X: np.zeros((len(X), len(Z)))
        middle = Z.mean(axis=0)
        right, right_norms = self._scaled(Z, middle)
        columns = np.column_stack([right, np.ones(len(Z)), -0.5 * right_norms]).T

        def logs(X: FloatArray) -> FloatArray:
            left, norms = self._scaled(X, middle)
            if not max(norms.max(), right_norms.max()) < NEAR:  # a product would cancel
                with np.errstate(over="ignore"):
                    return -0.5 * (cdist(X, Z) / self.bandwidth) ** 2
            # x·z - ‖x‖²/2 - ‖z‖²/2 in one product
            product: FloatArray = np.column_stack([left, -0.5 * norms, np.ones(len(X))]) @ columns
            return product

        return logs

    def log_pairs(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Logarithm of the weight of each row of X to the same row of Z."""
        if np.isinf(self.bandwidth):
            return np.zeros(len(X))
        return -0.5 * (((X - Z) / self.bandwidth) ** 2).sum(axis=1)

    def _scaled(self, X: FloatArray, middle: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows seen from the middle, in bandwidths, and their squared norms."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (X - middle) / self.bandwidth
            return scaled, np.einsum("ij,ij->i", scaled, scaled)

    def draw(self, X: FloatArray, rng: Any) -> FloatArray:
        """One draw from the normal law around each row, by a ``Generator`` or ``RowDraws``."""
        if np.isinf(self.bandwidth):
            return X
        return X + self.bandwidth * rng.standard_normal(X.shape)


@dataclass(frozen=True)
class BoxKernel:
    """H(x, z) = 1 if ‖x - z‖ ≤ bandwidth, else 0: a ball, which the literature calls a box.

    Parameters
    ----------
    bandwidth : float
        Radius, in the units of X; infinite: every point counts the same.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.kernels import BoxKernel
    >>> BoxKernel(1.0)(np.array([[0.0], [2.0]]), np.array([[0.5]]))
    array([[1.],
           [0.]])
    """

    bandwidth: float

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Weights H(x, z), zero or one, shape (n, m)."""
        if np.isinf(self.bandwidth):
            return np.ones((len(X), len(Z)))
        return (cdist(X, Z) <= self.bandwidth).astype(float)

    def draw(self, X: FloatArray, rng: Any) -> FloatArray:
        """One draw from the uniform law on the ball around each row."""
        if np.isinf(self.bandwidth):
            return X
        normal = rng.standard_normal(X.shape)
        radius = rng.uniform(size=len(X)) ** (1 / X.shape[1])
        return X + normal * (self.bandwidth * radius / np.linalg.norm(normal, axis=1))[:, None]


@dataclass(frozen=True)
class MultinomialKernel:
    """H(p, c) = Π_k p_k^c_k: the likelihood of counts c under probabilities p > 0.

    Parameters
    ----------
    precision : int
        Number of trials, the sum of the counts; zero: all probabilities count the same.

    Examples
    --------
    >>> MultinomialKernel(2)(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([[2, 0]])).round(3)
    array([[0.25],
           [0.81]])
    """

    precision: int

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Likelihoods of the counts Z under the probabilities X, shape (n, m)."""
        return np.exp(self.logs_to(X)(Z)).T

    def logs_to(self, X: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Log likelihoods under these probabilities, as a function of counts, one row per count."""
        columns = np.log(X).T
        return lambda counts: counts @ columns

    def log_pairs(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Log likelihood of each row of counts Z under the same row of probabilities X."""
        return (Z * np.log(X)).sum(axis=1)

    def draw(self, X: FloatArray, rng: Any) -> FloatArray:
        """Counts of one sample from each row."""
        return rng.multinomial(check_precision(self.precision), X).astype(float)


def check_automatic(name: str, value: str) -> None:
    """Refuse a word other than "auto" where a positive number is expected."""
    if value != "auto":
        raise ValueError(f"{name} must be a positive number or 'auto', got {value!r}")


def check_precision(precision: Any) -> int:
    """``precision`` if it is a number of trials that can be drawn for each row."""
    n = check_count("precision", precision, 0)
    if n > LARGEST_PRECISION:
        raise ValueError(
            f"precision must be at most {LARGEST_PRECISION:,}, got {shown(precision)}: counts of "
            f"{MOST_TRIALS} trials are nearly the probabilities already"
        )
    return n


def check_bandwidth(bandwidth: Any) -> float:
    """``bandwidth`` if it is positive; infinite is allowed."""
    if not (is_real(bandwidth) and bandwidth > 0):
        raise ValueError(
            f"bandwidth must be a positive number, or infinite to count all points alike, "
            f"got {bandwidth!r}"
        )
    return float(bandwidth)


def bandwidth_for_size(
    kernel: Callable[[float], Any], X: FloatArray, n: int, size: float, *, drawn: bool, seed: int
) -> float:
    """Bandwidth at which nine points of ten see ``size`` effective ones among n like X.

    The effective size is (Σw)² / Σw² - 1 over the n and the point itself, whose own weight may
    outweigh many others. ``drawn``: weights are taken around a draw from the kernel, as RLCP does
    it, and not around the point. Bisection on the logarithm, with the same draws at every step;
    infinite if all rows are one.
    """
    X = X[:ROWS]
    distances = cdist(X[:CENTRES], X)
    if not distances.any():
        return np.inf
    typical = float(np.median(distances[distances > 0]))
    low, high = np.log(typical) + np.log([1e-3, 1e3])
    for _ in range(STEPS):
        middle = (low + high) / 2
        tried = kernel(float(np.exp(middle)))
        centres = X[:CENTRES]
        around = tried.draw(centres, np.random.default_rng(seed)) if drawn else centres
        if np.quantile(_effective_sizes(tried, X, around, n), 1 - SERVED) < size:
            low = middle
        else:
            high = middle
    return float(np.exp(high))


def precision_for_size(X: FloatArray, n: int, size: float, seed: int) -> int:
    """Largest precision, up to 500, at which nine points of ten see ``size`` of n like X."""
    X = X[:ROWS]

    def too_sharp(precision: int) -> bool:
        kernel = MultinomialKernel(precision)
        counts = kernel.draw(X[:CENTRES], np.random.default_rng(seed))
        return bool(np.quantile(_effective_sizes(kernel, X, counts, n), 1 - SERVED) < size)

    return max(0, bisect_left(range(MOST_TRIALS + 1), True, key=too_sharp) - 1)


def _effective_sizes(kernel: Any, X: FloatArray, around: FloatArray, n: int) -> FloatArray:
    """Effective number of n points like X around each of the first of them, beyond itself."""
    if hasattr(kernel, "logs_to"):
        logs = kernel.logs_to(X)(around)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    else:
        weights = kernel(around, X)
    own = weights.diagonal().copy()
    np.fill_diagonal(weights, 0.0)
    of_each = n / (len(X) - 1)
    sums, squares = (of_each * (weights**power).sum(axis=1) + own**power for power in (1, 2))
    return sums**2 / squares - 1


@dataclass(frozen=True)
class Space:
    """A kernel, and the columns it sees with their centre and scale."""

    kernel: Any
    columns: IntArray
    centre: FloatArray
    scale: FloatArray

    def place(self, X: FloatArray) -> FloatArray:
        """Rows of X as the kernel sees them."""
        return (X[:, self.columns] - self.centre) / self.scale


def plain_space(kernel: Any, width: int) -> Space:
    """All columns in their own units."""
    return Space(kernel, np.arange(width), np.zeros(width), np.ones(width))


def standard_space(X: FloatArray, kernel: Any, bandwidth: Callable[[FloatArray], float]) -> Space:
    """Columns in standard deviations, constant ones left out, and a kernel of some bandwidth.

    ``bandwidth`` is a function of the rows so placed; infinite where they are all the same.
    """
    columns = np.flatnonzero(np.ptp(X, axis=0) > 0)
    if len(columns) == 0:
        return Space(kernel(np.inf), columns, np.zeros(0), np.ones(0))
    with np.errstate(over="ignore", invalid="ignore"):
        centre, scale = X[:, columns].mean(axis=0), X[:, columns].std(axis=0)
    wrong = np.flatnonzero(~((scale > 0) & np.isfinite(scale)))
    if len(wrong):
        size = "small" if scale[wrong[0]] == 0 else "large"
        raise ValueError(
            f"column {columns[wrong[0]]} of X is too {size} to measure distances in: rescale it"
        )
    standard = Space(kernel, columns, centre, scale)
    return replace(standard, kernel=kernel(bandwidth(standard.place(X))))


def tuned_space(
    kernel: Any,
    X: FloatArray,
    bandwidth: float | None,
    *,
    n: int,
    size: float,
    drawn: bool,
    seed: int,
) -> Space:
    """Standard space of a given bandwidth; None: a point then sees ``size`` effective ones of n."""
    if bandwidth is not None:
        return standard_space(X, kernel, lambda _: bandwidth)
    return standard_space(
        X,
        kernel,
        lambda placed: bandwidth_for_size(kernel, placed, n, size, drawn=drawn, seed=seed),
    )


def numbers(X: Any) -> FloatArray:
    """X as finite floats; a column that is no number is refused by its name."""
    if is_frame(X):
        values = np.column_stack([_column(X, name) for name in X.columns])
    else:
        values = np.asarray(X, dtype=float)
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        row, column = wrong[0]
        kind = "NaN" if np.isnan(values[row, column]) else "inf (infinity)"
        name = repr(X.columns[column]) if is_frame(X) else column
        raise ValueError(
            f"X contains {kind} at row {row}, column {name}: "
            "put an imputer before the rule in a pipeline, or drop the column"
        )
    return values


def _column(X: Any, name: Any) -> FloatArray:
    values = np.asarray(X[name])
    if values.dtype.kind in "biuf":
        return values.astype(float)
    missing = is_missing(values) if values.dtype.kind == "O" else np.zeros(len(values), dtype=bool)
    if values.dtype.kind != "O" or not all(isinstance(v, Real) for v in values[~missing]):
        raise ValueError(
            f"column {name!r} of type {X[name].dtype} holds no numbers: "
            "encode it (OneHotEncoder in a pipeline), or drop it"
        )
    return np.where(missing, np.nan, values).astype(float)


SYMMETRIC = (GaussianKernel, BoxKernel)  # and known to give no wrong weights
WeightsAroundDraws = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
ROUNDING = 1e-10  # error of a weight: copies of one point may differ by so much
FAINT = -500.0  # log weight of a test point below which exp is about to underflow


def blocks(n_rows: int, width: int, most: int) -> Iterator[slice]:
    """Slices of rows: neither a block of ``width`` columns nor a square one exceeds ``most``."""
    size = max(1, min(most // max(width, 1), int(most**0.5)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def rows_reaching(weights: FloatArray, own: FloatArray, quantile: float) -> IntArray:
    """First column at which each row's running sum is quantile · (its total + own).

    The number of columns where none is, or where nothing weighs anything. In two steps: sums of √n
    runs of columns, then the columns of the one run in which the target is reached.

    Examples
    --------
    >>> rows_reaching(np.array([[1.0, 1.0, 2.0], [1.0, 0.0, 0.0]]), np.array([0.0, 1.0]), 0.5)
    array([1, 0])
    """
    m, n = weights.shape
    run = max(1, int(n**0.5))
    whole = n // run * run
    sums = weights[:, :whole].reshape(m, -1, run) @ np.ones(run)  # twice as fast as sum
    sums = np.column_stack([sums, weights[:, whole:].sum(axis=1)])
    ends = np.cumsum(sums, axis=1)
    total = ends[:, -1] + own
    # Rounding, of the sums or the weights, must not push a target met exactly to the next score.
    slack = 4 * np.finfo(float).eps * n + ROUNDING * (1 - quantile)
    target = (quantile - slack) * total
    hit = (ends < target[:, None]).sum(axis=1)
    found = hit < ends.shape[1]
    hit = np.where(found, hit, 0)
    columns = np.minimum(hit[:, None] * run + np.arange(run), n - 1)
    inside = np.take_along_axis(weights, columns, axis=1)
    inside[:, 0] += np.where(hit > 0, ends[np.arange(m), hit - 1], 0.0)
    short = (np.cumsum(inside, axis=1) < target[:, None]).sum(axis=1)
    position = hit * run + np.minimum(short, run - 1)
    return np.where(found & (total > 0), np.minimum(position, n - 1), n)


def weights_around(kernel: Any, X: FloatArray, Z: FloatArray) -> FloatArray:
    """H(x_i, z_j) as checked weights, one row for each z_j."""
    if isinstance(kernel, SYMMETRIC):
        return kernel(Z, X)
    return np.ascontiguousarray(weights_from(kernel, X, Z).T)


def weights_from(kernel: Any, X: FloatArray, Z: FloatArray) -> FloatArray:
    """H(x_i, z_j) as checked weights, one row for each x_i."""
    weights = kernel(X, Z)
    return weights if isinstance(kernel, SYMMETRIC) else checked(weights, (len(X), len(Z)))


def weights_around_draws(kernel: Any, X: FloatArray) -> WeightsAroundDraws:
    """Weights as functions of points p and draws z: H(x_i, z_j), one row per draw; and H(p_j, z_j).

    They have a factor of each row, chosen so that weights too small for a float are kept apart.
    """
    if not hasattr(kernel, "logs_to"):
        return lambda points, drawn: (
            weights_around(kernel, X, drawn),
            weights_around(kernel, points, drawn).diagonal(),
        )
    logs_to_rows = kernel.logs_to(X)

    def weights(points: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        logs, own = logs_to_rows(drawn), kernel.log_pairs(points, drawn)
        faint = np.flatnonzero(own < FAINT)
        if len(faint):
            top = np.maximum(logs[faint].max(axis=1), own[faint])
            logs[faint] -= top[:, None]
            own[faint] -= top
        return np.exp(logs, out=logs), np.exp(own)

    return weights


def checked(weights: Any, shape: tuple[int, int]) -> FloatArray:
    """Weights of a kernel given by the user: the right shape, no NaN, nothing negative."""
    weights = np.asarray(weights, dtype=float)
    if weights.shape != shape:
        raise ValueError(
            f"kernel(X, Z) must give one weight for each row of X and of Z, shape {shape}, "
            f"got {weights.shape}"
        )
    wrong = ~((weights >= 0) & np.isfinite(weights))
    if wrong.any():
        raise ValueError(
            f"kernel(X, Z) must give finite weights that are not negative, got {weights[wrong][0]}"
        )
    return weights
