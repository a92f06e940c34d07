"""What local rules share: rows that settle a space, and the others in the order of their scores."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp.locality.kernels import BoxKernel, GaussianKernel, check_automatic, check_bandwidth
from plcp.locality.space import Space, numbers, plain_space, tuned_space
from plcp.locality.weighting import blocks, rows_reaching, weights_around_draws
from plcp.progress import in_threads
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds.base import ThresholdRule
from plcp.thresholds.several import fits_each_level, predicts_each_level
from plcp.validation import (
    check_alpha,
    check_features,
    check_option,
    check_pairs,
    drop_weightless,
    warn_infinite,
)

KERNELS = {"gaussian": GaussianKernel, "box": BoxKernel}
MOST_TUNING_ROWS = 1000  # more would make neither scale nor bandwidth better
BLOCK = 2**21  # weights that a thread holds at once: 16 MB
LARGEST_SEED = np.iinfo(np.int32).max


class WeightedRule(ThresholdRule):
    """A rule whose thresholds are calibration scores, found by weights around each point."""

    _block = BLOCK

    kernel_: Any
    scores_: FloatArray  # rising
    n_jobs: int | None
    verbose: bool
    _X: FloatArray  # what the kernel sees of the calibration rows, in the order of the scores
    _weights: FloatArray | None  # what they count
    _seed: int
    _alpha: float  # at which it was fitted

    @predicts_each_level
    def predict(self, X: Any) -> FloatArray:
        """Thresholds q(x), one a row."""
        check_is_fitted(self, "scores_")
        points = self._points(X)
        thresholds = np.append(self.scores_, np.inf)[self._positions(points)]
        infinite = int(np.isinf(thresholds).sum())
        if infinite:
            warn_infinite(
                f"{infinite} of {len(points)} rows have too little calibration weight around them "
                f"for alpha = {self._alpha:g}"
            )
        return thresholds

    @abstractmethod
    def _points(self, X: Any) -> FloatArray:
        """Return what the kernel sees of new rows."""

    @abstractmethod
    def _positions(self, points: FloatArray) -> IntArray:
        """Position of each point's threshold among the scores; their number if it is infinite."""

    def _positions_by_draw(self, points: FloatArray) -> IntArray:
        """Return those of the quantiles weighted around a draw from the kernel."""
        drawn = np.asarray(self.kernel_.draw(points, np.random.default_rng(self._seed)))
        if drawn.shape != points.shape or not np.isfinite(drawn).all():
            raise ValueError(
                f"kernel.draw(X, rng) must give one finite point a row, shape {points.shape}, "
                f"got shape {drawn.shape}"
            )
        weights_of = weights_around_draws(self.kernel_, self._X)

        def positions(rows: slice) -> IntArray:
            weights, own = weights_of(points[rows], drawn[rows])
            if self._weights is not None:
                weights *= self._weights
            return rows_reaching(weights, own, 1 - self._alpha)

        return self._by_block(positions, len(points))

    def _by_block(self, job: Callable[[slice], NDArray[Any]], n: int) -> NDArray[Any]:
        """``job`` of each block of n rows, in threads, put together again."""
        jobs = [partial(job, rows) for rows in blocks(n, len(self.scores_), self._block)]
        return np.concatenate(
            in_threads(jobs, self.n_jobs, self.verbose, type(self).__name__), axis=-1
        )


