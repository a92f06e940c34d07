"""Bounds of the best m groups of a whole population: excess loss, MSCE, and bits.

Arguments may be numbers or arrays, which are broadcast.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plcp.quantiles import FloatArray, IntArray


def msce_bound(excess: ArrayLike, lipschitz: ArrayLike) -> FloatArray:
    """MSCE ≤ 2 L · excess: Proposition 3.5.

    Needs Assumption 3.4, that each conditional law of the score is L-Lipschitz and so has no
    atoms: where S | x is a point, the excess of a threshold just below it tends to zero and its
    coverage error does not.

    Where thresholds are drawn (i ~ h(x)), the same holds for the excess of the drawn threshold,
    E Σ_i h^i(X) ℓ(q_i, S): by Jensen (Σ_i h^i e_i)² ≤ Σ_i h^i e_i², a step that Corollaries 3.7
    and 3.12 need and leave out. By Jensen, too, it holds for the threshold Σ_i h^i(x) q_i. It
    need not hold for the threshold of the likeliest group, unless memberships are 0 or 1.

    Notes
    -----
    The claim in the paper's proof, equation (18), is printed with "≤" and must read
    γ(x, q) - γ(x, q_{1-α}) ≥ γ'(x, q)² / (2L), which is what is then proved and used; with "≤" it
    is false wherever the density between q_{1-α} and q is below L.

    Examples
    --------
    >>> from plcp.theory import msce_bound
    >>> float(msce_bound(0.01, lipschitz=2.0))
    0.04
    """
    return 2 * check_positive("lipschitz", lipschitz) * check_not_negative("excess", excess)


def population_excess(m: ArrayLike, variance: ArrayLike) -> FloatArray:
    """Excess of the best m groups, at most 2 √(var / (m - 1)): Theorem 3.6.

    For m ≥ 2. No assumption but a finite variance; the paper's "for any m" leaves out m = 1,
    where it divides by zero. ``sharp_population_excess`` is smaller for every m, and of order 1/m.

    Notes
    -----
    The best groups solve problem (8), min over q of E[min_i E[ℓ(q_i, S) | X]]. The paper calls it
    convex; it is not, since a minimum of convex functions is none: let S be 0 or 1, known from x.
    Then q = (0, 1) and q = (1, 0) have no loss, and their midpoint (1/2, 1/2) has.
    In the proof the partition E has m parts, not m + 1, and X needs no density.

    Examples
    --------
    >>> from plcp.theory import population_excess
    >>> population_excess([2, 5], variance=0.25)
    array([1. , 0.5])
    """
    m, variance = check_whole("m", m, 2), check_not_negative("variance", variance)
    return 2 * np.sqrt(variance / (m - 1))


def population_msce(m: ArrayLike, variance: ArrayLike, lipschitz: ArrayLike) -> FloatArray:
    """MSCE of the best m groups, at most 4 L √(var / (m - 1)): Corollary 3.7.

    The introduction's "MSCE scales as O(1/√m)" is an upper bound and not the rate: under
    Assumptions 3.2 and 3.4 it falls at least as m^-2 (``sharp_population_msce``).

    Examples
    --------
    >>> from plcp.theory import population_msce
    >>> float(population_msce(5, variance=0.25, lipschitz=1.0))
    1.0
    """
    return msce_bound(population_excess(m, variance), lipschitz)


def sharp_population_excess(
    m: ArrayLike,
    variance: ArrayLike,
    *,
    alpha: ArrayLike,
    lipschitz: ArrayLike = np.inf,
    score_range: ArrayLike = 1.0,
) -> FloatArray:
    """Excess of the best m groups: order 1/m for any law, 1/m² for scores with a density.

    With M = max(α, 1-α), σ² = var and r the length of an interval that holds all scores, at most

        min( M σ min(1/√m, tan(π/(m+3))),  L r² / (8 m²) ).

    The second needs Assumptions 3.2 and 3.4; leave ``lipschitz`` infinite to do without it.
    The first needs a finite variance alone, and m = 1 is allowed. 1/m is its true order: if S is
    a function of x, spread evenly over an interval, the excess is α(1-α) √3 σ / m exactly.

    Notes
    -----
    *Proof of the first.* ℓ_α(·, s) is M-Lipschitz, so the excess is at most M E[dist(q(X), t)]
    for any m thresholds t. In units of σ, about the mean, let v = q(X), so that E v² = 1.
    (i) m equal cells on [-η, η], thresholds in their middles: ``dist(v) ≤ η/m + (|v| - η)₊ ≤ η/m
    + v²/(4η)``. Take η = √m / 2.
    (ii) Thresholds b_i = tan θ_i, with θ_i symmetric about 0 and D = π/(m+3) apart; t = tan D. We
    show dist(v) ≤ t/2 + (t/2) v², whose mean is t. Between neighbours b < b' with middle c and half
    gap h, b' - b = t (1 + b b') gives h = (t/2)(1 + c² - h²) ≤ t/2 + (t/2) c²; away from c the
    left side falls with slope 1 and the right changes with slope ``t|v| ≤ t cot(2D) < 1/2``. Beyond
    the last threshold b_m = cot(2D), v - (t/2) v² ≤ 1/(2t) = b_m + t/2.

    *Proof of the second.* q(x) lies where the scores lie; m equal cells of that interval put a
    threshold within r/(2m) of it. γ(x, ·) has an L-Lipschitz derivative that is zero at q(x), so
    the excess at x is at most L (r/(2m))² / 2.

    Examples
    --------
    >>> from plcp.theory import sharp_population_excess
    >>> sharp_population_excess([1, 2, 3], variance=0.25, alpha=0.5).round(4)
    array([0.25  , 0.1768, 0.1443])
    >>> sharp_population_excess([1, 10, 100], variance=0.01, alpha=0.1, lipschitz=2.0)
    array([9.0e-02, 2.5e-03, 2.5e-05])
    """
    m, variance = check_whole("m", m, 1), check_not_negative("variance", variance)
    alpha = check_shares("alpha", alpha)
    lipschitz = check_not_negative("lipschitz", lipschitz)
    length = check_positive("score_range", score_range)
    if (lipschitz * length < 1).any():
        raise ValueError(
            f"lipschitz must be at least 1 / score_range, got {lipschitz!r} and {length!r}: "
            "no law on so short an interval has so small a density"
        )
    steep = np.maximum(alpha, 1 - alpha)
    spread = steep * np.sqrt(variance) * np.minimum(1 / np.sqrt(m), np.tan(np.pi / (m + 3)))
    return np.minimum(spread, lipschitz * length**2 / (8.0 * m**2))


def sharp_population_msce(
    m: ArrayLike,
    variance: ArrayLike,
    lipschitz: ArrayLike,
    *,
    alpha: ArrayLike,
    score_range: ArrayLike = 1.0,
) -> FloatArray:
    """MSCE of the best m groups: 2 L times ``sharp_population_excess``, at most L² r² / (4 m²).

    Examples
    --------
    >>> from plcp.theory import sharp_population_msce
    >>> sharp_population_msce([1, 10, 100], 0.01, lipschitz=2.0, alpha=0.1)
    array([3.6e-01, 1.0e-02, 1.0e-04])
    """
    excess = sharp_population_excess(
        m, variance, alpha=alpha, lipschitz=lipschitz, score_range=score_range
    )
    return msce_bound(excess, lipschitz)


ROUNDING = 1 - 1e-12  # a computed number of groups may exceed a whole number by rounding


def quantisation_bits(error: ArrayLike, variance: ArrayLike) -> FloatArray:
    """log2 of the number of groups for which Theorem 3.6 gives an excess of at most ``error``.

    That number is ⌈1 + 4 var / error²⌉. Remark B.1 has 4 var / error²: it lacks the one of
    m - 1, and the log without a base is to be taken to the base 2.

    Examples
    --------
    >>> from plcp.theory import quantisation_bits
    >>> quantisation_bits([1.0, 0.1], variance=0.25).round(2)
    array([1.  , 6.66])
    """
    error, variance = check_positive("error", error), check_not_negative("variance", variance)
    return np.log2(np.ceil((1 + 4 * variance / error**2) * ROUNDING))


def sharp_quantisation_bits(
    error: ArrayLike, variance: ArrayLike, *, alpha: ArrayLike
) -> FloatArray:
    """log2 of the number of groups for which ``sharp_population_excess`` is at most ``error``.

    The least m with M σ min(1/√m, tan(π/(m+3))) ≤ error: about log2(π M σ / error) bits, half of
    what Remark B.1 needs when the error is small.

    Examples
    --------
    >>> from plcp.theory import sharp_quantisation_bits
    >>> sharp_quantisation_bits([1.0, 0.1], variance=0.25, alpha=0.1).round(2)
    array([0.  , 3.58])
    """
    error, variance = check_positive("error", error), check_not_negative("variance", variance)
    alpha = check_shares("alpha", alpha)
    spread = np.maximum(alpha, 1 - alpha) * np.sqrt(variance)
    by_cells = (spread / error) ** 2
    by_tangents = np.pi / np.arctan2(error, spread) - 3
    groups = np.maximum(1.0, np.minimum(by_cells, by_tangents))
    return np.log2(np.ceil(groups * ROUNDING))


def check_whole(name: str, value: ArrayLike, least: int) -> IntArray:
    """Whole numbers, none below ``least``."""
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iu" or numbers.size == 0 or (numbers < least).any():
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
    return numbers.astype(np.int64)


def check_not_negative(name: str, value: ArrayLike) -> FloatArray:
    """Numbers that may be zero or infinite, but neither negative nor NaN."""
    numbers = _numbers(name, value)
    if not (numbers >= 0).all():
        raise ValueError(f"{name} must not be negative or NaN, got {value!r}")
    return numbers


def check_positive(name: str, value: ArrayLike) -> FloatArray:
    """Finite numbers above zero."""
    numbers = _numbers(name, value)
    if not ((numbers > 0) & (numbers < np.inf)).all():
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return numbers


def check_variance(variance: ArrayLike, score_range: ArrayLike) -> FloatArray:
    """Return a variance that numbers on an interval of this length can have (Popoviciu 1935)."""
    numbers = check_not_negative("variance", variance)
    length = check_positive("score_range", score_range)
    if (numbers > length**2 / 4).any():
        raise ValueError(
            f"variance must not exceed score_range² / 4, got {variance!r} and {score_range!r}: "
            "give the length of an interval that holds all scores as score_range"
        )
    return numbers


def check_shares(name: str, value: ArrayLike, *, one: bool = False) -> FloatArray:
    """Numbers in (0, 1), or in (0, 1] where ``one`` is allowed."""
    numbers = _numbers(name, value)
    if not ((numbers > 0) & ((numbers <= 1) if one else (numbers < 1))).all():
        raise ValueError(f"{name} must lie in (0, 1{']' if one else ')'}, got {value!r}")
    return numbers


def _numbers(name: str, value: Any) -> FloatArray:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a number or an array of them, got {value!r}") from error
