"""Cuts of a regressor: equal masses by rational arithmetic, least loss by enumeration."""

from fractions import Fraction
from itertools import combinations
from math import ceil

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from plcp.partitions.ordered import equal_mass_cuts, optimal_cuts
from plcp.quantiles import pinball_loss
from strategies import alphas, few


@few
@given(st.permutations(range(60)), st.integers(1, 60), st.integers(1, 70))
def test_equal_masses_differ_by_at_most_one(order, n, m):
    regressor = np.sort(np.array(order[:n], dtype=float))
    cuts = equal_mass_cuts(regressor, None, m)
    ends = sorted({ceil(Fraction(n * k, m)) for k in range(1, m)} - {n})
    assert_array_equal(cuts, regressor[np.array(ends, dtype=int) - 1])


@few
@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 8))
def test_no_interval_is_empty_and_ties_stay_together(regressor, m):
    regressor = np.array(regressor, dtype=float)
    cuts = equal_mass_cuts(regressor, None, m)
    groups = np.searchsorted(cuts, regressor)
    assert len(np.unique(groups)) == len(cuts) + 1 <= m
    assert all(len(np.unique(groups[regressor == value])) == 1 for value in regressor)


@few
@given(st.lists(st.integers(1, 4), min_size=1, max_size=30), st.integers(1, 8))
def test_whole_weights_are_repeated_rows(weights, m):
    regressor, weights = np.arange(len(weights), dtype=float), np.array(weights)
    repeated = equal_mass_cuts(np.repeat(regressor, weights), None, m)
    assert_array_equal(equal_mass_cuts(regressor, weights.astype(float), m), repeated)


def least_loss(scores, weights, alpha):
    """Loss of the best single threshold, which is one of the scores."""
    return min(weights @ pinball_loss(q, scores, alpha) for q in scores)


def loss_of_cuts(cuts, regressor, scores, weights, alpha):
    groups = np.searchsorted(cuts, regressor)
    parts = [groups == g for g in np.unique(groups)]
    return sum(least_loss(scores[part], weights[part], alpha) for part in parts)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 0.5])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_optimal_cuts_are_those_of_enumeration(rng, weighted, alpha, m):
    for _ in range(10):
        n = int(rng.integers(m, 60))
        regressor = rng.integers(0, 12, n).astype(float)
        scores = rng.exponential(size=n) * (1 + regressor)
        weights = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
        found = optimal_cuts(regressor, scores, weights if weighted else None, m, alpha)
        ours = loss_of_cuts(found, regressor, scores, weights, alpha)
        values = np.unique(regressor)
        few_groups = min(m, len(values))
        best = min(
            loss_of_cuts(np.array(cuts), regressor, scores, weights, alpha)
            for cuts in combinations(values[:-1], few_groups - 1)
        )
        assert len(found) == few_groups - 1
        assert_allclose(ours, best, rtol=1e-9)


@few
@given(alphas)
def test_optimal_cuts_find_a_step(alpha):
    regressor = np.arange(100.0)
    scores = np.where(regressor < 37, 1.0, 5.0)
    assert_array_equal(optimal_cuts(regressor, scores, None, 2, alpha), [36.0])
