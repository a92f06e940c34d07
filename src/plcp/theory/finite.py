"""Bounds of PLCP learned from n calibration points: excess loss, MSCE, coverage, and the best m.

``delta`` is the probability with which a bound may fail, ``log_covering`` the natural logarithm of
N(H, d, 1/n) (see ``plcp.theory.complexity``), ``gap`` the approximation gap λ_H of equation (14).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plcp._options import check_count
from plcp.quantiles import FloatArray, IntArray
from plcp.theory.population import (
    check_not_negative,
    check_positive,
    check_shares,
    check_variance,
    check_whole,
    msce_bound,
    population_msce,
    sharp_population_excess,
)


def learning_error(
    m: ArrayLike,
    n: ArrayLike,
    delta: ArrayLike,
    log_covering: ArrayLike,
    *,
    score_range: ArrayLike = 1.0,
) -> FloatArray:
    """10 r √((ln(2/δ) + m ln n + ln N(H, d, 1/n)) / n): the learning error of Theorem 3.11.

    r is the length of an interval that holds all scores, 1 in the paper.

    Notes
    -----
    Corrections of the paper's statement and proof, which leave the bound as it is:

    - ε₂ is not defined in the theorem; it is 1/n, so that Lemma D.3 gives ln N(V) ≤ m ln n, as in
      Corollary 3.12. The lemma is loose: balls of radius ε have width 2ε, so ⌈n/2⌉^m points do.
    - "Sufficiently large n" is n ≥ 2: 4/n ≤ 4 √(A/n) as soon as A ≥ 1/n, and A ≥ ln 2. For n = 1
      the bound exceeds the largest loss there is.
    - h^∞ of the proof must be the minimiser within H, not that of (10): the nets reach no other.
    - Step (c) of the second term in Lemma E.1 bounds ℓ(q, s) by ``|q|``, which is false (q = 0,
      s = 1); ``ℓ(q, s) ≤ |q - s| ≤ 1`` gives the same end.
    - Theorem D.1 is Hoeffding's inequality without the factor 2 in its exponent.
    - Two hard partitions that differ at a single x are at distance d = 2, so a class of hard
      partitions with infinitely many members has no finite net, and the theorem does not apply
      to it. It holds with the logarithm of the growth function (``log_growth_ordered``) in place of
      ln N(H, d, 1/n), for every n: ``sharp_learning_error(..., hard=True)`` is smaller.
    - h*, q* are exact minimisers of the empirical loss; what an algorithm misses of the
      minimum by adds to the bound as it is.

    Examples
    --------
    >>> from plcp.theory import learning_error
    >>> learning_error(5, [10_000, 1_000_000], delta=0.05, log_covering=0.0).round(3)
    array([0.705, 0.085])
    """
    m, n = check_whole("m", m, 1), check_whole("n", n, 1)
    delta = check_shares("delta", delta)
    log_covering = check_not_negative("log_covering", log_covering)
    length = check_positive("score_range", score_range)
    return 10 * length * np.sqrt((np.log(2 / delta) + m * np.log(n) + log_covering) / n)


def finite_excess(
    m: ArrayLike,
    n: ArrayLike,
    variance: ArrayLike,
    delta: ArrayLike,
    log_covering: ArrayLike,
    gap: ArrayLike = 0.0,
    *,
    score_range: ArrayLike = 1.0,
) -> FloatArray:
    """Excess of PLCP, with probability 1 - δ: learning error + 2 √(var / m) + λ_H, Theorem 3.11.

    Under Assumptions 3.1 (independent, identically distributed points) and 3.2 (bounded scores).

    Notes
    -----
    Theorem 3.6, from which 2 √(var / m) is said to follow, has m - 1 in place of m. The term is
    valid all the same, since the excess of the best m groups is at most √(var / m)
    (``sharp_population_excess``). In equation (14), which defines λ_H, the first sum runs to m,
    not to n.

    Examples
    --------
    >>> from plcp.theory import finite_excess
    >>> float(finite_excess(5, 10_000, 0.01, delta=0.05, log_covering=0.0).round(3))
    0.795
    """
    variance, gap = check_variance(variance, score_range), check_not_negative("gap", gap)
    learning = learning_error(m, n, delta, log_covering, score_range=score_range)
    return learning + 2 * np.sqrt(variance / np.asarray(m)) + gap


def finite_msce(
    m: ArrayLike,
    n: ArrayLike,
    variance: ArrayLike,
    delta: ArrayLike,
    log_covering: ArrayLike,
    lipschitz: ArrayLike,
    gap: ArrayLike = 0.0,
    *,
    score_range: ArrayLike = 1.0,
) -> FloatArray:
    """MSCE of PLCP, with probability 1 - δ: 2 L times ``finite_excess``, Corollary 3.12.

    A value above max(α, 1-α)² is vacuous: no MSCE is larger.

    Examples
    --------
    >>> from plcp.theory import finite_msce
    >>> float(finite_msce(5, 10**8, 0.01, 0.05, log_covering=0.0, lipschitz=1.0).round(3))
    0.198
    """
    excess = finite_excess(m, n, variance, delta, log_covering, gap, score_range=score_range)
    return msce_bound(excess, lipschitz)


def sharp_learning_error(
    m: ArrayLike,
    n: ArrayLike,
    delta: ArrayLike,
    log_covering: ArrayLike,
    *,
    alpha: ArrayLike,
    score_range: ArrayLike = 1.0,
    hard: bool = False,
) -> FloatArray:
    """What learning m groups from n points costs, with probability 1 - δ; below Theorem 3.11's.

    With M = max(α, 1-α), r the length of an interval that holds all scores, and ln N(H, d, 1/n)
    as ``log_covering``, at most

        r M ( √((ln(2/δ) + m ln⌈n/2⌉ + log_covering) / (2n)) + √(ln(2/δ) / (2n)) + 3/n ).

    For ``hard`` partitions ``log_covering`` is the logarithm of the growth function on n points
    (``log_growth_ordered``), and the cost at most

        r M ( √(2 (m ln⌈n/2⌉ + log_covering) / n) + 2 √(ln(2/δ) / (2n)) + 2/n ).

    Notes
    -----
    *Proof.* Let f = Σ_i h^i(x) ℓ(q_i, s), which lies in [0, r M] for thresholds where the scores
    lie. The excess of the learned f* over the best f° of the class is at most
    (P - P_n) f* + (P_n - P) f°. f° is fixed: Hoeffding's one-sided inequality bounds its part,
    failing with δ/2. For f*, put ⌈n/2⌉ thresholds r/n-dense on the interval for each group.

    Soft: a union over these and a 1/n-net of H, again failing with δ/2. Going to the net costs
    at most 2 M r/n for the thresholds, as ℓ is M-Lipschitz, and r M/n for the memberships: as
    h and h' both sum to one, ``|Σ_i (h - h')^i ℓ(q_i, s)| ≤ (r M / 2) Σ_i |h - h'|^i``.

    Hard: symmetrisation, Massart's lemma for the at most Π(n) ⌈n/2⌉^m vectors in [0, r M]^n about
    their middle, and McDiarmid's inequality; only thresholds go to a net.

    Examples
    --------
    >>> from plcp.theory import sharp_learning_error
    >>> sharp_learning_error(5, [10_000, 1_000_000], 0.05, 0.0, alpha=0.1).round(4)
    array([0.0558, 0.0065])
    """
    m, n = check_whole("m", m, 1), check_whole("n", n, 1)
    confidence = np.log(2 / check_shares("delta", delta))
    alpha = check_shares("alpha", alpha)
    largest_loss = check_positive("score_range", score_range) * np.maximum(alpha, 1 - alpha)
    members = m * np.log((n + 1) // 2) + check_not_negative("log_covering", log_covering)
    fixed = np.sqrt(confidence / (2 * n))
    if hard:
        return largest_loss * (np.sqrt(2 * members / n) + 2 * fixed + 2 / n)
    return largest_loss * (np.sqrt((confidence + members) / (2 * n)) + fixed + 3 / n)


def sharp_finite_excess(
    m: ArrayLike,
    n: ArrayLike,
    variance: ArrayLike,
    delta: ArrayLike,
    log_covering: ArrayLike,
    gap: ArrayLike = 0.0,
    *,
    alpha: ArrayLike,
    lipschitz: ArrayLike = np.inf,
    score_range: ArrayLike = 1.0,
    hard: bool = False,
) -> FloatArray:
    """Excess of PLCP, with probability 1 - δ: learning error + population bound + λ_H.

    The terms are ``sharp_learning_error`` and ``sharp_population_excess``, which say what is
    assumed; ``gap`` is that of the class H to all partitions, as in ``finite_excess``.

    Examples
    --------
    >>> from plcp.theory import sharp_finite_excess
    >>> float(sharp_finite_excess(5, 10_000, 0.01, 0.05, 0.0, alpha=0.1).round(4))
    0.0931
    """
    shared = {"alpha": alpha, "score_range": score_range}
    learning = sharp_learning_error(m, n, delta, log_covering, hard=hard, **shared)
    variance = check_variance(variance, score_range)
    population = sharp_population_excess(m, variance, lipschitz=lipschitz, **shared)
    return learning + population + check_not_negative("gap", gap)


def sharp_finite_msce(
    m: ArrayLike,
    n: ArrayLike,
    variance: ArrayLike,
    delta: ArrayLike,
    log_covering: ArrayLike,
    lipschitz: ArrayLike,
    gap: ArrayLike = 0.0,
    *,
    alpha: ArrayLike,
    score_range: ArrayLike = 1.0,
    hard: bool = False,
) -> FloatArray:
    """MSCE of PLCP, with probability 1 - δ: 2 L times ``sharp_finite_excess``.

    Examples
    --------
    >>> from plcp.theory import sharp_finite_msce
    >>> float(sharp_finite_msce(5, 10_000, 0.01, 0.05, 0.0, lipschitz=2.0, alpha=0.1).round(4))
    0.2631
    """
    options = {"alpha": alpha, "lipschitz": lipschitz, "score_range": score_range}
    given = m, n, variance, delta, log_covering, gap
    return msce_bound(sharp_finite_excess(*given, **options, hard=hard), lipschitz)


Interval = tuple[FloatArray, FloatArray]


def fallback_coverage(msce: ArrayLike, alpha: ArrayLike, mass: ArrayLike = 1.0) -> Interval:
    """1 - α ± √(MSCE / mass), within [0, 1]: Section 3.3.

    Examples
    --------
    >>> from plcp.theory import fallback_coverage
    >>> low, high = fallback_coverage(0.0016, alpha=0.1, mass=[1.0, 0.25])
    >>> low.round(3), high.round(3)
    (array([0.86, 0.82]), array([0.94, 0.98]))
    """
    mass = check_shares("mass", mass, one=True)
    return _around(alpha, np.sqrt(check_not_negative("msce", msce) / mass))


def calibrated_coverage(msce: ArrayLike, alpha: ArrayLike, mass: ArrayLike) -> Interval:
    """1 - α ± √(MSCE (1 - mass) / mass): sharper, for sets that cover 1 - α on average exactly.

    With e the coverage error at X, E e = 0, and so E[e 1_A] is the covariance of e and 1_A, at
    most √(MSCE) times the standard deviation of 1_A. The best groups of a population are such
    sets under Assumption 3.4: each threshold is the quantile of its own group (equation 5). So the
    marginal coverage of C_∞ is 1 - α, where Corollary C.1 (a) has it within O(m^(-1/4)).

    Examples
    --------
    >>> from plcp.theory import calibrated_coverage
    >>> low, high = calibrated_coverage(0.0016, alpha=0.1, mass=[1.0, 0.5])
    >>> low.round(3), high.round(3)
    (array([0.9 , 0.86]), array([0.9 , 0.94]))
    """
    mass = check_shares("mass", mass, one=True)
    return _around(alpha, np.sqrt(check_not_negative("msce", msce) * (1 - mass) / mass))


def population_coverage(
    m: ArrayLike,
    variance: ArrayLike,
    lipschitz: ArrayLike,
    alpha: ArrayLike,
    mass: ArrayLike = 1.0,
) -> Interval:
    """Corollary C.1, infinite sample: 1 - α ± 2 √(L / mass) (var / (m - 1))^(1/4).

    Examples
    --------
    >>> from plcp.theory import population_coverage
    >>> low, high = population_coverage(10_001, 0.01, lipschitz=1.0, alpha=0.1)
    >>> float(low.round(4)), float(high.round(4))
    (0.8368, 0.9632)
    """
    return fallback_coverage(population_msce(m, variance, lipschitz), alpha, mass)


def finite_coverage(
    m: ArrayLike,
    n: ArrayLike,
    variance: ArrayLike,
    delta: ArrayLike,
    log_covering: ArrayLike,
    lipschitz: ArrayLike,
    alpha: ArrayLike,
    gap: ArrayLike = 0.0,
    mass: ArrayLike = 1.0,
    *,
    score_range: ArrayLike = 1.0,
) -> Interval:
    """Corollary C.1, finite sample, with probability 1 - δ: for all sets A at once.

    Examples
    --------
    >>> from plcp.theory import finite_coverage
    >>> low, high = finite_coverage(100, 10**12, 1e-4, 0.05, 0.0, lipschitz=1.0, alpha=0.1)
    >>> float(low.round(3)), float(high.round(3))
    (0.829, 0.971)
    """
    msce = finite_msce(m, n, variance, delta, log_covering, lipschitz, gap, score_range=score_range)
    return fallback_coverage(msce, alpha, mass)


def _around(alpha: ArrayLike, error: FloatArray) -> Interval:
    target = 1 - check_shares("alpha", alpha)
    return np.clip(target - error, 0.0, 1.0), np.clip(target + error, 0.0, 1.0)


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
    >>> from plcp.theory import best_m
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
    >>> from plcp.theory import sharp_best_m
    >>> sharp_best_m(10**4, 0.1, 0.05, 0.0, alpha=0.1)
    17
    """
    n, covering = check_count("n", n, 1), _of_m(log_covering)

    options: dict[str, Any] = {"alpha": alpha, "score_range": score_range, "hard": hard}
    return _least(
        n,
        lambda m: sharp_finite_excess(
            m, n, variance, delta, covering(m), lipschitz=lipschitz, **options
        ),
        lambda m: sharp_learning_error(m, n, delta, covering(m), **options),
    )


def _of_m(log_covering: float | OfM) -> OfM:
    return log_covering if callable(log_covering) else lambda m: log_covering


def _least(
    n: int, bound: Callable[[IntArray], FloatArray], learning: Callable[[IntArray], FloatArray]
) -> int:
    """Return the m ≤ n of the least bound, searched in ranges of doubling length."""
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
