"""Exact binomial bounds and tests, against scipy's and against sums over the law."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, binomtest

from plcp.metrics.binomial import (
    clopper_pearson,
    holm,
    mean_deviation,
    shortfall_p_values,
    tail_bounds,
)
from strategies import few


@st.composite
def counts(draw):
    n = draw(st.integers(1, 500))
    return draw(st.integers(0, n)), n


@few
@given(counts(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_bounds_are_those_of_scipy(count, confidence):
    hits, n = count
    theirs = binomtest(hits, n).proportion_ci(confidence, method="exact")
    assert_allclose(clopper_pearson(hits, n, confidence), theirs)


def test_bounds_hold_with_their_confidence_for_every_probability():
    n, confidence = 25, 0.95
    low, high = clopper_pearson(np.arange(n + 1), n, confidence)
    for p in np.linspace(0, 1, 501):
        law = binom.pmf(np.arange(n + 1), n, p)
        assert law[p < low].sum() <= (1 - confidence) / 2
        assert law[p > high].sum() <= (1 - confidence) / 2


def test_no_trial_says_nothing():
    assert clopper_pearson(0, 0) == (0, 1)
    assert shortfall_p_values(0, 0, 0.9) == 1


def test_no_error_permitted_means_no_bound():
    low, high = tail_bounds([0, 3, 10], 10, 0.0)
    assert_array_equal(low, 0)
    assert_array_equal(high, 1)


@few
@given(counts(), st.sampled_from([0.5, 0.9]))
def test_shortfall_is_the_sum_of_the_law(count, target):
    hits, n = count
    expected = binom.pmf(np.arange(hits + 1), n, target).sum()
    assert_allclose(shortfall_p_values(hits, n, target), expected)


@pytest.mark.parametrize("target", [0.05, 0.5, 0.9, 2 / 3])
def test_mean_deviation_is_the_sum_over_the_law(target):
    n = np.array([1, 2, 3, 10, 30, 1000])  # n · target is a whole number for some
    expected = [
        (np.abs(np.arange(k + 1) / k - target) * binom.pmf(np.arange(k + 1), k, target)).sum()
        for k in n
    ]
    assert_allclose(mean_deviation(n, target), expected)


def step_down(p):
    """Holm by the book: each is multiplied by how many are not smaller, and may not fall."""
    adjusted, running = {}, 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        running = max(running, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = running
    return [adjusted[i] for i in range(len(p))]


@few
@given(
    hnp.arrays(float, st.integers(1, 8), elements=st.sampled_from([0, 1e-4, 0.01, 0.02, 0.5, 1]))
)
def test_holm_is_the_step_down_procedure(p):
    assert_allclose(holm(p), step_down(p))
