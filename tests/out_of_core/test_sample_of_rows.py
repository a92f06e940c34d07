"""A sample by content: the same rows however they are cut, and each kind of row in its share."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from bands import binomial_band
from plcp.out_of_core import Held
from plcp.out_of_core.samples import (
    drawn,
    draws,
    in_hash_order,
    joined,
    largest_draw,
    look_at,
    not_drawn,
)
from strategies import few


def in_blocks(X, scores, cuts):
    return Held(zip(np.split(X, cuts), np.split(scores, cuts), strict=True))


def sample(X, scores, cuts, size, seed=0):
    """Drawn rows in their order, and the others."""
    blocks = in_blocks(X, scores, cuts)
    look, numbers = look_at(blocks, seed)
    choice = seed, largest_draw(numbers, size, look.n)
    inside, outside = (joined(blocks.keep(f, *choice).blocks) for f in (drawn, not_drawn))
    return in_hash_order(*inside), in_hash_order(*outside)


@few
@given(st.integers(1, 80), st.data())
def test_the_same_rows_are_drawn_however_they_are_cut_and_ordered(n, data):
    rng = np.random.default_rng(n)
    X, scores = rng.normal(size=(n, 2)), rng.normal(size=n)
    size = data.draw(st.integers(1, n))
    expected = sample(X, scores, [], size)
    assert len(expected[0][1]) == size
    assert len(expected[1][1]) == n - size
    cuts = data.draw(st.lists(st.integers(0, n), max_size=4).map(sorted))
    order = np.array(data.draw(st.permutations(range(n))))
    for found, wanted in zip(sample(X[order], scores[order], cuts, size), expected, strict=True):
        assert_array_equal(found[0], wanted[0])
        assert_array_equal(found[1], wanted[1])


def test_copies_of_a_row_are_drawn_as_often_as_other_rows():
    X = np.repeat([[0.0], [1.0]], [9_000, 1_000], axis=0)
    inside, _ = sample(X, np.zeros(10_000), [2_500, 5_000], 2_000)
    low, high = binomial_band(2_000, 0.9)
    assert low <= (inside[0] == 0).sum() <= high


def test_draws_are_uniform_and_of_the_seed(rng):
    X, scores = rng.normal(size=(10_000, 1)), np.zeros(10_000)
    one, other = draws(X, scores, 0), draws(X, scores, 1)
    for numbers in (one, other):
        assert 0 <= numbers.min() <= numbers.max() < 1
        low, high = binomial_band(10_000, 0.25)
        assert low <= (numbers < 0.25).sum() <= high
    both = ((one < 0.5) & (other < 0.5)).sum()
    low, high = binomial_band(10_000, 0.25)
    assert low <= both <= high


def test_joined_frames_keep_their_columns():
    part = pd.DataFrame({"a": [1.0], "b": ["x"]})
    X, scores = joined([(part[:0], np.empty(0)), (part, np.ones(1)), (part, np.zeros(1))])
    assert list(X.columns) == ["a", "b"]
    assert list(X.index) == [0, 1]
    assert_array_equal(scores, [1, 0])


def test_categories_that_differ_between_parts_are_joined_to_all_of_them():
    parts = [
        pd.DataFrame({"c": pd.Categorical(values, [*known])})
        for values, known in ((["b", "a"], "ba"), (["a", None], "ac"), (["d"], "d"))
    ]
    for order in (parts, parts[::-1]):
        X, _ = joined([(part, np.zeros(len(part))) for part in order])
        assert list(X["c"].cat.categories) == ["a", "b", "c", "d"]
        values = [value for part in order for value in part["c"]]
        pd.testing.assert_series_equal(X["c"], pd.Series(values, dtype=X["c"].dtype, name="c"))
    turned = [pd.DataFrame({"c": pd.Categorical(["a"], [*known])}) for known in ("ba", "ab")]
    assert list(joined([(part, np.zeros(1)) for part in turned])[0]["c"].cat.categories) == [
        "a",
        "b",
    ]
    same = pd.DataFrame({"c": pd.Categorical(["b"], categories=["b", "a"], ordered=True)})
    X, _ = joined([(same, np.zeros(1))] * 2)
    assert X["c"].dtype == same["c"].dtype
    mixed = [pd.DataFrame({"c": pd.Categorical([value])}) for value in (2, "a", 1)]
    assert list(joined([(part, np.zeros(1)) for part in mixed])[0]["c"]) == [2, "a", 1]


def test_nothing_joined_is_nothing():
    X, scores = joined([(np.empty((0, 2)), np.empty(0))] * 2)
    assert X.shape == (0, 2)
    assert len(scores) == 0


def test_one_look_counts_rows_and_finds_the_least_score():
    X, scores = np.zeros((5, 1)), np.array([3.0, -1.0, 2.0, 5.0, 4.0])
    look, numbers = look_at(in_blocks(X, scores, [0, 2]), 0)
    assert (look.n, look.least) == (5, -1.0)
    assert largest_draw(numbers, 5, 5) == 1.0


def test_a_sample_of_no_rows_is_refused():
    _, numbers = look_at(in_blocks(np.zeros((5, 1)), np.arange(5.0), [2]), 0)
    with pytest.raises(ValueError, match="size must be a whole number, at least 1, got 0"):
        largest_draw(numbers, 0, 5)


def test_a_look_tells_which_rows_are_drawn_together(monkeypatch):
    """Those in several blocks, whatever the order in which blocks are added up."""
    monkeypatch.setattr("plcp.out_of_core.samples.LEAST_DRAWS", 40)
    X = np.arange(100.0)[:, None]
    rows = [X[:50], X[40:70], X[65:], X[:5], X[:0]]
    looks = [look_at(Held([(part, np.zeros(len(part)))]), 0)[0] for part in rows]
    times = np.bincount(np.concatenate(rows).ravel().astype(int))
    least = np.argsort(draws(X, np.zeros(100), 0))[:40]
    for order in ([0, 1, 2, 3, 4], [4, 2, 3, 1, 0]):
        look = sum((looks[i] for i in order[1:]), start=looks[order[0]])
        assert_array_equal(look.parts, times[least])
        assert look.together == times[least][times[least] > 1].sum() / times[least].sum()
    assert {0.0} == {look.together for look in looks}