class LocalRule(WeightedRule):
    """A rule that weights calibration points by a kernel."""

    _draws = False  # whether weights are taken around a draw from the kernel

    kernel: Any
    bandwidth: Any
    effective_size: Any
    tuning_size: Any
    random_state: Any

    @fits_each_level
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Settle scale and bandwidth on some rows, and put the scores ``y`` of the rest in order.

        ``sample_weight`` counts rows: weight 2 stands for two rows, weight 0 for none, and a test
        point has weight one. Scale and bandwidth look at rows, whatever they weigh.
        """
        self._alpha = check_alpha(self.alpha)
        X, scores, weights = check_pairs(self, X, y, sample_weight, allow_nan=True)
        X, scores, weights = drop_weightless(numbers(X), scores, weights)
        rng = check_random_state(self.random_state)
        self._space, rows, apart = self._settle(X, rng)
        self.kernel_ = self._space.kernel
        rows = rows[np.argsort(scores[rows], kind="stable")]
        self.scores_, self._X = scores[rows], self._space.place(X[rows])
        self._weights = None if weights is None else weights[rows]
        self._seed = int(rng.randint(LARGEST_SEED))
        self._prepare()
        self.guarantee_ = self._guarantee(exact=apart and weights is None)
        return self

    def _prepare(self) -> None:
        """Compute what every prediction needs."""

    @abstractmethod
    def _guarantee(self, exact: bool) -> str:
        """Sentence that says what holds."""

    def _points(self, X: Any) -> FloatArray:
        X = check_features(self, X, reset=False, allow_nan=True)
        return self._space.place(numbers(X))

    def _settle(self, X: FloatArray, rng: np.random.RandomState) -> tuple[Space, IntArray, bool]:
        """Space, rows to calibrate on, and whether these rows had no say in the space."""
        n, width = X.shape
        if not isinstance(self.kernel, str):
            return plain_space(self._own_kernel(), width), np.arange(n), True
        make = KERNELS[check_option("kernel", self.kernel, tuple(KERNELS))]
        n_tuning = self._count_tuning_rows(n)
        target = target_size(self.effective_size, n - n_tuning, self.alpha)
        bandwidth = self._fixed_bandwidth(target >= n - n_tuning)
        if bandwidth == np.inf:  # nothing to settle: every row calibrates
            return plain_space(make(np.inf), width), np.arange(n), True
        tuning, rows = np.split(rng.permutation(n), [n_tuning])
        looked_at = X[tuning if n_tuning else rows]
        seed = int(rng.randint(LARGEST_SEED))
        space = tuned_space(
            make, looked_at, bandwidth, n=len(rows), size=target, drawn=self._draws, seed=seed
        )
        return space, rows, n_tuning > 0

    def _own_kernel(self) -> Any:
        """Return the user's kernel, if it can do what the rule asks of it."""
        needs = "a call (X, Z) and draw(X, rng)" if self._draws else "a call (X, Z)"
        if not callable(self.kernel) or (self._draws and not hasattr(self.kernel, "draw")):
            raise ValueError(
                f"kernel must be 'gaussian', 'box' or an object with {needs}, got {self.kernel!r}"
            )
        if not (isinstance(self.bandwidth, str) and self.bandwidth == "auto"):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} is for the kernels known by name: "
                "a kernel of your own has its own"
            )
        return self.kernel

    def _fixed_bandwidth(self, too_few: bool) -> float | None:
        """Bandwidth that needs no search: the one given, or infinite where points are too few."""
        if not isinstance(self.bandwidth, str):
            return check_bandwidth(self.bandwidth)
        check_automatic("bandwidth", self.bandwidth)
        return np.inf if too_few else None

    def _count_tuning_rows(self, n: int) -> int:
        size = float(self.tuning_size) if isinstance(self.tuning_size, Real) else np.nan
        if not 0 <= size < 1:
            raise ValueError(f"tuning_size must lie in [0, 1), got {self.tuning_size!r}")
        if size == 0:
            return 0
        return min(MOST_TUNING_ROWS, max(2, int(size * n)), n - 1)


def target_size(effective_size: Any, n: int, alpha: float) -> float:
    """Effective number of calibration points, of n, that are to count around a point.

    "auto" is 10 / alpha: ten of them are then beyond the threshold, whose miscoverage is known to
    about a third of alpha. Half of fewer points, but no less than twice what a finite one needs.
    """
    if isinstance(effective_size, str):
        check_automatic("effective_size", effective_size)
        return min(10 / alpha, max(n / 2, 2 / alpha))
    size = float(effective_size) if isinstance(effective_size, Real) else np.nan
    if not size >= 1:
        raise ValueError(f"effective_size must be at least 1, got {effective_size!r}")
    return size
