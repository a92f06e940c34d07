"""Interval and test of a mean, against Student's where nothing is skewed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import skew, ttest_1samp

from bands import binomial_band
from plcp.metrics.skewed_mean import skewed_mean


def test_symmetric_terms_have_students_interval_and_test(rng):
    half = rng.normal(size=20)
    terms = 0.3 + np.concatenate([half, -half])
    student, law = ttest_1samp(terms, 0), skewed_mean(terms)
    assert_allclose(law.interval(0.9), student.confidence_interval(0.9))
    assert_allclose(law.p_value(), student.pvalue)


def test_ends_solve_halls_equation(rng):
    terms = rng.exponential(size=30)
    mean, error, g = terms.mean(), terms.std() / np.sqrt(29), skew(terms) / np.sqrt(30)

    def transformed(end):
        t = (mean - end) / error
        return t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6

    quantile = (ttest_1samp(terms, 0).confidence_interval(0.95).high - mean) / error
    low, high = skewed_mean(terms).interval(0.95)
    assert_allclose(low, brentq(lambda end: transformed(end) - quantile, -10, mean))
    assert_allclose(high, brentq(lambda end: transformed(end) + quantile, mean, 10))


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_p_value_is_that_of_the_interval_which_ends_at_zero(rng, confidence):
    terms = rng.exponential(size=30)
    for end in skewed_mean(terms).interval(confidence):
        assert_allclose(skewed_mean(terms - end).p_value(), 1 - confidence)


def test_weights_are_copies(rng):
    terms, counts = rng.exponential(size=12), rng.integers(0, 4, 12)
    weighted = skewed_mean(terms, counts.astype(float))
    copied = skewed_mean(np.repeat(terms, counts))
    assert_allclose(weighted.interval(0.95), copied.interval(0.95))


def test_one_row_or_no_spread():
    one, same = skewed_mean(np.array([2.0])), skewed_mean(np.full(5, 2.0))
    assert (one.interval(0.95), one.p_value()) == ((-np.inf, np.inf), 1)
    assert (same.interval(0.95), same.p_value()) == ((2, 2), 0)
    assert skewed_mean(np.zeros(5)).p_value() == 1


def test_interval_holds_for_skewed_terms(rng):
    runs = 2000
    # Student's holds 92 % here
    laws = [skewed_mean(np.maximum(rng.exponential(size=200) - 2, 0)) for _ in range(runs)]
    held = sum(low <= np.exp(-2) <= high for low, high in (law.interval(0.95) for law in laws))
    assert binomial_band(runs, 0.94)[0] <= held <= binomial_band(runs, 0.97)[1]
