"""In how many ways a class of hard partitions can group n points: the place of a covering number.

Two hard partitions that differ at one x are at distance 2 in the paper's metric, so that classes
of them have no finite net; but on n points they are finitely many, which is all a bound needs.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, logsumexp

from plcp.quantiles import FloatArray
from plcp.theory.arguments import check_whole
from plcp.validation import check_count


def log_growth_ordered(m: ArrayLike, n_features: int, n: int) -> FloatArray:
    """Ordered partitions by a linear index: about (2d + m) ln n, for d features.

    Groups are {x : c_{i-1} < w · x ≤ c_i}, w in R^d. On n points there are no more of them than
    orders of the points times places of m - 1 cuts,

        2 Σ_{k<d} C(n(n-1)/2 - 1, k)  ·  C(n+m-1, m-1),

    nor than m^n. The orders are the cells into which the hyperplanes w · (x_j - x_k) = 0 divide
    R^d (Cover 1965); a tie between points allows no grouping that a nearby order does not. It grows
    with d + m, where that of linear softmax grows with d m. For an index learned on other points,
    d = 1.

    Examples
    --------
    >>> np.exp(log_growth_ordered([1, 2, 3], n_features=1, n=2)).round(6)
    array([1., 4., 9.])
    """
    m = check_whole("m", m, 1)
    n, n_features = check_count("n", n, 1), check_count("n_features", n_features, 1)
    pairs = n * (n - 1) // 2
    orders = 0.0
    if pairs:
        chosen = np.arange(min(n_features, pairs))
        orders = np.log(2) + logsumexp(_log_choose(pairs - 1, chosen))
    return np.minimum(orders + _log_choose(n + m - 1, m - 1), n * np.log(m))


def _log_choose(n: ArrayLike, k: ArrayLike) -> FloatArray:
    """Logarithm of n over k, exact to rounding where n is huge and k is small."""
    n, k = np.asarray(n, dtype=float), np.asarray(k, dtype=float)
    return -np.log1p(n) - betaln(n - k + 1, k + 1)
