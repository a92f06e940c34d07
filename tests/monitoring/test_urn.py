"""Misses of a conformal threshold follow Pólya's urn, chance in the calibration included."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import betabinom

from plcp.monitoring.martingale import Urn
from plcp.quantiles import conformal_quantile, conformal_rank


def law_by_counting(n, t, alpha):
    """Probability of each sequence of misses: all orders of n + t distinct scores are alike."""
    found = dict.fromkeys(product((False, True), repeat=t), 0)
    orders = list(permutations(range(n + t)))
    for order in orders:
        threshold = conformal_quantile(order[:n], alpha)
        found[tuple(score > threshold for score in order[n:])] += 1
    return {path: Fraction(times, len(orders)) for path, times in found.items()}


@pytest.mark.parametrize(("n", "t", "alpha"), [(3, 4, 0.5), (4, 4, 0.3), (5, 3, 0.2), (2, 5, 0.4)])
def test_the_urn_is_the_law_of_misses_by_counting_all_orders(n, t, alpha):
    for path, probability in law_by_counting(n, t, alpha).items():
        missed = np.array(path)
        chances = Urn.of(n, alpha).chances(missed)
        product_of = np.prod(np.where(missed, chances, 1 - chances))
        assert product_of == pytest.approx(float(probability), rel=1e-12, abs=1e-15)


def test_the_urn_is_the_beta_binomial_law():
    n, alpha, t = 57, 0.13, 30
    rank = conformal_rank(n, alpha)
    for misses in range(t + 1):
        missed = np.arange(t) < misses  # the order makes no difference
        chances = Urn.of(n, alpha).chances(missed)
        one_path = np.log(np.where(missed, chances, 1 - chances)).sum()
        law = betabinom(t, n + 1 - rank, rank).logpmf(misses)
        paths = -np.log(t + 1) - betaln(misses + 1, t - misses + 1)
        assert one_path + paths == pytest.approx(law, rel=1e-10)


def test_an_infinite_threshold_is_never_missed():
    assert Urn.of(8, alpha=0.1) == (0.0, 9.0)
    assert Urn.of(8, alpha=0.1).chances(np.zeros(5, dtype=bool)).tolist() == [0.0] * 5


def test_rows_that_weigh_a_broken_number_are_between_whole_ones():
    below, between, above = (Urn.of(n, alpha=0.25) for n in (15, 17.5, 19))
    assert below.misses < between.misses < above.misses
    assert between.misses / sum(between) == pytest.approx(0.25)
    assert sum(between) == pytest.approx(18.5)


def test_chances_of_rows_in_two_parts_are_those_of_all_at_once(rng):
    missed, urn = rng.uniform(size=50) < 0.2, Urn.of(12.7, 0.1)
    first, second = missed[:20], missed[20:]
    parts = [urn.chances(first), urn.chances(second, n=20, misses=int(first.sum()))]
    assert np.array_equal(np.concatenate(parts), urn.chances(missed))
