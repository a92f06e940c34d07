"""Hashes tell rows apart by what stands in them, and scatter them evenly."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2

from plcp.out_of_core import hash_rows

FALSE_ALARM = 1e-6


def test_a_row_has_the_same_hash_wherever_it_stands(rng):
    X, scores = rng.normal(size=(20_000, 3)), rng.normal(size=20_000)
    order = rng.permutation(20_000)
    hashes = hash_rows(X, scores, 7)
    assert_array_equal(hash_rows(X[order], scores[order], 7), hashes[order])
    assert_array_equal(hash_rows(np.asfortranarray(X), scores, 7), hashes)
    alone = [hash_rows(X[i : i + 1], scores[i : i + 1], 7)[0] for i in range(50)]
    assert_array_equal(alone, hashes[:50])


def test_any_change_changes_the_hash(rng):
    X, scores = rng.normal(size=(100, 3)), rng.normal(size=100)
    hashes = hash_rows(X, scores)
    assert len(set(hashes)) == 100
    others = [
        hash_rows(X[:, ::-1], scores),
        hash_rows(np.nextafter(X, np.inf), scores),
        hash_rows(X, np.nextafter(scores, np.inf)),
        hash_rows(X, scores, seed=1),
    ]
    for other in others:
        assert not np.isin(other, hashes).any()


@pytest.mark.parametrize("X", [np.arange(20_000.0)[:, None], np.zeros((20_000, 2))])
def test_hashes_fall_evenly_into_every_few_bits(X):
    """Pearson's statistic of uniform cells is χ² with one degree of freedom less than cells."""
    hashes = hash_rows(X, np.arange(20_000.0))
    for shift in range(0, 64, 4):
        counts = np.bincount(((hashes >> np.uint64(shift)) & np.uint64(15)).astype(int))
        statistic = ((counts - 1250) ** 2 / 1250).sum()
        assert chi2.ppf(FALSE_ALARM, 15) < statistic < chi2.isf(FALSE_ALARM, 15)
