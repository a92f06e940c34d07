"""Covering numbers: parameters moved as far as the net allows move memberships by at most ε."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import softmax

from plcp.theory import log_covering_network, log_covering_ordered, log_covering_softmax
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


def test_softmax_attains_its_lipschitz_constant():
    step = 1e-6
    here, there = softmax([[step, -step], [0.0, 0.0]], axis=1)
    assert np.abs(here - there).sum() / step == pytest.approx(1.0)


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


def test_a_net_of_one_parameter_has_enough_points():
    """m = d = 1: an interval of length 2 R covered by intervals of length 2 ε / B."""
    needed = np.ceil(RADIUS * BOUND / EPSILON)
    assert np.exp(log_covering_softmax(1, 1, RADIUS, BOUND, EPSILON)) >= needed


@pytest.mark.parametrize(
    "log_covering",
    [
        lambda m, epsilon: log_covering_softmax(m, 5, RADIUS, BOUND, epsilon),
        lambda m, epsilon: log_covering_ordered(m, 5, RADIUS, BOUND, epsilon, 0.5),
        lambda m, epsilon: log_covering_network([5, 3, m], [2.0, 1.0], BOUND, epsilon),
    ],
)
def test_finer_nets_of_more_groups_are_larger(log_covering):
    assert log_covering(4, 0.1) < log_covering(5, 0.1)
    assert log_covering(4, 0.1) < log_covering(4, 0.01)
    assert log_covering(4, 1e300) == pytest.approx(0)


def test_closed_forms():
    assert log_covering_softmax([2, 3], 5, 3.0, 2.0, 0.1) == pytest.approx(
        [10 * np.log(121), 15 * np.log(121)]
    )
    ordered = log_covering_ordered(2, 5, 3.0, 2.0, 0.1, 0.5)
    assert ordered == pytest.approx(7 * np.log(1 + 4 * 36 / 0.025))
    network = log_covering_network([5, 3, 2], [4.0, 0.5], 2.0, 0.1)
    assert network == pytest.approx(21 * np.log(1 + 2 * 2 * 2 * 2 / 0.1))


def test_ordered_partitions_need_fewer_than_softmax_ones_where_features_are_many():
    ordered = log_covering_ordered(8, 100, RADIUS, BOUND, 1e-3, width=1.0)
    assert ordered < log_covering_softmax(8, 100, RADIUS, BOUND, 1e-3) / 3
