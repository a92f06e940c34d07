"""Random numbers and samples by the content of rows: the same in any container, order and block."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import coo_array, csr_matrix
from scipy.stats import binom
from torch.utils.data import TensorDataset

from bands import FALSE_ALARM, binomial_band
from plcp.out_of_core import Held, RowDraws
from plcp.out_of_core.samples import (
    concatenate_blocks,
    draws,
    in_hash_order,
    largest_draw,
    not_sampled,
    sampled,
    summarise,
)
from strategies import few

# --- streams of random numbers

N, BINS = 50_000, 32

ROWS = {  # that differ, but as little as rows may
    "whole numbers": np.arange(N)[:, None],
    "neighbouring floats": 1 + np.arange(N)[:, None] * np.finfo(float).eps,
    "one of many columns": np.hstack([np.ones((N, 20)), np.arange(N)[:, None]]),
    "a grid": np.stack(np.divmod(np.arange(N), 224), axis=1),
    "text": np.array([f"row {i}" for i in range(N)], dtype=object)[:, None],
    "images of bits": np.unpackbits(
        np.arange(N, dtype=">u2")[:, None].view(np.uint8), axis=1
    ).reshape(N, 4, 4),
}


def bands(n, p, tests):
    """Interval that any of ``tests`` binomial counts misses with probability FALSE_ALARM."""
    share = FALSE_ALARM / tests / 2
    return binom.ppf(share, n, p), binom.isf(share, n, p)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_draws_are_uniform_over_rows_that_differ_and_independent_of_other_streams(rows):
    stream, other = RowDraws(rows, 0, "one"), RowDraws(rows, 0, "another")
    pairs = [stream.random(), stream.random(), RowDraws(rows, 1, "one").random(), other.random()]
    assert len(np.unique(pairs[0])) == N
    places = [np.floor(BINS * drawn).astype(int) for drawn in pairs]
    low, high = bands(N, 1 / BINS, BINS * len(places))
    for place in places:
        counts = np.bincount(place, minlength=BINS)
        assert low <= counts.min()
        assert counts.max() <= high
    low, high = bands(N, 1 / BINS, 2 * len(places))
    for place in (*places[1:], np.roll(places[0], 1)):  # neighbours are independent too
        assert low <= (place == places[0]).sum() <= high


def test_a_row_alone_draws_as_among_others_in_any_container(rng):
    X = rng.integers(-2, 3, size=(60, 3)).astype(float)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    halves, places = np.tile(X.ravel() / 2, 2), np.tile(np.indices(X.shape).reshape(2, -1), 2)
    expected = RowDraws(X, 3, "test").random((60, 2))
    for same in (
        X.tolist(),
        np.asfortranarray(X),
        X.astype(np.float32),
        X.astype(int),
        -X * -1.0,
        X.astype(object),
        frame,
        frame.astype({"a": "Int64", "b": "float32"}),
        pl.from_pandas(frame),
        csr_matrix(X),
        coo_array(X),
        coo_array((halves, places), shape=X.shape),  # explicit zeros, and places given twice
        torch.tensor(X),
        TensorDataset(torch.tensor(X)),
        X.reshape(60, 3, 1),
    ):
        assert_array_equal(RowDraws(same, 3, "test").random((60, 2)), expected)
    order = rng.permutation(60)
    assert_array_equal(RowDraws(X[order], 3, "test").random((60, 2)), expected[order])
    alone = [RowDraws(X[i : i + 1], 3, "test").random((1, 2))[0] for i in range(60)]
    assert_array_equal(alone, expected)


def test_laws_of_counts_and_of_normal_draws():
    n, trials, p = 5000, 12, np.array([0.2, 0.5, 0.3])
    stream = RowDraws(np.arange(n), 0, "test")
    counts = stream.multinomial(trials, np.tile(p, (n, 1)))
    assert_array_equal(counts.sum(axis=1), trials)
    normal = stream.standard_normal((n, 2))
    low, high = bands(n * trials, p, 5)
    assert ((low <= counts.sum(axis=0)) & (counts.sum(axis=0) <= high)).all()
    low, high = bands(n, 0.5, 5)
    assert ((low <= (normal > 0).sum(axis=0)) & ((normal > 0).sum(axis=0) <= high)).all()


def test_sizes_begin_with_the_rows():
    with pytest.raises(ValueError, match=r"begin with the number of rows, 3, got 2"):
        RowDraws(np.arange(3), 0, "test").random(2)


# --- samples


def in_blocks(X, scores, cuts):
    return Held(zip(np.split(X, cuts), np.split(scores, cuts), strict=True))


def sample(X, scores, cuts, size, seed=0):
    """Sampled rows in their order, and the others."""
    blocks = in_blocks(X, scores, cuts)
    summary, kept = summarise(blocks, seed)
    choice = seed, largest_draw(kept, size, summary.n)
    inside, outside = (
        concatenate_blocks(blocks.keep(f, *choice).blocks) for f in (sampled, not_sampled)
    )
    return in_hash_order(*inside), in_hash_order(*outside)


@few
@given(st.integers(1, 80), st.data())
def test_blocks_and_order_do_not_change_the_sample(n, data):
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


def test_copies_of_a_row_are_sampled_as_often_as_other_rows():
    X = np.repeat([[0.0], [1.0]], [9_000, 1_000], axis=0)
    inside, _ = sample(X, np.zeros(10_000), [2_500, 5_000], 2_000)
    low, high = binomial_band(2_000, 0.9)
    assert low <= (inside[0] == 0).sum() <= high


def test_draws_are_uniform_and_depend_on_the_seed(rng):
    X, scores = rng.normal(size=(10_000, 1)), np.zeros(10_000)
    one, other = draws(X, scores, 0), draws(X, scores, 1)
    for drawn in (one, other):
        assert 0 <= drawn.min() <= drawn.max() < 1
        low, high = binomial_band(10_000, 0.25)
        assert low <= (drawn < 0.25).sum() <= high
    both = ((one < 0.5) & (other < 0.5)).sum()
    low, high = binomial_band(10_000, 0.25)
    assert low <= both <= high


def test_concatenated_frames_keep_their_columns():
    part = pd.DataFrame({"a": [1.0], "b": ["x"]})
    blocks = [(part[:0], np.empty(0)), (part, np.ones(1)), (part, np.zeros(1))]
    X, scores = concatenate_blocks(blocks)
    pd.testing.assert_frame_equal(X, pd.concat([part, part], ignore_index=True))
    assert_array_equal(scores, [1, 0])
    assert concatenate_blocks([blocks[0]] * 2)[0].shape == (0, 2)


def with_categories(*parts):
    """Column of blocks with these values and categories, concatenated."""
    frames = [pd.DataFrame({"c": pd.Categorical(values, known)}) for values, known in parts]
    return concatenate_blocks([(frame, np.zeros(len(frame))) for frame in frames])[0]["c"]


def test_categories_that_differ_between_blocks_are_united():
    parts = [(["b", "a"], ["b", "a"]), (["a", None], ["a", "c"]), (["d"], ["d"])]
    for order in (parts, parts[::-1]):
        found = with_categories(*order)
        assert list(found.cat.categories) == ["a", "b", "c", "d"]
        values = [value for part, _ in order for value in part]
        pd.testing.assert_series_equal(found, pd.Series(values, dtype=found.dtype, name="c"))
    turned = with_categories((["a"], ["b", "a"]), (["a"], ["a", "b"]))
    assert list(turned.cat.categories) == ["a", "b"]
    same = with_categories((["b"], ["b", "a"]), (["a"], ["b", "a"]))
    assert list(same.cat.categories) == ["b", "a"]
    assert list(with_categories(([2], [2]), (["a"], ["a"]), ([1], [1]))) == [2, "a", 1]


def test_a_summary_counts_rows_and_finds_the_least_score():
    X, scores = np.zeros((5, 1)), np.array([3.0, -1.0, 2.0, 5.0, 4.0])
    summary, kept = summarise(in_blocks(X, scores, [0, 2]), 0)
    assert (summary.n, summary.least) == (5, -1.0)
    assert largest_draw(kept, 5, 5) == 1.0


def test_a_summary_counts_rows_that_are_sampled_together(monkeypatch):
    """Those in several blocks, in whatever order summaries are added."""
    monkeypatch.setattr("plcp.out_of_core.samples.LEAST_DRAWS", 40)
    X = np.arange(100.0)[:, None]
    parts = [X[:50], X[40:70], X[65:], X[:5], X[:0]]
    summaries = [summarise(Held([(part, np.zeros(len(part)))]), 0)[0] for part in parts]
    times = np.bincount(np.concatenate(parts).ravel().astype(int))
    least = np.argsort(draws(X, np.zeros(100), 0))[:40]
    for order in ([0, 1, 2, 3, 4], [4, 2, 3, 1, 0]):
        summary = sum((summaries[i] for i in order[1:]), start=summaries[order[0]])
        assert_array_equal(summary.parts, times[least])
        assert summary.shared == times[least][times[least] > 1].sum() / times[least].sum()
    assert {0.0} == {summary.shared for summary in summaries}


# --- copies of rows


def numbers(values, seed=0):
    X = np.array(values, dtype=float)[:, None]
    return draws(X, np.zeros(len(X)), seed)


def test_later_copies_have_draws_of_their_block():
    """Or else all blocks would draw the second copy of a row, or none."""
    one, other = numbers([1, 1, 2]), numbers([1, 1, 3])
    assert one[0] == other[0]
    assert one[1] != other[1]
    assert len({*one, *other}) == 5  # the first copy is the same in both, and nothing else


def test_copies_in_many_blocks_are_sampled_in_their_share():
    """Half of the second copies of one row, one in each of many blocks."""
    second = np.array([numbers([1, 1, 2 + block])[1] for block in range(400)])
    low, high = binomial_band(400, 0.5)
    assert low <= (second < 0.5).sum() <= high
