"""Draws by the content of a row: the same in any container and at any place, uniform over rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.testing import assert_array_equal
from scipy.sparse import coo_array, csr_matrix
from scipy.stats import binom
from torch.utils.data import TensorDataset

from bands import FALSE_ALARM
from plcp.out_of_core import RowDraws, hash_content

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
    draws, other = RowDraws(rows, 0, "one"), RowDraws(rows, 0, "another")
    pairs = [draws.random(), draws.random(), RowDraws(rows, 1, "one").random(), other.random()]
    assert len(np.unique(pairs[0])) == N
    places = [np.floor(BINS * drawn).astype(int) for drawn in pairs]
    low, high = bands(N, 1 / BINS, BINS * len(places))
    for place in places:
        counts = np.bincount(place, minlength=BINS)
        assert low <= counts.min()
        assert counts.max() <= high
    low, high = bands(N, 1 / BINS, 2 * len(places))
    for place in (*places[1:], np.roll(places[0], 1)):  # nor do neighbours hang together
        assert low <= (place == places[0]).sum() <= high


def test_a_row_alone_draws_as_among_others_in_whatever_holds_it(rng):
    X = rng.integers(-2, 3, size=(60, 3)).astype(float)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
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
        torch.tensor(X),
        TensorDataset(torch.tensor(X)),
        X.reshape(60, 3, 1),
    ):
        assert_array_equal(RowDraws(same, 3, "test").random((60, 2)), expected)
    order = rng.permutation(60)
    assert_array_equal(RowDraws(X[order], 3, "test").random((60, 2)), expected[order])
    alone = [RowDraws(X[i : i + 1], 3, "test").random((1, 2))[0] for i in range(60)]
    assert_array_equal(alone, expected)


def test_equal_values_are_one_row_and_single_precision_is_another_number():
    zeros = hash_content(np.array([[0.0, np.nan], [-0.0, -np.nan]]))
    assert zeros[0] == zeros[1] == hash_content(pd.DataFrame({"a": [0], "b": [None]}))[0]
    assert hash_content(np.array([[0.5]])) == hash_content(np.array([[0.5]], dtype=np.float32))
    assert hash_content(np.array([[0.1]])) != hash_content(np.array([[0.1]], dtype=np.float32))


def test_explicit_zeros_and_repeated_places_of_a_sparse_matrix_count_as_what_they_are():
    values, places = np.array([1.0, 2.0, 0.0]), (np.array([0, 0, 1]), np.array([1, 1, 0]))
    assert_array_equal(
        hash_content(coo_array((values, places), shape=(3, 2))),
        hash_content(np.array([[0.0, 3.0], [0.0, 0.0], [0.0, 0.0]])),
    )


def test_laws_of_counts_and_of_normal_draws():
    n, trials, p = 5000, 12, np.array([0.2, 0.5, 0.3])
    draws = RowDraws(np.arange(n), 0, "test")
    counts = draws.multinomial(trials, np.tile(p, (n, 1)))
    assert_array_equal(counts.sum(axis=1), trials)
    normal = draws.standard_normal((n, 2))
    low, high = bands(n * trials, p, 5)
    assert ((low <= counts.sum(axis=0)) & (counts.sum(axis=0) <= high)).all()
    low, high = bands(n, 0.5, 5)
    assert ((low <= (normal > 0).sum(axis=0)) & ((normal > 0).sum(axis=0) <= high)).all()


def test_sizes_begin_with_the_rows():
    with pytest.raises(ValueError, match=r"begin with the number of rows, 3, got 2"):
        RowDraws(np.arange(3), 0, "test").random(2)
