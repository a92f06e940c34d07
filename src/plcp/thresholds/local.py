"""Local rules: quantiles of the scores weighted around x, calibrated (LocalCP) or drawn (RLCP)."""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from plcp._folds import copy_ids, rows_of
from plcp._options import check_option, check_rate, is_real, warn_infinite
from plcp._parallel import in_threads
from plcp._validation import drop_weightless
from plcp.kernels import (
    ROUNDING,
    SYMMETRIC,
    BoxKernel,
    GaussianKernel,
    MultinomialKernel,
    Space,
    blocks,
    check_automatic,
    check_bandwidth,
    numbers,
    plain_space,
    rows_reaching,
    tuned_space,
    weights_around,
    weights_around_draws,
    weights_from,
)
from plcp.out_of_core import RowDraws
from plcp.quantiles import FloatArray, IntArray, conformal_rank
from plcp.thresholds.base import Alpha, ThresholdRule
from plcp.thresholds.guarantees import EXCHANGEABLE, Guarantee

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

    def _predict(self, X: Any, *groups: Any) -> FloatArray:
        points = self._points(X)
        thresholds = np.append(self.scores_, np.inf)[self._positions(X, points)]
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

    def _positions(self, X: Any, points: FloatArray) -> IntArray:
        """Position of each point's threshold among the scores; their number if it is infinite.

        Of the quantiles weighted around a draw from the kernel, unless a rule has its own.
        """
        drawn = self._drawn(X, points)
        if drawn.shape != points.shape or not np.isfinite(drawn).all():
            raise ValueError(
                f"kernel.draw(X, rng) must give one finite point per row, shape {points.shape}, "
                f"got shape {drawn.shape}"
            )
        weights_of = weights_around_draws(self.kernel_, self._X)

        def positions(rows: slice) -> IntArray:
            weights, own = weights_of(points[rows], drawn[rows])
            if self._weights is not None:
                weights *= self._weights
            return rows_reaching(weights, own, 1 - self._alpha)

        return self._by_block(positions, len(points))

    def _drawn(self, X: Any, points: FloatArray) -> FloatArray:
        """One draw from the kernel around each point, by the content of its row."""
        draws = RowDraws(X, self._seed, "neighbour")
        if type(self.kernel_) in (GaussianKernel, BoxKernel, MultinomialKernel):
            return np.asarray(self.kernel_.draw(points, draws))
        # a kernel of the user's own may draw from any law
        each = zip(points[:, None], draws.generators(), strict=True)
        return np.concatenate([np.asarray(self.kernel_.draw(*one)) for one in each])

    @property
    def draws(self) -> bool:
        """Whether thresholds depend on draws: always."""
        return True

    def _by_block(self, job: Callable[[slice], NDArray[Any]], n: int) -> NDArray[Any]:
        """``job`` of each block of n rows, in threads, put together again."""
        jobs = [partial(job, rows) for rows in blocks(n, len(self.scores_), self._block)]
        return np.concatenate(
            in_threads(jobs, self.n_jobs, self.verbose, type(self).__name__), axis=-1
        )


