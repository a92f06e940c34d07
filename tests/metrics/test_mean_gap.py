"""Bounds on the mean gap by Fisher's combination, against a search of the whole region."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, gamma

from bands import FALSE_ALARM
from plcp.metrics.binomial import ALONE, STEPS, clopper_pearson, mean_gap_bounds

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


@pytest.mark.parametrize("k", [5, 100])
def test_many_counts_are_bounded_closer_than_by_bounds_for_all_at_once(rng, k):
    n = rng.integers(20, 500, k)
    hits = rng.binomial(n, TARGET)
    low, high = clopper_pearson(hits, n, 1 - ERROR / k)
    farthest = np.maximum(TARGET - low, high - TARGET).mean()
    assert mean_gap_bounds(hits, n, TARGET, CONFIDENCE)[1] < farthest


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


@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_the_interval_holds_the_mean_gap(rng, spread):
    data_sets, n = 300, np.array([30, 40, 100])
    p = TARGET + spread * np.array([-1, 0, 1])
    found = 0
    for _ in range(data_sets):
        low, high = mean_gap_bounds(rng.binomial(n, p), n, TARGET, CONFIDENCE)
        found += low <= np.abs(p - TARGET).mean() <= high
    assert found >= binom.ppf(FALSE_ALARM, data_sets, CONFIDENCE)
