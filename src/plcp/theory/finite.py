"""What n calibration points can reach: Theorem 3.11 and Corollary 3.12 as they stand.

``delta`` is the probability with which a bound may fail, ``log_covering`` the natural logarithm of
N(H, d, 1/n) (see ``plcp.theory.covering``), ``gap`` the approximation gap λ_H of equation (14).
"""

import numpy as np
from numpy.typing import ArrayLike

from plcp.quantiles import FloatArray
from plcp.theory.arguments import (
    check_not_negative,
    check_positive,
    check_shares,
    check_variance,
    check_whole,
)
from plcp.theory.population import msce_bound


def learning_error(
    m: ArrayLike,
    n: ArrayLike,
    delta: ArrayLike,
    log_covering: ArrayLike,
    *,
    score_range: ArrayLike = 1.0,
) -> FloatArray:
    """10 r √((ln(2/δ) + m ln n + ln N(H, d, 1/n)) / n): what Theorem 3.11 pays for learning.

    r is the length of an interval that holds all scores, 1 in the paper.

    Notes
    -----
    Where the paper's statement or proof needs mending; the bound stands after all of it:

    - ε₂ is not defined in the theorem; it is 1/n, so that Lemma D.3 gives ln N(V) ≤ m ln n, as in
      Corollary 3.12. The lemma is loose: balls of radius ε have width 2ε, so ⌈n/2⌉^m points do.
    - "Sufficiently large n" is n ≥ 2: 4/n ≤ 4 √(A/n) as soon as A ≥ 1/n, and A ≥ ln 2. For n = 1
      the bound exceeds the largest loss there is.
    - h^∞ of the proof must be the minimiser within H, not that of (10): the nets reach no other.
    - Step (c) of the second term in Lemma E.1 bounds ℓ(q, s) by |q|, which is false (q = 0, s = 1);
      ℓ(q, s) ≤ |q - s| ≤ 1 gives the same end.
    - Theorem D.1 is Hoeffding's inequality without the factor 2 in its exponent.
    - Two hard partitions that differ at a single x are at distance d = 2, so a class of hard
      partitions with infinitely many members has no finite net, and the theorem says nothing of
      it. It holds with the logarithm of the growth function (``log_growth_ordered``) in place of
      ln N(H, d, 1/n), for every n: ``sharp_learning_error(..., hard=True)`` is smaller.
    - h*, q* are exact minimisers of the empirical loss; what an algorithm falls short of the
      minimum by adds to the bound as it is.

    Examples
    --------
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

    A value above max(α, 1-α)² says nothing: no MSCE is larger.

    Examples
    --------
    >>> float(finite_msce(5, 10**8, 0.01, 0.05, log_covering=0.0, lipschitz=1.0).round(3))
    0.198
    """
    excess = finite_excess(m, n, variance, delta, log_covering, gap, score_range=score_range)
    return msce_bound(excess, lipschitz)
