"""Draws of equal rows: the first is told by its content, the others by their block too."""

import numpy as np
from numpy.testing import assert_array_equal

from bands import binomial_band
from plcp.out_of_core import hash_rows
from plcp.out_of_core.samples import draws, in_hash_order


def numbers(values, seed=0):
    X = np.array(values, dtype=float)[:, None]
    return draws(X, np.zeros(len(X)), seed)


def test_copies_have_draws_of_their_block():
    """Or else all blocks would draw the second copy of a row, or none."""
    one, other = numbers([1, 1, 2]), numbers([1, 1, 3])
    assert one[0] == other[0]
    assert one[1] != other[1]
    assert len({*one, *other}) == 5  # the first copy is the same in both, and nothing else


def test_copies_in_many_blocks_are_drawn_as_often_as_they_should():
    """Half of the second copies of one row, one in each of many blocks."""
    second = np.array([numbers([1, 1, 2 + block])[1] for block in range(400)])
    low, high = binomial_band(400, 0.5)
    assert low <= (second < 0.5).sum() <= high


def test_the_order_of_rows_is_that_of_the_hashes_of_the_seed():
    rng = np.random.default_rng(0)
    X, scores = rng.normal(size=(50, 2)), rng.normal(size=50)
    orders = []
    for seed in (0, 1):
        order = np.argsort(hash_rows(X, scores, seed))
        assert_array_equal(in_hash_order(X, scores, seed)[0], X[order])
        orders.append(order.tolist())
    assert orders[0] != orders[1]
