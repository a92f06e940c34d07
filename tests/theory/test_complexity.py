"""Covering numbers by moved parameters, growth functions by counting."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import softmax

from plcp.theory import (
    log_covering_network,
    log_covering_ordered,
    log_covering_softmax,
    log_growth_ordered,
)
from strategies import few

RADIUS, BOUND, EPSILON = 3.0, 2.0, 0.3


def on_sphere(rng, *shape):
    """Vectors of norm one in the last direction."""
    v = rng.normal(size=shape)
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def distance(h, other):
    """The paper's metric, over the rows at hand."""
    return np.abs(h - other).sum(axis=1).max()


@given(st.integers(2, 6).flatmap(lambda m: hnp.arrays(float, (2, m), elements=st.floats(-30, 30))))
@few
def test_softmax_is_1_lipschitz_from_the_sup_norm_to_the_absolute_sum(logits):
    here, there = softmax(logits, axis=1)
    assert np.abs(here - there).sum() <= np.abs(logits[0] - logits[1]).max() + 1e-12


def test_neighbours_in_the_net_of_linear_softmax_are_close(rng):
    for _ in range(100):
        m, d = rng.integers(2, 6), rng.integers(1, 5)
        x = BOUND * on_sphere(rng, 200, d)
        w = RADIUS * rng.uniform(size=(m, 1)) * on_sphere(rng, m, d)
        moved = w + EPSILON / BOUND * on_sphere(rng, m, d)
        assert distance(softmax(x @ w.T, axis=1), softmax(x @ moved.T, axis=1)) <= EPSILON


def test_neighbours_in_the_net_of_ordered_partitions_are_close(rng):
    G, width = RADIUS * BOUND, 1.5

    def memberships(x, w, c):
        return softmax(-((x @ w - c) ** 2) / (2 * width**2), axis=1)

    for _ in range(100):
        m, d = rng.integers(2, 6), rng.integers(1, 5)
        x = BOUND * on_sphere(rng, 200, d)
        w = RADIUS * on_sphere(rng, d)[:, None]
        c = rng.uniform(-G, G, m)
        fine = EPSILON * width**2
        nearby = w + fine / (2 * G * BOUND) * on_sphere(rng, d)[:, None]
        nearby *= min(1.0, RADIUS / np.linalg.norm(nearby))
        shifted = np.clip(c + fine / (4 * G) * rng.choice([-1, 1], m), -G, G)
        assert distance(memberships(x, w, c), memberships(x, nearby, shifted)) <= EPSILON


def test_neighbours_in_the_net_of_networks_are_close(rng):
    norms = np.array([1.5, 0.8, 2.0])

    def memberships(x, layers):
        for layer in layers[:-1]:
            x = np.maximum(x @ layer.T, 0.0)
        return softmax(x @ layers[-1].T, axis=1)

    def with_norm(matrix, norm):
        return matrix * norm / np.linalg.norm(matrix, 2)

    for _ in range(100):
        widths = rng.integers(1, 6, size=4)
        widths[-1] += 1
        x = BOUND * on_sphere(rng, 200, widths[0])
        shapes = list(zip(widths[1:], widths[:-1], strict=True))
        layers = [with_norm(rng.normal(size=k), s) for k, s in zip(shapes, norms, strict=True)]
        share = EPSILON / (3 * BOUND * norms.prod())
        # neighbours inside the class: smaller by the step, so that the step stays within the norm
        inner = [layer * (1 - share) for layer in layers]
        moved = [
            layer + with_norm(rng.normal(size=k), share * s)
            for layer, k, s in zip(inner, shapes, norms, strict=True)
        ]
        assert distance(memberships(x, inner), memberships(x, moved)) <= EPSILON


def test_a_network_of_one_layer_is_linear_softmax():
    network = log_covering_network([7, 4], [RADIUS], BOUND, EPSILON)
    assert network == pytest.approx(log_covering_softmax(4, 7, RADIUS, BOUND, EPSILON))


def test_closed_forms():
    assert log_covering_softmax([2, 3], 5, 3.0, 2.0, 0.1) == pytest.approx(
        [10 * np.log(121), 15 * np.log(121)]
    )
    ordered = log_covering_ordered(2, 5, 3.0, 2.0, 0.1, 0.5)
    assert ordered == pytest.approx(7 * np.log(1 + 4 * 36 / 0.025))
    network = log_covering_network([5, 3, 2], [4.0, 0.5], 2.0, 0.1)
    assert network == pytest.approx(21 * np.log(1 + 2 * 2 * 2 * 2 / 0.1))


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
