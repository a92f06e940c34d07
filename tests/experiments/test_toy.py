"""The toy example: its exact law, how near a boundary must come to zero, and who finds it."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import binom, halfnorm, norm

from bands import FALSE_ALARM, binomial_band
from plcp.datasets import make_toy
from plcp.experiments import find_experiment
from plcp.experiments.methods import PUBLISHED, SPLIT
from plcp.experiments.runner import run_trial
from plcp.experiments.toy import (
    BIN_EDGES,
    LEAVES,
    ORDERED,
    SIGMAS,
    TWO_GROUPS,
    boundary_distance,
    boundary_errors,
    changes,
    draw_points,
    marginal_quantile,
    report,
    share_by_x,
    side_coverage,
    side_densities,
    side_quantiles,
)
from plcp.partitions import SoftmaxPartition, TreePartition
from plcp.quantiles import pinball_loss
from plcp.thresholds import PLCP

SETTINGS = {"alpha": 0.1, "sizes": [200, 1500], "n_test": 1000}


@pytest.fixture(scope="module")
def record():
    return run_trial(find_experiment("toy"), SETTINGS, 2, None)


@pytest.fixture
def records(record):
    """Two copies of a trial, to be spoilt."""
    return [copy.deepcopy(record), copy.deepcopy(record)]


def by_side(task):
    right = task.X[:, 0] >= 0
    return task.scores[~right], task.scores[right]


# the law


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.4])
def test_quantiles_and_coverage_are_those_of_folded_normals(alpha):
    low, high = side_quantiles(alpha)
    both = marginal_quantile(alpha)
    assert low < both < high
    for q in (low, both, high):
        exact = [norm.cdf(q, scale=sigma) - norm.cdf(-q, scale=sigma) for sigma in SIGMAS]
        assert_allclose(side_coverage(q), exact)
    assert_allclose([side_coverage(low)[0], side_coverage(high)[1]], 1 - alpha)
    assert_allclose(side_coverage(both).mean(), 1 - alpha)
    for side in (0, 1):
        mass = quad(lambda s, side=side: side_densities([s])[side, 0], 0, both)[0]
        assert_allclose(mass, side_coverage(both)[side])


def test_data_are_covered_as_the_law_states():
    task = make_toy(20_000, random_state=1)
    q = marginal_quantile(0.1)
    for scores, share in zip(by_side(task), side_coverage(q), strict=True):
        low, high = binomial_band(len(scores), share)
        assert low <= (scores <= q).sum() <= high


# the boundary


def best_boundary(task, alpha):
    """Place of least cost at the true thresholds, by trying every gap between points."""
    low, high = side_quantiles(alpha)
    order = np.argsort(task.X[:, 0])
    x, s = task.X[order, 0], task.scores[order]
    gain = pinball_loss(low, s, alpha) - pinball_loss(high, s, alpha)  # of moving a point left
    costs = np.concatenate([[0.0], np.cumsum(gain)])
    ends = np.concatenate([[-1.0], x, [1.0]])
    best = np.argmin(costs)
    return max(abs(ends[best]), abs(ends[best + 1]))  # all of the gap is as good


@pytest.mark.parametrize("chance", [0.5, 0.05])
def test_the_best_boundary_is_farther_than_the_bound_no_more_often_than_the_chance(chance):
    n, repeats = 2000, 300
    distance = boundary_distance(n, 0.1, chance)
    assert distance < 1
    far = sum(
        best_boundary(make_toy(n, random_state=seed), 0.1) > distance for seed in range(repeats)
    )
    assert far <= binomial_band(repeats, chance)[1]


def test_the_bound_is_chernoff_s_over_the_binomial_number_of_points_between():
    """The same sum, with means over a fine grid of quantiles and the binomial law written out."""
    n, chance = 4000, 0.02
    d = boundary_distance(n, 0.1, chance)
    levels, quantiles = (np.arange(20_000) + 0.5) / 20_000, side_quantiles(0.1)
    total = 0.0
    for side, (own, other) in enumerate((quantiles, quantiles[::-1])):
        s = halfnorm.ppf(levels, scale=SIGMAS[side])
        cost = pinball_loss(other, s, 0.1) - pinball_loss(own, s, 0.1)
        rho = min(np.exp(-t * cost).mean() for t in np.linspace(0, 4, 401))
        between = np.arange(n + 1)
        total += binom.pmf(between, n, d / 2) @ rho**between / (1 - rho)
    assert_allclose(total, chance, rtol=1e-4)  # grids err by 1e-7, here to a power of some 400


def test_the_bound_is_of_order_one_over_n_and_shrinks_with_the_chance():
    near, far = boundary_distance(100_000, 0.1, 0.01), boundary_distance(10_000, 0.1, 0.01)
    assert_allclose(far / near, 10, rtol=0.01)  # (1 - rd/2)ⁿ is exp(-rdn/2), but for r d / 4
    assert boundary_distance(10_000, 0.1, 0.001) > far
    assert boundary_distance(20, 0.1, 0.01) == 1.0


def test_softmax_of_a_line_finds_the_sign_of_x():
    n = 10_000
    task, new = make_toy(n, random_state=0), make_toy(n, random_state=1)
    rule = PLCP(SoftmaxPartition(early_stopping=False), 2, calibration="joint", random_state=0)
    rule.fit(task.X, task.scores)
    (boundary,) = changes(rule)
    distance = boundary_distance(n, 0.1, FALSE_ALARM)
    assert abs(boundary) <= distance
    right = new.X[:, 0] >= 0
    assert_array_equal(rule.groups(new.X), (new.X[:, 0] >= boundary).astype(int))
    low, _ = binomial_band(n, 1 - distance / 2)  # all that may lie between boundary and zero
    assert ((rule.groups(new.X) == 1) == right).sum() >= low


def test_a_change_of_group_is_where_the_tree_splits():
    task = make_toy(2000, random_state=5)
    rule = PLCP(TreePartition(), 2, calibration="joint", random_state=0).fit(task.X, task.scores)
    (found,) = changes(rule)
    assert abs(found - rule.partition_.tree_.tree_.threshold[0]) <= 1e-4  # a step of the grid


# the points


def test_points_are_drawn_again_alike_and_apart():
    once, twice, other = (draw_points(SETTINGS, seed) for seed in (0, 0, 1))
    assert_array_equal(once.calibration.y, twice.calibration.y)
    assert_array_equal(once.test.y, twice.test.y)
    assert once.rule_state == twice.rule_state
    assert not np.isin(once.calibration.X, once.test.X).any()
    assert not np.isin(once.calibration.X, other.calibration.X).any()
    assert (len(once.calibration.y), len(once.test.y)) == (1500, 1000)


def test_shares_by_x_are_counted_bin_by_bin(rng):
    x, covered = rng.uniform(-1, 1, 2000), rng.random(2000) < 0.8
    shares = share_by_x(x, covered)
    for low, high, share in zip(BIN_EDGES, BIN_EDGES[1:], shares, strict=False):
        inside = [c for c, place in zip(covered, x, strict=True) if low <= place < high]
        assert_allclose(share, sum(inside) / len(inside))
    assert np.isclose(BIN_EDGES, 0).any()


# a trial


def test_a_trial_measures_what_its_points_states(record):
    test, found = draw_points(SETTINGS, record["seed"]).test, record["results"]
    right = test.X[:, 0] >= 0
    counts = np.array([(~right).sum(), right.sum()])
    assert list(found["groups"].values()) == counts.tolist()
    in_bin = np.histogram(test.X[:, 0], BIN_EDGES)[0]
    for method, parts in found["methods"].items():
        whole = parts["overall"]["coverage"]
        assert_allclose(counts @ parts["coverage"] / counts.sum(), whole)
        assert_allclose(in_bin @ found["about"]["by_x"][method] / in_bin.sum(), whole)


def test_split_has_one_threshold_and_so_the_side_of_half_the_points(record):
    split = record["results"]["methods"][SPLIT]
    assert_allclose(*split["size"])
    q = split["overall"]["size"] / 2
    shares = np.array(list(record["results"]["groups"].values())) / SETTINGS["n_test"]
    assert_allclose(split["overall"]["msce"], shares @ (side_coverage(q) - 0.9) ** 2)
    above = q > side_quantiles(0.1).mean()
    assert_allclose(split["overall"]["agreement"], shares[int(above)])


def test_the_threshold_of_sign_x_is_that_of_all_points_beyond_the_boundary(record):
    """Of a tree, whose boundary is sharp: the points between it and zero are all that disagree."""
    (boundary,) = record["results"]["about"]["changes"][LEAVES][-1]
    x = draw_points(SETTINGS, record["seed"]).test.X[:, 0]
    between = (x >= min(boundary, 0)) & (x < max(boundary, 0))
    assert between.any()
    agreement = record["results"]["methods"][LEAVES]["overall"]["agreement"]
    assert_allclose(agreement, 1 - between.mean())


def test_boundaries_are_searched_at_every_size(record):
    found = record["results"]["about"]["changes"]
    assert list(found) == list(TWO_GROUPS) == [PUBLISHED, ORDERED, LEAVES]
    assert all(len(by_size) == 2 for by_size in found.values())
    assert found[LEAVES][0] == []  # no fold of 133 rows has two leaves of a hundred
    assert found[PUBLISHED][0] != found[PUBLISHED][1]


# the report


def test_claims_follow_the_numbers(records):
    claims = report(records).claims
    assert [claim.holds for claim in claims] == [True] * 3
    distance = boundary_distance(SETTINGS["sizes"][-1], 0.1, 0.001 / 2)
    assert f"within {distance:.3f} of zero" in claims[0].text


def test_the_farthest_change_counts_and_none_is_as_far_as_can_be(records):
    for record, places in zip(records, ([[0.5], [-0.3, 0.1]], [[0.25], []]), strict=True):
        record["results"]["about"]["changes"][PUBLISHED] = places
    assert_allclose(boundary_errors(records, PUBLISHED), [0.3, 1.0])
    assert_allclose(boundary_errors(records, PUBLISHED, 0), [0.5, 0.25])
    found = report(records)
    assert_allclose(found.lines[0].published, [0.3, 1.0])
    assert found.tables[-1].rows[0][1:] == [
        "0.3750 (0.2500 to 0.5000)",
        "1",
        "0.6500 (0.3000 to 1.0000)",
        "0 to 2",
    ]
