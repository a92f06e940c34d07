"""The growth function of ordered partitions, against counting them."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from plcp.theory import log_growth_ordered


def count_groupings(points, m, rng, directions):
    """Distinct labellings of points by a drawn line and any m - 1 cuts, found by trial."""
    n = len(points)
    orders = {tuple(np.argsort(points @ w)) for w in rng.normal(size=(directions, points.shape[1]))}
    ends = list(combinations_with_replacement(range(n + 1), m - 1))
    found = set()
    for order in orders:
        for cuts in ends:
            labels = np.empty(n, dtype=int)
            labels[list(order)] = np.searchsorted(cuts, np.arange(n), side="right")
            found.add(tuple(labels))
    return len(orders), len(ends), len(found)


@pytest.mark.parametrize(("n", "d", "m"), [(3, 1, 2), (4, 2, 2), (5, 2, 3), (5, 3, 3), (6, 2, 4)])
def test_no_more_groupings_are_found_than_counted(n, d, m, rng):
    orders, places, found = count_groupings(rng.normal(size=(n, d)), m, rng, 5000)
    pairs = n * (n - 1) // 2
    cells = 2 * sum(math.comb(pairs - 1, k) for k in range(d))
    assert orders <= cells
    assert places == math.comb(n + m - 1, m - 1)
    assert found <= np.exp(log_growth_ordered(m, d, n)) * (1 + 1e-9)


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_closed_form(n):
    pairs = n * (n - 1) // 2
    for m, d in [(1, 1), (2, 1), (4, 3), (7, 20)]:
        cells = 2 * sum(math.comb(pairs - 1, k) for k in range(d))
        exact = min(cells * math.comb(n + m - 1, m - 1), m**n)
        assert log_growth_ordered(m, d, n) == pytest.approx(math.log(exact), abs=1e-9)


def test_one_group_or_one_point_leaves_no_choice():
    assert log_growth_ordered(1, 5, 1000) == 0.0
    assert log_growth_ordered([1, 3], 5, 1) == pytest.approx(np.log([1, 3]))


def test_stays_exact_for_many_points():
    n, d = 10**6, 4
    pairs = n * (n - 1) // 2
    cells = 2 * sum(math.comb(pairs - 1, k) for k in range(d))
    exact = math.log(cells) + math.log(math.comb(n + 9, 9))
    assert log_growth_ordered(10, d, n) == pytest.approx(exact, rel=1e-10)
