"""Interval and test of a mean, against Student's where nothing is skewed."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import sem, skew, ttest_1samp

from bands import binomial_band
from plcp.metrics.measure import mean_measure, skewed_mean
from strategies import few

# of spread, so that neither formula divides rounding by rounding
spread = hnp.arrays(float, st.integers(2, 40), elements=st.integers(-50, 50).map(float)).filter(
    lambda terms: np.ptp(terms) > 0
)


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


@few
@given(spread, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_a_measure_of_a_mean_is_its_law(terms, confidence):
    measure = mean_measure("mean", terms, meaning="x", confidence=confidence)
    assert_allclose((measure.low, measure.high), skewed_mean(terms).interval(confidence))
    assert_allclose(measure.standard_error, sem(terms), rtol=1e-9)
    assert measure.estimate == pytest.approx(terms.mean(), rel=1e-12, abs=1e-12)
    assert not measure.exact


@few
@given(spread, st.data())
def test_weights_count_rows_and_order_does_not(terms, data):
    counts = data.draw(hnp.arrays(np.intp, len(terms), elements=st.integers(0, 4)))
    counts[0] += 2
    order = np.array(data.draw(st.permutations(range(len(terms)))))
    copied = mean_measure("mean", np.repeat(terms, counts), meaning="x")
    weighted = mean_measure("mean", terms[order], counts[order].astype(float), meaning="x")
    for field in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(weighted, field), getattr(copied, field), rtol=1e-9, atol=1e-9)


@few
@given(spread)
def test_interval_stays_within_what_is_possible(terms):
    limits = (terms.min(), terms.max())
    measure = mean_measure("mean", terms, meaning="x", limits=limits)
    assert limits[0] <= measure.low <= measure.high <= limits[1]


@pytest.mark.parametrize("weights", [None, np.array([1.0])])
def test_one_row_says_nothing_of_spread(weights):
    measure = mean_measure("mean", np.array([0.3]), weights, meaning="x", limits=(-1, 1))
    assert (measure.estimate, measure.low, measure.high) == (0.3, -1, 1)
    assert np.isnan(measure.standard_error)


def test_one_infinite_term_decides_unless_it_does_not_count():
    terms = np.array([1.0, np.inf, 2.0])
    assert mean_measure("mean", terms, meaning="x").low == np.inf
    counted = mean_measure("mean", terms, np.array([1.0, 0.0, 1.0]), meaning="x")
    assert counted.estimate == 1.5
