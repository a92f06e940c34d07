"""Kernel sums by boxes, against the sum over all pairs."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plcp.metrics.dependence import NODES, box_sums, direct_sums, kernel_error, kernel_sums

EPS = np.finfo(float).eps

POINTS = {
    "one box": lambda rng: rng.uniform(size=600),
    "some boxes": lambda rng: rng.gamma(2, 5, size=600),
    "box ends": lambda rng: np.arange(600) / 8,
    "all far apart": lambda rng: rng.uniform(0, 1e6, 600),
    "two clusters": lambda rng: rng.uniform(size=600) + 1e9 * (np.arange(600) % 2),
    "no digits left": lambda rng: 2.0**53 + 2 * np.arange(600),
    "beyond whole numbers": lambda rng: 10 ** rng.uniform(0, 100, 600),
}


@pytest.mark.parametrize("kind", POINTS)
@pytest.mark.parametrize("power", [1, 2])
def test_boxes_are_as_near_as_they_promise(rng, kind, power):
    points = np.unique(POINTS[kind](rng))
    weights = rng.integers(-9, 10, (len(points), 2)).astype(float)
    error = np.abs(box_sums(points, weights, power) - direct_sums(points, weights, power))
    # the square is 1 - 2 k + k², and k² is a kernel of √2 times the frequency
    promised = (
        kernel_error() if power == 1 else 2 * kernel_error() + 2 ** (NODES / 2) * kernel_error()
    )
    # rounding: of the sums over points and over the nodes of both boxes
    rounding = EPS * (np.sqrt(len(points)) + NODES**2 / 4)
    assert (error <= (promised + rounding) * np.abs(weights).sum(axis=0)).all()


def test_what_is_promised_is_less_than_rounding_of_a_sum_of_five():
    assert kernel_error() < 5 * EPS


def test_boxes_keep_the_digits_of_close_points(rng):
    points = np.unique(1 + 1e-7 * rng.uniform(size=600))
    weights = np.where(np.arange(len(points)) % 2, 3.0, 1.0)[:, None]
    boxes, direct = box_sums(points, weights, 1), direct_sums(points, weights, 1)
    # 1 + 1e-7 u has 29 binary digits of u: all distances are exact, all terms of one sign
    np.testing.assert_allclose(boxes, direct, rtol=EPS * NODES**2)
    assert (direct < 0).all()


def test_many_blocks_of_boxes_are_one_sum(rng, monkeypatch):
    points, weights = np.unique(rng.uniform(0, 500, 900)), rng.normal(size=(900, 1))
    whole = box_sums(points, weights, 1)
    monkeypatch.setattr("plcp.metrics.dependence.BOXES_AT_ONCE", 7)
    np.testing.assert_allclose(
        box_sums(points, weights, 1), whole, atol=EPS * np.abs(weights).sum()
    )


def test_few_points_are_summed_directly(rng):
    points, weights = np.arange(40.0), rng.normal(size=(40, 3))
    kernel = np.exp(-((points[:, None] - points) ** 2)) - 1
    np.testing.assert_allclose(kernel_sums(points, weights), kernel @ weights, atol=40 * EPS * 3)
    assert_array_equal(kernel_sums(points, weights), direct_sums(points, weights, 1))


def test_more_points_go_by_boxes(rng):
    points, weights = np.arange(5001.0), rng.normal(size=(5001, 1))
    assert_array_equal(kernel_sums(points, weights), box_sums(points, weights, 1))
