"""Figure 1's law: scores |N(0, 1)| left of zero and |N(0, 2)| right of it, x uniform on [-1, 1]."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import halfnorm

from plcp.experiments.by_group import Floats
from plcp.quantiles import pinball_loss

SIGMAS = np.array([1.0, np.sqrt(2.0)])  # left, right
FAR = 12.0  # no score of either side is as large, to sixteen digits


def side_quantiles(alpha: float) -> Floats:
    """Return q₋ and q₊, the (1 - alpha)-quantiles of the score left and right of zero."""
    return np.asarray(halfnorm.isf(alpha, scale=SIGMAS), dtype=float)


def side_coverage(threshold: float) -> Floats:
    """P(S ≤ threshold) left and right of zero."""
    return np.asarray(halfnorm.cdf(threshold, scale=SIGMAS), dtype=float)


def marginal_quantile(alpha: float) -> float:
    """Split's threshold with infinitely many points: the quantile of both halves together."""
    return float(brentq(lambda q: side_coverage(q).mean() - (1 - alpha), *side_quantiles(alpha)))


def side_densities(scores: ArrayLike) -> Floats:
    """Density of the score left and right of zero, shape (2, n)."""
    return np.asarray(halfnorm.pdf(np.asarray(scores), scale=SIGMAS[:, None]), dtype=float)


def boundary_distance(n: int, alpha: float, chance: float) -> float:
    r"""Return how far from zero the best boundary of n points lies, but for a chance.

    The boundary that costs least, at thresholds q₋ and q₊, minimises a random walk away from zero:
    each point on the wrong side costs D = ℓ(its neighbours' threshold, s) - ℓ(its own, s), of
    positive mean. The walk is back at zero after k points or more with probability at most
    ρᵏ/(1 - ρ), ρ = min_t E exp(-tD), and the number of points within d of zero is binomial, so

    .. math:: P(\text{boundary beyond } d) \le \sum_\pm (1 - (1 - ρ_\pm) d/2)^n / (1 - ρ_\pm).

    The least d for which that is at most ``chance``, of order 1/n; 1, all there is, if none is.
    """
    rates = np.array([1 - _return_rate(side, alpha) for side in (0, 1)])

    def excess(d: float) -> float:
        return float(np.sum((1 - rates * d / 2) ** n / rates) - chance)

    return 1.0 if excess(1.0) > 0 else float(brentq(excess, 0.0, 1.0))


@cache
def _return_rate(side: int, alpha: float) -> float:
    """Chernoff's ρ = min_t E exp(-tD) of a point of this side under the other's threshold."""
    quantiles = side_quantiles(alpha)
    own, other = quantiles[side], quantiles[1 - side]

    def cost(s: float) -> float:
        return float(pinball_loss(other, s, alpha) - pinball_loss(own, s, alpha))

    found = minimize_scalar(
        lambda t: _mean(lambda s: np.exp(-t * cost(s)), side, quantiles),
        bounds=(0.0, 20 / (quantiles[1] - quantiles[0])),
        method="bounded",
    )
    return float(found.fun)


def _mean(function: Callable[[float], float], side: int, kinks: Floats) -> float:
    """Mean of a function of the score that is smooth between kinks."""
    ends = [0.0, *kinks, FAR]
    return sum(
        quad(lambda s: function(s) * halfnorm.pdf(s, scale=SIGMAS[side]), low, high)[0]
        for low, high in pairwise(ends)
    )
