"""Exact bounds and tests for counts, against scipy and by enumeration."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest, gamma

from plcp.metrics.binomial import (
    ALONE,
    STEPS,
    clopper_pearson,
    holm,
    mean_deviation,
    mean_gap_bounds,
    shortfall_p_values,
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


TARGET, CONFIDENCE = 0.9, 0.95
ERROR = 1 - CONFIDENCE
GRID = np.linspace(0.0005, 0.9995, 1999)


def searched_bounds(hits, n, stretch=1.0, extra=0.0):
    """Least and largest mean gap on a grid of two probabilities that are not refused."""
    tails = [
        np.minimum(binom.cdf(h, k, GRID), binom.sf(h - 1, k, GRID))
        for h, k in zip(hits, n, strict=True)
    ]
    surprises = [-np.log(np.clip(2 * tail, np.finfo(float).tiny, 1)) for tail in tails]
    alone = [surprise <= -np.log(ALONE * ERROR / 2) for surprise in surprises]
    together = np.add.outer(*surprises) <= stretch * gamma.isf((1 - ALONE) * ERROR, 2) + extra
    kept = together & np.logical_and.outer(*alone)
    gaps = np.add.outer(abs(GRID - TARGET), abs(GRID - TARGET))[kept] / 2
    return gaps.min(), gaps.max()


@pytest.mark.parametrize(
    ("hits", "n"), [([80, 60], [100, 60]), ([88, 93], [100, 100]), ([3, 180], [4, 200])]
)
def test_bounds_hold_the_whole_region_and_little_more(hits, n):
    low, high = mean_gap_bounds(np.array(hits), np.array(n), TARGET, CONFIDENCE)
    least, most = searched_bounds(hits, n)
    assert low <= least
    assert high >= most
    # a budget is rounded up to the next step, by this factor, or to the first from none
    step = STEPS ** (1 / (STEPS - 1))
    first = 2 * -np.log(ALONE * ERROR / 2) / STEPS
    wider_least, wider_most = searched_bounds(hits, n, step, first)
    resolution = GRID[1] - GRID[0]
    assert low >= wider_least - resolution
    assert high <= wider_most + resolution


def test_one_count_has_the_bounds_of_its_own():
    low, high = clopper_pearson(80, 100, 1 - (1 - ALONE) * ERROR)
    found = mean_gap_bounds(np.array([80]), np.array([100]), TARGET, CONFIDENCE)
    assert_allclose(found, (TARGET - high, TARGET - low))


def test_extreme_counts_stay_within_what_is_possible():
    low, high = mean_gap_bounds(np.array([0, 50]), np.array([10, 50]), TARGET, CONFIDENCE)
    assert 0 <= low <= high <= 0.5
    nothing, _ = mean_gap_bounds(np.array([9, 9]), np.array([10, 10]), TARGET, CONFIDENCE)
    assert str(nothing) == "0.0"
    low, high = mean_gap_bounds(np.zeros(3, int), np.full(3, 10**6), TARGET, CONFIDENCE)
    largest = clopper_pearson(0, 10**6, 1 - ALONE * ERROR / 3)[1]
    assert TARGET - largest <= low <= high <= TARGET


def test_one_group_may_be_as_far_off_as_bounds_for_all_at_once_let_it():
    k = 20
    n = np.append(np.full(k - 1, 10**6), 10)
    hits = np.append(np.full(k - 1, 900_000), 8)
    lowest = clopper_pearson(8, 10, 1 - ALONE * ERROR / k)[0]
    assert mean_gap_bounds(hits, n, TARGET, CONFIDENCE)[1] >= (TARGET - lowest) / k
