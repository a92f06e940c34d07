"""Bins of a number: even where they can be, ties together, weights as copies."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from plcp.metrics import cut_bins, quantile_bins
from plcp.metrics.groups import count_quantiles
from strategies import few, scores_with_counts


@few
@given(st.integers(1, 60), st.integers(1, 12))
def test_distinct_values_fall_evenly(n, n_bins):
    bins = quantile_bins(np.arange(n)[::-1], n_bins)
    members = np.bincount(bins.codes, minlength=len(bins))
    assert len(bins) == min(n, n_bins)
    assert members.max() - members.min() <= 1
    assert members.min() >= 1


@few
@given(scores_with_counts(), st.integers(1, 6))
def test_ties_stay_together_and_bins_are_in_order(drawn, n_bins):
    values, _ = drawn
    bins = quantile_bins(values, n_bins)
    assert (np.diff(bins.codes[np.argsort(values, kind="stable")]) >= 0).all()
    for value in values:
        assert len(np.unique(bins.codes[values == value])) == 1
    assert len(np.unique(bins.codes)) == len(bins)


@few
@given(scores_with_counts(), st.integers(1, 6), st.randoms())
def test_weights_are_copies(drawn, n_bins, random):
    values, counts = drawn
    copies = np.repeat(values, counts)
    random.shuffle(copies)
    weighted = quantile_bins(values, n_bins, sample_weight=counts)
    copied = quantile_bins(copies, n_bins)
    assert_array_equal(weighted.names, copied.names)
    assert weighted.codes.max() < len(weighted)  # those of rows that do not count too
    for value in copies:
        assert weighted.codes[values == value][0] == copied.codes[copies == value][0]


def test_a_quantile_is_the_smallest_value_that_reaches_its_share():
    values = np.array([5.0, 1.0, 1.0, 3.0, 2.0, 9.0, 4.0])
    parts = np.arange(11)
    expected = [
        min(v for v in values if 10 * (values <= v).sum() >= part * len(values)) for part in parts
    ]
    assert_array_equal(count_quantiles(values, parts, 10, None), expected)
    assert_array_equal(count_quantiles(values, parts, 10, np.ones(7)), expected)


def test_names_tell_close_edges_apart():
    names = quantile_bins([1000.01, 1000.02, 1000.03], 3).names
    assert names.tolist() == ["[1000.01, 1000.01]", "(1000.01, 1000.02]", "(1000.02, 1000.03]"]


def test_infinite_values_have_a_bin():
    bins = quantile_bins([1, 2, np.inf, np.inf], 2)
    assert bins.names.tolist() == ["[1, 2]", "(2, inf]"]
    assert bins.codes.tolist() == [0, 0, 1, 1]


def test_edges_belong_to_the_bin_on_their_left():
    bins = cut_bins([0, 1, 1.5, 3, 4], [1, 3])
    assert bins.codes.tolist() == [0, 0, 1, 1, 2]
    assert bins.names.tolist() == ["<= 1", "(1, 3]", "> 3"]


@pytest.mark.parametrize("edges", [[], [2, 1], [1, 1], [1, np.inf], [np.nan], 3.0, [[1, 2]]])
def test_edges_that_do_not_rise_are_refused(edges):
    with pytest.raises(ValueError, match="edges must be finite and rising"):
        cut_bins([1, 2], edges)


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, True])
def test_a_number_of_bins_that_is_none_is_refused(n_bins):
    with pytest.raises(ValueError, match="n_bins must be a whole number"):
        quantile_bins([1, 2], n_bins)


def test_bad_values_are_refused():
    with pytest.raises(ValueError, match="values is empty"):
        quantile_bins([])
    with pytest.raises(ValueError, match="got nan at row 1"):
        quantile_bins([1, np.nan])
    with pytest.raises(ValueError, match=r"values must have shape \(4,\)"):
        cut_bins([[1, 2], [3, 4]], [1])


@pytest.mark.parametrize("series", [pd.Series, lambda v, name: pl.Series(name, v)])
def test_bins_of_a_column_carry_its_name(series):
    ages = series([20, 30, 40, 50], name="age")
    assert quantile_bins(ages, 2).names.tolist() == ["age [20, 30]", "age (30, 50]"]
    assert cut_bins(ages, [30]).names.tolist() == ["age <= 30", "age > 30"]
