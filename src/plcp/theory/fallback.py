"""What a bound on the MSCE says about coverage: Section 3.3 and Corollary C.1, with constants.

Each function gives the lowest and the highest coverage P(Y ∈ C(X) | X ∈ A) of any set A of inputs
with P(A) ≥ ``mass``; mass = 1 is the marginal coverage.
"""

import numpy as np
from numpy.typing import ArrayLike

from plcp.quantiles import FloatArray
from plcp.theory.arguments import check_not_negative, check_shares
from plcp.theory.finite import finite_msce
from plcp.theory.population import population_msce

Interval = tuple[FloatArray, FloatArray]


def fallback_coverage(msce: ArrayLike, alpha: ArrayLike, mass: ArrayLike = 1.0) -> Interval:
    """1 - α ± √(MSCE / mass), within [0, 1]: Section 3.3.

    Examples
    --------
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
    >>> low, high = finite_coverage(100, 10**12, 1e-4, 0.05, 0.0, lipschitz=1.0, alpha=0.1)
    >>> float(low.round(3)), float(high.round(3))
    (0.829, 0.971)
    """
    msce = finite_msce(m, n, variance, delta, log_covering, lipschitz, gap, score_range=score_range)
    return fallback_coverage(msce, alpha, mass)


def _around(alpha: ArrayLike, error: FloatArray) -> Interval:
    target = 1 - check_shares("alpha", alpha)
    return np.clip(target - error, 0.0, 1.0), np.clip(target + error, 0.0, 1.0)
