"""Scales of scores: rising, invertible, and the same for a row twice and one of weight two."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata

from plcp.partitions.torch.quantile import rank_scale, unit_scale
from plcp.quantiles import weighted_quantiles
from strategies import few

EPS = np.finfo(float).eps
scores = hnp.arrays(float, st.integers(1, 30), elements=st.integers(-20, 20).map(float))


def unit(values, weights):
    return unit_scale(values, weights, level=0.9)


@few
@given(scores)
def test_ranks_are_mid_ranks(values):
    found = rank_scale(values, np.ones(len(values)))(values)
    expected = (rankdata(values) - 0.5) / len(values)
    assert_allclose(found, expected, rtol=0, atol=len(values) * EPS)


@few
@given(scores)
def test_units_put_the_quantile_at_zero_and_the_median_distance_at_one(values):
    weights = np.ones(len(values))
    found = unit(values, weights)(values)
    assert weighted_quantiles(found, weights[:, None], 0.9)[0] == 0
    ranked = np.sort(abs(found))
    median = ranked[(len(values) + 1) // 2 - 1]
    if median > 0:
        assert_allclose(median, 1.0, rtol=0, atol=20 * len(values) * EPS)
    elif np.ptp(values) > 0:  # most scores are one: the mean has to do
        assert_allclose(ranked.mean(), 1.0, rtol=0, atol=20 * len(values) * EPS)


@pytest.mark.parametrize("make", [rank_scale, unit])
@few
@given(scores, st.data())
def test_weights_count_rows(make, values, data):
    times = data.draw(hnp.arrays(int, len(values), elements=st.integers(1, 4)))
    weighted, repeated = (
        make(values, times.astype(float)),
        make(np.repeat(values, times), np.ones(times.sum())),
    )
    grid = np.linspace(-30, 30, 61)
    size = 60 * max(1.0, abs(repeated(grid)).max()) * times.sum()
    assert_allclose(weighted(grid), repeated(grid), rtol=0, atol=size * EPS)


@pytest.mark.parametrize("make", [rank_scale, unit])
@few
@given(scores)
def test_there_and_back_and_rising_on_beyond_the_ends(make, values):
    scale = make(values, np.ones(len(values)))
    grid = np.linspace(-30, 30, 61)
    there = scale(grid)
    assert (np.diff(there) > 0).all()
    steepest = (np.diff(grid) / np.diff(there)).max()
    rounding = EPS * len(values) * (60 + steepest * abs(there).max())
    assert_allclose(scale.invert(there), grid, rtol=0, atol=rounding)


@pytest.mark.parametrize("make", [rank_scale, unit])
def test_scores_that_differ_by_less_than_rounding(make):
    """The mean distance is lost beside the scores themselves, and no division by it."""
    values = np.full(1000, 0.3)
    values[5] = 0.1 + 0.2
    assert len(np.unique(values)) == 2
    scale = make(values, np.ones(1000))
    assert np.isfinite(scale(values)).all()
    assert_array_equal(scale.invert(scale(values[:1])), values[:1])


@pytest.mark.parametrize("make", [rank_scale, unit])
@pytest.mark.parametrize("value", [0.0, -3.0, 1e20])
def test_scores_all_alike(make, value):
    """However large they are, beside which one is nothing."""
    scale = make(np.full(4, value), np.ones(4))
    values = value + np.ptp(scale.scores) * np.array([-1.0, 0.0, 1.0])
    assert (np.diff(scale(values)) > 0).all()
    assert_allclose(scale.invert(scale(values)), values, rtol=4 * EPS, atol=0)
