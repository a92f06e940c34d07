"""How many groups, in bits, bring the excess down to a given error: Remark B.1."""

import numpy as np
from numpy.typing import ArrayLike

from plcp.quantiles import FloatArray
from plcp.theory.arguments import check_not_negative, check_positive, check_shares

ROUNDING = 1e-12  # a whole number of levels, computed, may come out a little above itself


def quantisation_bits(error: ArrayLike, variance: ArrayLike) -> FloatArray:
    """log2 of the number of groups for which Theorem 3.6 gives an excess of at most ``error``.

    That number is ⌈1 + 4 var / error²⌉. Remark B.1 has 4 var / error²: it lacks the one of
    m - 1, and the log without a base is to be taken to the base 2.

    Examples
    --------
    >>> quantisation_bits([1.0, 0.1], variance=0.25).round(2)
    array([1.  , 6.66])
    """
    error, variance = check_positive("error", error), check_not_negative("variance", variance)
    return np.log2(_whole_levels(1 + 4 * variance / error**2))


def sharp_quantisation_bits(
    error: ArrayLike, variance: ArrayLike, *, alpha: ArrayLike
) -> FloatArray:
    """log2 of the number of groups for which ``sharp_population_excess`` is at most ``error``.

    The least m with M σ min(1/√m, tan(π/(m+3))) ≤ error: about log2(π M σ / error) bits, half of
    what Remark B.1 asks for when the error is small.

    Examples
    --------
    >>> sharp_quantisation_bits([1.0, 0.1], variance=0.25, alpha=0.1).round(2)
    array([0.  , 3.58])
    """
    error, variance = check_positive("error", error), check_not_negative("variance", variance)
    alpha = check_shares("alpha", alpha)
    spread = np.maximum(alpha, 1 - alpha) * np.sqrt(variance)
    by_cells = (spread / error) ** 2
    by_tangents = np.pi / np.arctan2(error, spread) - 3
    return np.log2(_whole_levels(np.maximum(1.0, np.minimum(by_cells, by_tangents))))


def _whole_levels(levels: FloatArray) -> FloatArray:
    return np.ceil(levels * (1 - ROUNDING))
