"""Bounds on coverage that hold at all times at once."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

# Tilts of log-odds, each half an octave below the last: some are right for any number of rows.
SLOPES = 8.0 * 2.0 ** (-np.arange(56) / 2)
LOG_WEIGHTS = -np.log(np.arange(1, 57)) - np.log(np.arange(2, 58))  # of 1/j - 1/(j + 1)


def anytime_bounds(hits: int, n: int, tail: float) -> tuple[float, float]:
    """Bounds on a mean probability of which ``hits`` of ``n`` rows came true so far.

    Each end errs, at any time of an unending stream, with probability at most ``tail``. Rows need
    be neither independent nor alike: what is bounded is the mean of the probabilities that each
    row had, given those before it. For s > 0 the product of exp(s · hit) / (1 + p (e^s - 1)) is a
    martingale, so is its mean over some s, and the logarithm of the denominator is concave in p:
    with the mean of the p in place of each it is smaller still. So the martingale's bound 1 / tail
    (Ville) bounds that mean from below; misses bound it from above.

    References
    ----------
    Howard, Ramdas, McAuliffe, Sekhon (2021). Time-uniform, nonparametric, nonasymptotic confidence
    sequences. Annals of Statistics.

    Examples
    --------
    >>> [round(end, 3) for end in anytime_bounds(900, 1000, 0.025)]
    [0.859, 0.933]
    >>> anytime_bounds(0, 0, 0.025)
    (0.0, 1.0)
    """
    return _lower(hits, n, tail), 1.0 - _lower(n - hits, n, tail)


def _lower(hits: int, n: int, tail: float) -> float:
    def excess(p: float) -> float:
        terms = LOG_WEIGHTS + SLOPES * hits - n * np.log1p(p * np.expm1(SLOPES))
        return float(logsumexp(terms) + np.log(tail))

    if excess(0.0) <= 0:
        return 0.0
    return float(brentq(excess, 0.0, hits / n, xtol=1e-12))
