"""Localised conformal prediction: scores ranked among those nearby, and calibrated by rank."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray, IntArray, conformal_rank
from plcp.thresholds.locality import LocalRule
from plcp.thresholds.weighting import rows_reaching, weights_around, weights_from

EPS = np.finfo(float).eps


class LocalCP(LocalRule):
    """Quantile of the scores weighted around x, at a level that makes coverage exact.

    With V the scores, v the one of the test point and H_ij = H(x_i, x_j), every point has a rank
    among the scores near it, θ_i(v) = Σ_j H_ij 1{V_j < V_i} / Σ_j H_ij over all n + 1 points. The
    score v is accepted if fewer than ⌈(1 - alpha)(n + 1)⌉ of the ranks lie below its own: this is
    Guan's choice of the smallest level at which 1 - alpha of all points are covered. The threshold
    is the supremum of the scores accepted. If calibration and test points are exchangeable,
    P(covered) ≥ 1 - alpha; near a single x nothing exact holds.

    Parameters
    ----------
    kernel : {"gaussian", "box"} or callable, default="gaussian"
        How points count around x: ``kernel(X, Z)`` gives weights H(x, z) of shape (n, m). One of
        your own sees X in its own units, and all rows calibrate.
    bandwidth : float or "auto", default="auto"
        In standard deviations of the columns. "auto": points see ``effective_size`` calibration
        points in the median. Infinite: split conformal prediction.
    alpha : float, default=0.1
        Miscoverage rate.
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
    guarantee_ : str
        What holds, and when.

    References
    ----------
    Guan (2023). Localized conformal prediction: a generalized inference framework for conformal
    prediction. Biometrika 110.

    Examples
    --------
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
        alpha: float = 0.1,
        *,
        calibrated: bool = True,
        effective_size: float | str = "auto",
        tuning_size: float = 0.2,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.calibrated = calibrated
        self.effective_size = effective_size
        self.tuning_size = tuning_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _prepare(self) -> None:
        """Sum the weights around each calibration point: all of them, and those of lower scores."""
        n = len(self.scores_)
        self._counts = np.ones(n) if self._weights is None else self._weights
        if not self.calibrated:
            return
        lower = np.searchsorted(self.scores_, self.scores_)

        def sums(rows: slice) -> FloatArray:
            weights = self._around(self._X[rows])
            below = weights.sum(axis=1, where=np.arange(n) < lower[rows, None])
            return np.stack([below, weights.sum(axis=1)])

        self._below, self._total = self._by_block(sums, n, "LocalCP")

    def _positions(self, points: FloatArray) -> IntArray:
        def positions(rows: slice) -> IntArray:
            weights = self._around(points[rows])
            own = weights_from(self.kernel_, points[rows], points[rows]).diagonal()
            if not self.calibrated:
                return rows_reaching(weights, own, 1 - self.alpha)
            to_point = weights_around(self.kernel_, self._X, points[rows])
            return self._last_accepted(weights, own, to_point)

        return self._by_block(positions, len(points), "LocalCP")

    def _around(self, points: FloatArray) -> FloatArray:
        """Weights of the calibration points around each point, times what they count."""
        return weights_from(self.kernel_, points, self._X) * self._counts

    def _last_accepted(self, around: FloatArray, own: FloatArray, to_point: FloatArray) -> IntArray:
        """Position of the largest score below which all are accepted, by bisection.

        Just below the score at position p the test point outranks the first p scores, and the
        others outrank it.
        """
        m, n = around.shape
        starts = np.append(np.flatnonzero(np.diff(self.scores_, prepend=-np.inf)), n)
        ranks = np.column_stack([np.zeros(m), np.cumsum(around, axis=1)])
        ranks /= np.maximum(ranks[:, -1] + own, np.finfo(float).tiny)[:, None]
        low, high = np.zeros(m, dtype=np.intp), np.full(m, len(starts))
        while (high - low > 1).any():
            middle = (low + high) // 2
            accepted = self._accepted(starts[middle], ranks, to_point)
            low, high = np.where(accepted, middle, low), np.where(accepted, high, middle)
        return starts[low]

    def _accepted(self, p: IntArray, ranks: FloatArray, to_point: FloatArray) -> NDArray[np.bool_]:
        """Whether few enough ranks lie below the test point's, its score just below position p."""
        n = len(self.scores_)
        rank = np.take_along_axis(ranks, p[:, None], axis=1)
        # Ranks equal but for rounding are equal: else copies of one point would be told apart.
        rank -= 4 * EPS * n
        lowered = self._below + to_point * ((np.arange(n) >= p[:, None]) - rank)
        return (lowered < rank * self._total) @ self._counts < self._limit()

    def _limit(self) -> float:
        """Number of ranks below which a score is accepted."""
        if self._weights is None:
            return float(conformal_rank(len(self.scores_), self.alpha))
        total = self._weights.sum() + 1
        return float((1 - self.alpha - 4 * EPS * len(self.scores_)) * total)

    def _guarantee(self, exact: bool) -> str:
        target = f"{1 - self.alpha:g}"
        if not self.calibrated:
            return (
                f"None: P(covered) is near {target} only as far as the scores near an input follow "
                "one law; calibrated=True is exact on average over all inputs."
            )
        if not exact:
            return (
                f"Approximate: P(covered) is about {target} on average over all inputs, as rows "
                "were weighted, or settled the scale they are measured on; nothing holds for a "
                "kind of input."
            )
        return (
            f"P(covered) >= {target} on average over all inputs, in finite samples, if calibration "
            "and test points are exchangeable; near an input it follows the scores nearby, with no "
            "guarantee."
        )
