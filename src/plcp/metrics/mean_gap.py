"""Exact bounds on the mean distance of many coverages from a target, by Fisher's combination."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import gamma

from plcp.metrics.binomial import tail_bounds
from plcp.quantiles import FloatArray, IntArray

ALONE = 0.05  # share of the permitted error that goes to the bounds on each p by itself
STEPS = 200  # of budget; more of them would make the interval shorter by less than a fiftieth
LOG_PRICES = (-20.0, 5.0)  # gains are at most one: a lower price is nothing, a higher never paid


def mean_gap_bounds(
    hits: IntArray, n: IntArray, target: float, confidence: float
) -> tuple[float, float]:
    """Bounds on mean |p - target| over the probabilities p behind independent counts.

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
