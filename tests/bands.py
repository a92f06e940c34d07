"""Bands for simulated coverage, from the law itself at a false-alarm rate of one in a million."""

from scipy.stats import betabinom, binom

FALSE_ALARM = 1e-6


def binomial_band(n, p):
    """Interval that a binomial count misses with probability at most FALSE_ALARM."""
    return binom.ppf(FALSE_ALARM / 2, n, p), binom.isf(FALSE_ALARM / 2, n, p)


def beta_binomial_band(n_test, n_cal, rank):
    """Interval of the number covered among n_test points by one threshold of ``rank`` in n_cal."""
    law = betabinom(n_test, rank, n_cal + 1 - rank)
    return law.ppf(FALSE_ALARM / 2), law.isf(FALSE_ALARM / 2)
