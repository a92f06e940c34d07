"""From placed rows to corrections: merging, shrinking, and groups that stay apart."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from bands import binomial_band
from plcp.quantiles import conformal_quantile, conformal_rank, group_conformal_quantiles
from plcp.thresholds._plcp_calibration import (
    SAFETY,
    GroupedRows,
    constant_corrections,
    following_corrections,
    mean_correction,
    merge_small,
    scatter_of,
    shrunken_corrections,
)
from plcp.thresholds._plcp_learning import Placed
from strategies import alphas, few, finite

masses = hnp.arrays(float, st.integers(1, 12), elements=st.integers(0, 200).map(float))


def placed(scores, groups=None, predicted=None, weights=None):
    n = len(scores)
    groups = np.zeros(n, dtype=np.intp) if groups is None else np.asarray(groups)
    return Placed(groups, None, np.zeros(n) if predicted is None else predicted, scores, weights)


def grouped(m, *args):
    found = placed(*args)
    return GroupedRows(found, found.cells, m)


@few
@given(masses, alphas)
def test_merged_groups_are_large_enough_neighbours(sizes, alpha):
    owner = merge_small(sizes, alpha)
    merged = np.bincount(owner, sizes)
    needed = SAFETY * (np.ceil(1 / alpha) - 1)
    assert owner[0] == 0
    assert set(np.diff(owner)) <= {0, 1}  # neighbours only, in order
    assert len(merged) == 1 or merged.min() >= needed
    assert merged.sum() == sizes.sum()


@few
@given(masses, alphas)
def test_groups_large_enough_are_left_alone(sizes, alpha):
    sizes = sizes + SAFETY * np.ceil(1 / alpha)
    assert_array_equal(merge_small(sizes, alpha), np.arange(len(sizes)))


rows = st.integers(9, 60)


@few
@given(rows, st.integers(1, 4), alphas, st.data())
def test_shrunken_corrections_cover_exactly_the_rank(n, m, alpha, data):
    scores = np.array(data.draw(st.permutations(range(n))), dtype=float)
    predicted = data.draw(hnp.arrays(float, n, elements=st.integers(0, 3).map(lambda i: i / 1000)))
    groups = data.draw(hnp.arrays(np.intp, n, elements=st.integers(0, m - 1)))
    levels = shrunken_corrections(grouped(m, scores, groups, predicted), alpha)
    covered = (scores <= predicted + levels[groups]).sum()
    rank = conformal_rank(n, alpha)
    assert covered == rank if rank <= n else np.isinf(levels).all()


@few
@given(hnp.arrays(float, 40, elements=finite), hnp.arrays(float, 40, elements=finite), alphas)
def test_shrunken_corrections_cover_at_least_the_rank_in_floating_point(scores, predicted, alpha):
    groups = np.arange(40) % 2
    levels = shrunken_corrections(grouped(2, scores, groups, predicted), alpha)
    assert (scores <= predicted + levels[groups]).sum() >= min(40, conformal_rank(40, alpha))


def test_groups_alike_are_drawn_together_and_groups_apart_are_not(rng):
    groups = np.repeat([0, 1], 2000)
    noise = rng.exponential(size=4000)
    alike = shrunken_corrections(grouped(2, noise, groups), 0.1)
    apart = shrunken_corrections(grouped(2, noise + 100 * groups, groups), 0.1)
    own = group_conformal_quantiles(noise, groups, 2, 0.1)
    assert abs(np.diff(alike)) < abs(np.diff(own))
    assert apart[1] - apart[0] > 99


def test_one_group_shrinks_to_the_conformal_quantile(rng):
    scores = rng.normal(size=50)
    level = shrunken_corrections(grouped(1, scores), 0.1)
    assert_allclose(level, conformal_quantile(scores, 0.1), rtol=1e-14)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 60)])
def test_corrections_of_a_group_are_quantiles_of_its_own_rows(rng, weights):
    scores, predicted, groups = rng.normal(size=60), rng.normal(size=60), np.arange(60) % 2
    seen = grouped(2, scores, groups, predicted, weights)
    for follow in (False, True):
        levels = seen.conformal(0.1, follow)
        for g in range(2):
            own = None if weights is None else weights[groups == g]
            values = (scores - predicted * follow)[groups == g]
            assert_allclose(levels[g], conformal_quantile(values, 0.1, own), rtol=1e-14)


def test_constant_groups_of_equal_threshold_are_one():
    found = constant_corrections(np.array([5.0, np.inf, 5.0]), np.array([1.0, 2.0, 3.0]))
    assert_array_equal(found.thresholds, [5.0, np.inf])
    assert_array_equal(found.rank, [0, 1, 0])
    assert_array_equal(found.sizes, [4, 2])


def test_followed_groups_of_equal_median_keep_their_corrections():
    predicted = np.array([1.0, 1.0, 2.0, 2.0, 0.0])
    groups = np.array([0, 0, 1, 1, 2])
    levels = np.array([1.0, 0.0, np.inf])
    found = following_corrections(levels, grouped(3, np.zeros(5), groups, predicted))
    assert_array_equal(found.values[found.rank], levels)
    assert_array_equal(found.thresholds, [2.0, 2.0, np.inf])
    assert_array_equal(found.sizes, [2, 2, 1])


def test_mean_correction_of_an_infinite_one():
    memberships = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert_array_equal(mean_correction(memberships, np.array([3.0, np.inf])), [3.0, np.inf])
    assert_array_equal(mean_correction(memberships, np.array([3.0, 5.0])), [3.0, 4.0])


def test_merged_places_are_the_likeliest_of_merged_groups():
    memberships = np.array([[0.4, 0.3, 0.3], [0.8, 0.1, 0.1]])
    place = Placed(np.array([0, 0]), memberships, np.zeros(2), np.zeros(2), None)
    merged = place.merged(np.array([0, 1, 1]))
    assert_array_equal(merged.cells, [1, 0])
    assert_allclose(merged.memberships, [[0.4, 0.6], [0.8, 0.2]])


def test_drawn_groups_follow_their_memberships():
    memberships = np.tile([0.2, 0.0, 0.8], (10_000, 1))
    place = Placed(np.zeros(10_000, dtype=int), memberships, *[np.zeros(10_000)] * 2, None)
    drawn = place.drawn(lambda: np.random.default_rng(0).random(10_000))
    counts = np.bincount(drawn.cells, minlength=3)
    low, high = binomial_band(10_000, 0.2)
    assert low <= counts[0] <= high
    assert counts[1] == 0


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_scatter_of_weighted_groups_by_chance_alone(alpha):
    """E Σ n_i (c_i - c̄)² = (m - 1) α(1 - α), over all outcomes of rows covered by chance alone."""
    weights = np.array([9.0, 1.0, 1.0, 0.5, 2.0, 2.0, 0.1, 4.0, 4.0, 4.0])
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    outcomes = np.array(list(product([0.0, 1.0], repeat=len(weights))))
    chances = np.prod(np.where(outcomes == 1, 1 - alpha, alpha), axis=1)
    masses = np.bincount(groups, weights)
    shares = [np.bincount(groups, weights * covered) / masses for covered in outcomes]
    sizes = GroupedRows(placed(weights, groups, None, weights), groups, 3).sizes
    scatter = [scatter_of(share, sizes) for share in shares]
    assert_allclose(chances @ scatter, 2 * alpha * (1 - alpha))
