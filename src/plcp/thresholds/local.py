"""Localised conformal prediction: scores ranked among those nearby, and calibrated by rank."""

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.locality.weighting import (
    ROUNDING,
    SYMMETRIC,
    rows_reaching,
    weights_around,
    weights_from,
)
from plcp.quantiles import FloatArray, IntArray, conformal_rank
from plcp.thresholds.levels import Alpha
from plcp.thresholds.weighted import LocalRule

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
        alpha: Alpha = 0.1,
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
        self._limit = _rank_limit(self._weights, n, self.alpha)

    def _positions(self, points: FloatArray) -> IntArray:
        def positions(rows: slice) -> IntArray:
            around = weights_from(self.kernel_, points[rows], self._X)
            same = isinstance(self.kernel_, SYMMETRIC)
            own = np.ones(len(around)) if same else self._own(points[rows])
            counted = around if self._weights is None else around * self._weights
            if len(self._total) == 0:  # fitted without calibration
                return rows_reaching(counted, own, 1 - self._alpha)
            to_point = around if same else weights_around(self.kernel_, self._X, points[rows])
            return self._last_accepted(counted, own, to_point)

        return self._by_block(positions, len(points))

    def _own(self, points: FloatArray) -> FloatArray:
        """Weight of each point to itself, by the user's kernel."""
        return weights_from(self.kernel_, points, points).diagonal()

    def _last_accepted(self, around: FloatArray, own: FloatArray, to_point: FloatArray) -> IntArray:
        """Position of the largest score below which all are accepted, for each row.

        Just below the score at position p the test point outranks the first p scores, and the
        others outrank it, with its weight on their side.
        """
        ranks = np.column_stack([np.zeros(len(own)), np.cumsum(around, axis=1)])
        ranks /= np.maximum(ranks[:, -1] + own, TINY)[:, None]
        # Ranks equal but for rounding are equal: else copies of one point would be told apart.
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


def _rank_limit(weights: FloatArray | None, n: int, alpha: float) -> float:
    """Number of lower ranks at which a score is no longer accepted."""
    if weights is None:
        return float(conformal_rank(n, alpha))
    return float(max(1 - alpha - 4 * EPS * n, TINY) * (weights.sum() + 1))
