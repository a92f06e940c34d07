"""Randomly localised conformal prediction: weights around a point drawn near the test point."""

from typing import Any

from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds.levels import Alpha
from plcp.thresholds.weighted import LocalRule


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
        (n, m), and ``draw(X, rng)``, one draw a row from the density H(x, ·), which the weights
        may exceed by a factor, but the same for every x. It sees X in its own units, and all rows
        calibrate.
    bandwidth : float or "auto", default="auto"
        In standard deviations of the columns. "auto": nine points of ten see
        ``effective_size`` calibration points. Infinite: split conformal prediction.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
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
        Seed of the tuning rows and the draws. A fitted rule draws from the same stream in every
        call of ``predict``, so that a threshold depends on its row's place among those given.
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
    Hore, Barber (2023). Conformal prediction with local weights: randomization enables local
    guarantees. arXiv 2310.07850.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(4000, random_state=0)
    >>> rule = RLCP(random_state=0).fit(task.X, task.scores)
    >>> left, right = rule.predict([[-0.5], [0.5]])  # the noise is √2 times as large on the right
    >>> bool(right > left)
    True
    """

    _draws = True

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

    def _positions(self, points: FloatArray) -> IntArray:
        return self._positions_by_draw(points)

    def _guarantee(self, exact: bool) -> str:
        target = f"{1 - self.alpha:g}"
        if not exact:
            return (
                f"Approximate: P(covered) is about {target} on average over all inputs and around "
                "each drawn neighbour, as rows were weighted, or settled the scale they are "
                "measured on; near a single input it holds as far as the kernel is narrow."
            )
        return (
            f"P(covered) >= {target} on average over all inputs, and around each drawn neighbour, "
            "in finite samples, if calibration and test points are exchangeable; near a single "
            "input it holds as far as the kernel is narrow."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags
