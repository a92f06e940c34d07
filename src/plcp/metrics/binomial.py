"""Exact bounds and tests for a probability, from how often something happened."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, binom

from plcp.quantiles import FloatArray


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
    hits, n = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(n, dtype=float))
    tail = (1 - confidence) / 2
    misses = n - hits
    # at the ends the beta law has no density; its limits are 0 and 1
    low = np.where(hits == 0, 0.0, beta.ppf(tail, np.maximum(hits, 1), misses + 1))
    high = np.where(misses == 0, 1.0, beta.isf(tail, hits + 1, np.maximum(misses, 1)))
    return low, high


def shortfall_p_values(hits: ArrayLike, n: ArrayLike, target: float) -> FloatArray:
    """Probability of so few hits or fewer if each trial came true with probability ``target``."""
    return np.asarray(binom.cdf(hits, n, target))


def holm(p_values: ArrayLike) -> FloatArray:
    """P-values corrected for their number: the chance of any false alarm stays below the level.

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
