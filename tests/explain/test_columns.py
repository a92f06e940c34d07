"""Cuts part rows evenly, and rounder than the quantiles they stand near."""

import numpy as np
import pytest

from plcp.explain.columns import SLACK, Column


@pytest.mark.parametrize("most", [4, 9, 255])
def test_cuts_are_near_their_quantiles(rng, most):
    x = rng.lognormal(size=20_000)
    column = Column(0, None, x[:, None])
    cuts = column.cuts(x, most)
    assert len(cuts) == most
    shares = np.array([(x < cut).mean() for cut in cuts])
    even = np.arange(1, most + 1) / (most + 1)
    assert np.abs(shares - even).max() <= SLACK / (most + 1) + 1 / len(x)


def test_few_values_are_parted_one_by_one(rng):
    x = rng.choice([1.0, 2.5, 7.0, np.nan], 500)
    cuts = Column(0, None, x[:, None]).cuts(x)
    assert np.searchsorted(cuts, [1.0, 2.5, 7.0], side="right").tolist() == [0, 1, 2]


def test_ranges_in_words():
    whole = Column(0, None, np.array([[1.0], [2.0]]))
    assert whole.words(23, None) == "x0 ≥ 23"
    assert whole.words(None, 23) == "x0 ≤ 22"
    assert whole.words(20, 23) == "20 ≤ x0 ≤ 22"
    assert whole.words(22, 23) == "x0 = 22"
    broken = Column(0, None, np.array([[1.5], [2.0]]))
    assert broken.words(20, 23) == "20 ≤ x0 < 23"
    assert broken.words(None, 0.5) == "x0 < 0.5"


def test_values_that_are_told_keep_their_year():
    column = Column(0, None, np.zeros((1, 1)))
    told = [column.rounded(value) for value in (2018.4, 54321.0, 41.26, 0.012345, -3.0)]
    assert told == ["2018", "54321", "41.3", "0.0123", "-3"]
