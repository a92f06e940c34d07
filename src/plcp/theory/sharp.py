"""The finite-sample bounds with the smallest constants we can prove."""

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
from plcp.theory.population import msce_bound, sharp_population_excess


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
    h and h' both sum to one, |Σ_i (h - h')^i ℓ(q_i, s)| ≤ (r M / 2) Σ_i |h - h'|^i.

    Hard: symmetrisation, Massart's lemma for the at most Π(n) ⌈n/2⌉^m vectors in [0, r M]^n about
    their middle, and McDiarmid's inequality; only thresholds go to a net.

    Examples
    --------
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
    >>> float(sharp_finite_msce(5, 10_000, 0.01, 0.05, 0.0, lipschitz=2.0, alpha=0.1).round(4))
    0.2631
    """
    excess = sharp_finite_excess(
        m,
        n,
        variance,
        delta,
        log_covering,
        gap,
        alpha=alpha,
        lipschitz=lipschitz,
        score_range=score_range,
        hard=hard,
    )
    return msce_bound(excess, lipschitz)
