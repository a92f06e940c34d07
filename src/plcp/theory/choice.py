"""The number of groups that theory would choose."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from plcp.quantiles import FloatArray, IntArray
from plcp.theory.finite import finite_excess, learning_error
from plcp.theory.sharp import sharp_finite_excess, sharp_learning_error
from plcp.validation import check_count

OfM = Callable[[IntArray], ArrayLike]


def best_m(
    n: int,
    variance: float,
    delta: float,
    log_covering: float | OfM,
    *,
    score_range: float = 1.0,
) -> int:
    """Return the m ≤ n that minimises the bound of Theorem 3.11, and so that of Corollary 3.12.

    ``log_covering`` is a number, or a function of an array of m that does not fall as m grows.
    The gap λ_H is taken not to depend on m. The search is exact: it ends where the learning error
    alone, which grows with m, exceeds the best bound found. A bound is least where its
    two terms balance; the excess itself, far below it, may be least elsewhere.

    Examples
    --------
    >>> best_m(10**4, 0.1, 0.05, 0.0), best_m(10**8, 0.1, 0.05, 0.0)
    (2, 147)
    """
    n, covering = check_count("n", n, 1), _of_m(log_covering)
    return _least(
        n,
        lambda m: finite_excess(m, n, variance, delta, covering(m), score_range=score_range),
        lambda m: learning_error(m, n, delta, covering(m), score_range=score_range),
    )


def sharp_best_m(
    n: int,
    variance: float,
    delta: float,
    log_covering: float | OfM,
    *,
    alpha: float,
    lipschitz: float = np.inf,
    score_range: float = 1.0,
    hard: bool = False,
) -> int:
    """Return the m ≤ n that minimises ``sharp_finite_excess``; see ``best_m``.

    Examples
    --------
    >>> sharp_best_m(10**4, 0.1, 0.05, 0.0, alpha=0.1)
    17
    """
    n, covering = check_count("n", n, 1), _of_m(log_covering)

    def bound(m: IntArray) -> FloatArray:
        return sharp_finite_excess(
            m,
            n,
            variance,
            delta,
            covering(m),
            alpha=alpha,
            lipschitz=lipschitz,
            score_range=score_range,
            hard=hard,
        )

    def learning(m: IntArray) -> FloatArray:
        return sharp_learning_error(
            m, n, delta, covering(m), alpha=alpha, score_range=score_range, hard=hard
        )

    return _least(n, bound, learning)


def _of_m(log_covering: float | OfM) -> OfM:
    return log_covering if callable(log_covering) else lambda m: log_covering


def _least(
    n: int, bound: Callable[[IntArray], FloatArray], learning: Callable[[IntArray], FloatArray]
) -> int:
    """Return the m ≤ n of the least bound, looked for in stretches of twice the length each."""
    best, least = 1, float(bound(np.array([1]))[0])
    if least == np.inf:
        raise ValueError("the bound is infinite at m = 1: give a finite log_covering")
    start = 2
    while start <= n and learning(np.array([start]))[0] < least:
        m = np.arange(start, min(2 * start, n + 1))
        values = bound(m)
        if values.min() < least:
            best, least = int(m[values.argmin()]), float(values.min())
        start *= 2
    return best
