"""Complexity of classes of partitions: covering numbers ln N(H, d, ε), and growth functions.

d(h, h') = sup_x Σ_i |h^i(x) - h'^i(x)| (Proposition 3.10); Theorem 3.11 takes ε = 1/n. Each class
is a softmax of logits, and softmax is 1-Lipschitz from the sup norm to Σ|·|: along v its derivative
is p_i (v_i - Σ p v), whose absolute sum is the mean absolute deviation of numbers in [-1, 1] times
‖v‖_∞, at most ‖v‖_∞. So a net of the parameters that moves no logit by more than ε is one of H.
A ball of radius R in D dimensions, in any norm, has an ε-net of (1 + 2R/ε)^D of its own points.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, logsumexp

from plcp._options import check_count
from plcp.quantiles import FloatArray
from plcp.theory.population import check_positive, check_whole


def log_covering_softmax(
    m: ArrayLike,
    n_features: ArrayLike,
    radius: ArrayLike,
    bound: ArrayLike,
    epsilon: ArrayLike,
) -> FloatArray:
    """Linear softmax partitions: m d ln(1 + 2 R B / ε).

    h(x) = softmax(w_1 · x, …, w_m · x) with ‖w_i‖ ≤ R = ``radius`` and ‖x‖ ≤ B = ``bound``. For an
    intercept count a feature that is always 1.

    Examples
    --------
    >>> from plcp.theory import log_covering_softmax
    >>> float(log_covering_softmax(4, 10, radius=5.0, bound=1.0, epsilon=1e-4).round(1))
    460.5
    """
    m, n_features = check_whole("m", m, 1), check_whole("n_features", n_features, 1)
    size = check_positive("radius", radius) * check_positive("bound", bound)
    return np.log1p(2 * size / check_positive("epsilon", epsilon)) * (m * n_features)


def log_covering_ordered(
    m: ArrayLike,
    n_features: ArrayLike,
    radius: ArrayLike,
    bound: ArrayLike,
    epsilon: ArrayLike,
    width: ArrayLike,
) -> FloatArray:
    """Soft ordered partitions: (d + m) ln(1 + 4 G² / (ε τ²)), G = R B.

    One regressor g = w · x, ‖w‖ ≤ R = ``radius``, ‖x‖ ≤ B = ``bound``, and memberships
    proportional to exp(-(g - c_i)² / (2 τ²)) with centres ``|c_i| ≤ G`` and τ = ``width``. d + m
    parameters in place of the d m of ``log_covering_softmax``. For hard ones (τ = 0) there is no
    finite net: use ``log_growth_ordered``.

    *Proof.* Up to what all logits share, moving g by a moves logit i by a c_i / τ² ≤ a G / τ², and
    moving c_i by b moves it by ``b |2g - c_i - c'_i| / (2 τ²) ≤ 2 G b / τ²``. Spend ε/2 on each:
    a = B ‖w - w'‖ ≤ ε τ² / (2G), b ≤ ε τ² / (4G). An interval of length 2G needs no more than
    1 + G / b points, half of what a ball does.

    Examples
    --------
    >>> from plcp.theory import log_covering_ordered
    >>> float(log_covering_ordered(4, 10, 5.0, 1.0, epsilon=1e-4, width=1.0).round(1))
    193.4
    """
    m, n_features = check_whole("m", m, 1), check_whole("n_features", n_features, 1)
    size = check_positive("radius", radius) * check_positive("bound", bound)
    fine = check_positive("epsilon", epsilon) * check_positive("width", width) ** 2
    return np.log1p(4 * size**2 / fine) * (n_features + m)


def log_covering_network(
    widths: Sequence[int], norms: Sequence[float], bound: ArrayLike, epsilon: ArrayLike
) -> FloatArray:
    """Networks with bounded layers and a softmax: Σ_l d_l d_{l-1} ln(1 + 2 D B Π s / ε).

    D layers of sizes ``widths`` = (d_0, …, d_D), d_0 features in and m = d_D logits out, with
    spectral norms at most ``norms`` = (s_1, …, s_D), activations that are 1-Lipschitz and keep
    zero (ReLU, tanh), inputs of norm at most B = ``bound``. Layers have no biases; for those of the
    first count a feature that is always 1. One layer with norms of its rows bounded instead:
    ``log_covering_softmax``.

    *Proof.* Changing the layers one by one moves the logits by at most
    B Π s Σ_l ‖W_l - W'_l‖ / s_l; give each layer ε / D of it.

    Examples
    --------
    >>> from plcp.theory import log_covering_network
    >>> float(log_covering_network([10, 16, 4], [5.0, 5.0], bound=1.0, epsilon=1e-4).round(1))
    3094.7
    """
    sizes = check_whole("widths", widths, 1)
    limits = check_positive("norms", norms)
    if sizes.ndim != 1 or limits.shape != (len(sizes) - 1,) or len(limits) == 0:
        raise ValueError(
            f"widths must be one longer than norms, the features first, got {widths!r} and "
            f"{norms!r}: give a norm for each layer"
        )
    scale = len(limits) * check_positive("bound", bound) * np.prod(limits)
    parameters = sizes[1:] @ sizes[:-1]
    return np.log1p(2 * scale / check_positive("epsilon", epsilon)) * parameters


def log_growth_ordered(m: ArrayLike, n_features: int, n: int) -> FloatArray:
    """Ordered partitions by a linear regressor: about (2d + m) ln n, for d features.

    Groups are {x : c_{i-1} < w · x ≤ c_i}, w in R^d. On n points there are no more of them than
    orders of the points times places of m - 1 cuts,

        2 Σ_{k<d} C(n(n-1)/2 - 1, k)  ·  C(n+m-1, m-1),

    nor than m^n. The orders are the cells into which the hyperplanes w · (x_j - x_k) = 0 divide
    R^d (Cover 1965); a tie between points allows no grouping that a nearby order does not. It grows
    with d + m, where that of linear softmax grows with d m. For a regressor of other points,
    d = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.theory import log_growth_ordered
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