class LocalRule(WeightedRule):
    """A rule that weights calibration points by a kernel."""

    def __init__(
        self,
        kernel: Any = "gaussian",
        bandwidth: float | str = "auto",
        alpha: Alpha = 0.1,
        *,
        effective_size: float | str = "auto",
        tuning_size: float = 0.2,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.effective_size = effective_size
        self.tuning_size = tuning_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _allows_nan(self, *groups: Any) -> bool:
        return True  # reading X as numbers refuses them, and names the remedy

    def _fit(self, X: Any, scores: FloatArray, weights: FloatArray | None, *groups: Any) -> None:
        """Choose scale and bandwidth on some rows, and sort the scores of the others.

        Scale and bandwidth do not depend on weights.
        """
        self._alpha = check_rate(self.alpha)
        X, scores, weights = drop_weightless(numbers(X), scores, weights)
        rng = check_random_state(self.random_state)
        self._space, rows, apart = self._settle(X, scores, rng)
        self.kernel_ = self._space.kernel
        rows = rows[np.argsort(scores[rows], kind="stable")]
        self.scores_, self._X = scores[rows], self._space.place(X[rows])
        self._weights = None if weights is None else weights[rows]
        self._seed = int(rng.randint(LARGEST_SEED))
        self._prepare()
        self.guarantee_ = self._guarantee(exact=apart and weights is None)

    def _prepare(self) -> None:
        """Compute what every prediction needs."""

    @abstractmethod
    def _guarantee(self, exact: bool) -> Guarantee:
        """Return what holds, exact if weights and scale do not depend on the calibrating rows."""

    def _marginal(self, exact: bool, note: str) -> Guarantee:
        if not exact:
            note = f"Rows were weighted, or chose the scale they are measured on. {note}"
        return Guarantee(
            "exact" if exact else "approximate",
            "marginal",
            self.alpha,
            len(self.scores_),
            (EXCHANGEABLE,),
            note=note,
        )

    def _points(self, X: Any) -> FloatArray:
        return self._space.place(numbers(X))

    def _settle(
        self, X: FloatArray, scores: FloatArray, rng: np.random.RandomState
    ) -> tuple[Space, IntArray, bool]:
        """Space, rows to calibrate on, and whether these rows had no say in the space."""
        n, width = X.shape
        if not isinstance(self.kernel, str):
            return plain_space(self._own_kernel(), width), np.arange(n), True
        make = KERNELS[check_option("kernel", self.kernel, tuple(KERNELS))]
        ids = copy_ids(X, scores)
        n_tuning = self._count_tuning_rows(ids.max() + 1)
        parts = np.split(rng.permutation(ids.max() + 1), [n_tuning])
        tuning, rows = (rows_of(part, ids) for part in parts)
        target = target_size(self.effective_size, len(rows), self.alpha)
        bandwidth = self._fixed_bandwidth(target >= len(rows))
        if bandwidth == np.inf:  # nothing to settle: every row calibrates
            return plain_space(make(np.inf), width), np.arange(n), True
        looked_at = X[tuning if len(tuning) else rows]
        seed = int(rng.randint(LARGEST_SEED))
        space = tuned_space(
            make, looked_at, bandwidth, n=len(rows), size=target, drawn=self.draws, seed=seed
        )
        return space, rows, len(tuning) > 0

    def _own_kernel(self) -> Any:
        """Return the user's kernel, if it can do what the rule asks of it."""
        needs = "a call (X, Z) and draw(X, rng)" if self.draws else "a call (X, Z)"
        if not callable(self.kernel) or (self.draws and not hasattr(self.kernel, "draw")):
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
        size = float(self.tuning_size) if is_real(self.tuning_size) else np.nan
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


EPS, TINY = np.finfo(float).eps, np.finfo(float).tiny


class LocalCP(LocalRule):
    """Quantile of the scores weighted around x, at a level that makes coverage exact.

    With V the scores, v the one of the test point and H_ij = H(x_i, x_j), every point has a rank
    among the scores near it, θ_i(v) = Σ_j H_ij 1{V_j < V_i} / Σ_j H_ij over all n + 1 points. The
    score v is accepted if fewer than ⌈(1 - alpha)(n + 1)⌉ of the ranks lie below its own: this is
    Guan's choice of the smallest level at which 1 - alpha of all points are covered. The threshold
    is the supremum of the scores accepted. If calibration and test points are exchangeable,
    P(covered) ≥ 1 - alpha; near a single x nothing exact holds. ``fit`` weighs every calibration
    point against every other: a minute for 100,000 of them.

    Parameters
    ----------
    kernel : {"gaussian", "box"} or callable, default="gaussian"
        How points count around x: ``kernel(X, Z)`` gives weights H(x, z) of shape (n, m). One of
        your own sees X in its own units, and all rows calibrate.
    bandwidth : float or "auto", default="auto"
        In standard deviations of the columns. "auto": nine points of ten see
        ``effective_size`` calibration points. Infinite: split conformal prediction.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
    calibrated : bool, default=True
        False: the plain quantile at 1 - alpha of the weights around x, the test point's own at
        infinity. Faster, and without any guarantee.
    effective_size : float or "auto", default="auto"
        Number of points (Σw)² / Σw² that are to count. "auto": 10 / alpha, so that ten of them
        are beyond the threshold; at most half of the points, at least 2 / alpha.
    tuning_size : float, default=0.2
        Share of the rows (at most 1000) that settle scale and bandwidth and nothing else, which
        keeps the guarantee exact. Columns constant among them do not count. Zero: all rows do
        both, and the guarantee is approximate.
    n_jobs : int or None
        Blocks of points at once, in threads; results do not depend on it.
    random_state : int, RandomState or None
        Seed of the tuning rows.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).

    Attributes
    ----------
    kernel_ : object
        The kernel, with its ``bandwidth``.
    scores_ : ndarray
        The calibration scores that thresholds are taken from, rising.
    guarantee_ : Guarantee
        What holds, and when.

    References
    ----------
    Guan (2023). Localized conformal prediction: a generalized inference framework for conformal
    prediction. Biometrika 110.

    Examples
    --------
    >>> from plcp import LocalCP
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(4000, random_state=0)
    >>> rule = LocalCP(random_state=0).fit(task.X, task.scores)
    >>> left, right = rule.predict([[-0.5], [0.5]])  # the noise is √2 times as large on the right
    >>> bool(right > left)
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        bandwidth: float | str = "auto",
        alpha: Alpha = 0.1,
        *,
        calibrated: bool = True,
        effective_size: float | str = "auto",
        tuning_size: float = 0.2,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            kernel,
            bandwidth,
            alpha,
            effective_size=effective_size,
            tuning_size=tuning_size,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.calibrated = calibrated

    def _prepare(self) -> None:
        """Sum the weights around each calibration point: all of them, and those of lower scores."""
        n = len(self.scores_)
        self._below = self._total = np.zeros(0)
        self._starts, self._limit = np.zeros(0, dtype=np.intp), 0.0
        if not self.calibrated:
            return
        lower = np.searchsorted(self.scores_, self.scores_)

        def sums(rows: slice) -> FloatArray:
            weights = weights_from(self.kernel_, self._X[rows], self._X)
            if self._weights is not None:
                weights = weights * self._weights
            first, last = lower[[rows.start, rows.stop - 1]]
            # Scores rise with the rows: all but a few columns are below all of these, or none.
            mixed = weights[:, first:last] * (np.arange(first, last) < lower[rows, None])
            return np.stack(
                [weights[:, :first].sum(axis=1) + mixed.sum(axis=1), weights.sum(axis=1)]
            )

        self._below, self._total = self._by_block(sums, n)
        self._starts = np.append(np.flatnonzero(np.diff(self.scores_, prepend=-np.inf)), n)
        # number of lower ranks at which a score is no longer accepted
        self._limit = float(conformal_rank(n, self.alpha))
        if self._weights is not None:
            self._limit = max(1 - self.alpha - 4 * EPS * n, TINY) * float(self._weights.sum() + 1)

    def _positions(self, X: Any, points: FloatArray) -> IntArray:
        def positions(rows: slice) -> IntArray:
            here = points[rows]
            around = weights_from(self.kernel_, here, self._X)
            same = isinstance(self.kernel_, SYMMETRIC)
            own = np.ones(len(here)) if same else weights_from(self.kernel_, here, here).diagonal()
            counted = around if self._weights is None else around * self._weights
            if len(self._total) == 0:  # fitted without calibration
                return rows_reaching(counted, own, 1 - self._alpha)
            to_point = around if same else weights_around(self.kernel_, self._X, here)
            return self._last_accepted(counted, own, to_point)

        return self._by_block(positions, len(points))

    def _last_accepted(self, around: FloatArray, own: FloatArray, to_point: FloatArray) -> IntArray:
        """Position of the largest score below which all are accepted, for each row.

        Just below the score at position p the test point outranks the first p scores, and the
        others outrank it, with its weight on their side.
        """
        ranks = np.column_stack([np.zeros(len(own)), np.cumsum(around, axis=1)])
        ranks /= np.maximum(ranks[:, -1] + own, TINY)[:, None]
        # Ranks equal but for rounding are equal: else copies of one point would differ.
        ranks -= 4 * EPS * around.shape[1] + ROUNDING
        total = np.maximum(self._total + to_point, TINY)
        low, high = self._below / total, (self._below + to_point) / total
        return np.array([self._bisect(*row) for row in zip(ranks, low, high, strict=True)])

    def _bisect(self, ranks: FloatArray, low: FloatArray, high: FloatArray) -> int:
        """Last start of a run of equal scores just below which a score is accepted."""

        def refused(start: int) -> bool:
            below = self._count(low[:start] < ranks[start], slice(start))
            below += self._count(high[start:] < ranks[start], slice(start, None))
            return below >= self._limit

        return int(self._starts[bisect_left(self._starts, True, key=refused) - 1])

    def _count(self, chosen: NDArray[np.bool_], rows: slice) -> float:
        if self._weights is None:
            return float(np.count_nonzero(chosen))
        return float(self._weights[rows] @ chosen)

    @property
    def draws(self) -> bool:
        """Whether thresholds depend on draws: never."""
        return False

    def _guarantee(self, exact: bool) -> Guarantee:
        if not self.calibrated:
            note = (
                f"P(covered) is near {1 - self.alpha:g} only as far as the scores near an input "
                "follow one law; calibrated=True is exact on average over all inputs."
            )
            return Guarantee("none", "marginal", self.alpha, len(self.scores_), note=note)
        note = "Near an input it follows the scores nearby, with no guarantee."
        return self._marginal(exact, note)


class RLCP(LocalRule):
    """Quantile of the scores, weighted around a point X̃ that is drawn near x.

    X̃ ~ H(x, ·), and q is the (1 - alpha)-quantile of Σ_i w_i δ(s_i) + w δ(∞) with w_i = H(x_i, X̃)
    and w = H(x, X̃), normalised. If calibration and test points are exchangeable, P(covered) ≥
    1 - alpha, and P(covered | X̃) ≥ 1 - alpha for every X̃: coverage around each place, as wide as
    the kernel. Hence for any set B of inputs P(missed | X ∈ B) ≤ alpha + P(only one of X and X̃ is
    in B) / P(X ∈ B), which is little for sets much wider than the bandwidth. The price is the
    draw: the threshold of one x differs from seed to seed.

    Parameters
    ----------
    kernel : {"gaussian", "box"} or object, default="gaussian"
        How points count around X̃. An object has ``__call__(X, Z)``, weights H(x, z) of shape
        (n, m), and ``draw(X, rng)``, one draw per row from the density H(x, ·), which the weights
        may exceed by a factor, but the same for every x; in ``predict`` it is called once per row,
        with a ``numpy.random.Generator`` of that row. It sees X in its own units, and all rows
        calibrate.
    bandwidth, alpha, effective_size, tuning_size, n_jobs, verbose :
        As in ``LocalCP``.
    random_state : int, RandomState or None
        Seed of the tuning rows and the draws. A fitted rule draws by a hash of a row's values: a
        row gets the same draw alone and in a batch, and rows with equal values share it.

    Attributes
    ----------
    kernel_ : object
        The kernel, with its ``bandwidth``.
    scores_ : ndarray
        The calibration scores that thresholds are taken from, rising.
    guarantee_ : Guarantee
        What holds, and when.

    References
    ----------
    Hore, Barber (2023). Conformal prediction with local weights: randomization enables local
    guarantees. arXiv 2310.07850.

    Examples
    --------
    >>> from plcp import RLCP
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(4000, random_state=0)
    >>> rule = RLCP(random_state=0).fit(task.X, task.scores)
    >>> left, right = rule.predict([[-0.5], [0.5]])  # the noise is √2 times as large on the right
    >>> bool(right > left)
    True
    """

    def _guarantee(self, exact: bool) -> Guarantee:
        note = (
            "The same around each drawn neighbour; near a single input it holds as far as the "
            "kernel is narrow."
        )
        return self._marginal(exact, note)
