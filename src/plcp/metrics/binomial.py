"""Exact bounds and tests for a probability, from a number of successes."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import betaincinv
from scipy.stats import binom, gamma

from plcp.quantiles import FloatArray, IntArray


def clopper_pearson(
    hits: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Exact bounds on a probability of which ``hits`` of ``n`` independent trials came true.

    Each end errs with probability at most (1 - confidence) / 2, whatever the probability is. No
    trial says nothing: the bounds are then 0 and 1.

    References
    ----------
    Clopper, Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. Biometrika.

    Examples
    --------
    >>> low, high = clopper_pearson([0, 9, 10], 10)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.555, 0.6915], [0.3085, 0.9975, 1.0])
    """
    return tail_bounds(hits, n, (1 - confidence) / 2)


def tail_bounds(hits: ArrayLike, n: ArrayLike, tail: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Bounds on a probability, each of which errs with probability at most ``tail``."""
    hits, n = np.asarray(hits, dtype=float), np.asarray(n, dtype=float)
    misses = n - hits
    return _lower_bound(hits, misses, tail), 1 - _lower_bound(misses, hits, tail)


def _lower_bound(hits: FloatArray, misses: FloatArray, tail: ArrayLike) -> FloatArray:
    # without a hit the beta law has no density; its limit is 0
    return np.where(hits == 0, 0.0, betaincinv(np.maximum(hits, 1), misses + 1, tail))


def shortfall_p_values(hits: ArrayLike, n: ArrayLike, target: float) -> FloatArray:
    """Probability of so few hits or fewer if each trial came true with probability ``target``."""
    return np.asarray(binom.cdf(hits, n, target))


def mean_deviation(n: ArrayLike, target: float) -> FloatArray:
    """E|hits / n - target| where each of n trials comes true with probability ``target``.

    De Moivre's formula, 2 (1 - target) m P(hits = m) / n with m = ⌊n target⌋ + 1.

    References
    ----------
    Diaconis, Zabell (1991). Closed form summation for classical distributions: variations on a
    theme of de Moivre. Statistical Science.

    Examples
    --------
    >>> mean_deviation([1, 100], 0.9).round(4).tolist()
    [0.18, 0.0237]
    """
    n = np.asarray(n)
    m = np.floor(n * target) + 1
    return 2 * (1 - target) * m * binom.pmf(m, n, target) / n


def holm(p_values: ArrayLike) -> FloatArray:
    """P-values corrected for their number: the chance of any false alarm stays below alpha.

    References
    ----------
    Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


ALONE = 0.05  # share of the permitted error that goes to the bounds on each p by itself
STEPS = 200  # of budget; more of them would make the interval shorter by less than a fiftieth
LOG_PRICES = (-20.0, 5.0)  # gains are at most one: a lower price is nothing, a higher never paid


def mean_gap_bounds(
    hits: IntArray, n: IntArray, target: float, confidence: float
) -> tuple[float, float]:
    """Bounds on mean ``|p - target|`` over the probabilities p behind independent counts.

    Clopper and Pearson's two-sided p-value P of the true p is at most u with probability at most u,
    so -ln P is at most an exponential variable, and the sum over k independent counts at most a
    gamma variable of shape k. Hence with the given confidence all p lie in the region where that
    sum is at most the gamma law's quantile, a budget that the p share, and where none spends more
    than bounds for all at once permit. The ends are the least and the largest mean distance in the
    region. For many counts they are far closer than those of the bounds for all at once alone,
    since the p cannot all be far off together.

    References
    ----------
    Fisher (1932). Statistical Methods for Research Workers, fourth edition, section 21.1.

    Examples
    --------
    >>> low, high = mean_gap_bounds(np.full(20, 85), np.full(20, 100), target=0.9, confidence=0.95)
    >>> round(low, 3), round(high, 3)
    (0.008, 0.102)
    """
    k, error = len(n), 1 - confidence
    budget = gamma.isf((1 - ALONE) * error, k)
    most = min(budget, np.log(k / (ALONE * error)))
    spent = np.append(0.0, np.geomspace(most / STEPS, most, STEPS))
    low, high = tail_bounds(hits[:, None], n[:, None], np.exp(-spent) / 2)
    farthest = np.maximum(target - low, high - target)
    nearest = np.maximum(0.0, np.maximum(low - target, target - high))
    least = -_largest_sum(-nearest, spent, budget) / k
    return max(0.0, least), _largest_sum(farthest, spent, budget) / k


def _largest_sum(gains: FloatArray, spent: FloatArray, budget: float) -> float:
    """Upper bound on the sum of what k counts gain, where together they spend the budget.

    Gains rise with what is spent. By weak duality every price λ ≥ 0 gives a bound, λ · budget +
    Σ max (gain - λ · spent); between two steps the gain is at most that of the upper one.
    """

    def bound(log_price: float) -> float:
        price = np.exp(log_price)
        return float(price * budget + (gains[:, 1:] - price * spent[:-1]).max(axis=1).sum())

    best = minimize_scalar(bound, bounds=LOG_PRICES, method="bounded")
    return min(bound(best.x), float(gains[:, -1].sum()))
