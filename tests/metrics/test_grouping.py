"""Groups in every form that they may be given in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from plcp import PLCP
from plcp.datasets import make_toy
from plcp.metrics import column_groups
from plcp.metrics.groups import BLOCK, as_grouping
from strategies import few

KINDS = [np.int8, np.uint8, np.int64, np.uint64, float, "U4", object, bool]


def masks_of(grouping):
    """Boolean matrix of who is where."""
    masks = np.zeros((grouping.n_rows, len(grouping)), dtype=bool)
    rows = np.arange(grouping.n_rows) if grouping.rows is None else grouping.rows
    masks[rows, grouping.codes] = True
    return masks


@few
@given(st.sampled_from(KINDS), st.lists(st.sampled_from([0, 1, 3, 5, 90, 127]), min_size=1))
def test_labels_are_numbered_as_unique_does(kind, values):
    labels = np.array(values).astype(kind)
    grouping = as_grouping(labels, len(labels))
    names, codes = np.unique(labels, return_inverse=True)
    assert_array_equal(grouping.names, names)
    assert grouping.names.dtype == names.dtype
    assert_array_equal(grouping.codes, codes)
    assert grouping.is_disjoint


def test_small_numbers_may_be_negative_and_as_far_apart_as_their_type_lets_them():
    labels = np.arange(-128, 128).astype(np.int8)
    grouping = as_grouping(labels, 256)
    assert_array_equal(grouping.names, labels)
    assert_array_equal(grouping.codes, np.arange(256))


def test_a_group_that_shows_late_is_found():
    labels = np.zeros(BLOCK + 3, dtype=int)
    labels[-1] = 2
    assert as_grouping(labels, len(labels)).names.tolist() == [0, 2]


@pytest.mark.parametrize(
    "form", [np.array, csr_array, np.ndarray.tolist, lambda m: m.astype(float)]
)
def test_a_matrix_may_overlap_and_leave_rows_out(form):
    masks = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=bool)
    grouping = as_grouping(form(masks), 4)
    assert_array_equal(masks_of(grouping), masks)
    assert grouping.names.tolist() == [0, 1, 2]
    assert not grouping.is_disjoint
    assert as_grouping(masks[:, :1], 4).is_disjoint


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict])
def test_names_come_with_the_masks(frame):
    masks = {"old": [True, False, True], "rich": [True, False, False]}
    grouping = as_grouping(frame(masks), 3)
    assert grouping.names.tolist() == ["old", "rich"]
    assert_array_equal(masks_of(grouping), np.column_stack(list(masks.values())))


@pytest.mark.parametrize("series", [pd.Series, pl.Series, list])
def test_labels_may_be_a_series(series):
    grouping = as_grouping(series(["b", "a", "b"]), 3)
    assert grouping.names.tolist() == ["a", "b"]
    assert grouping.codes.tolist() == [1, 0, 1]


GAPPED = {
    "text": pd.Series(["b", None, "a", "b", float("nan")], dtype=object),
    "floats": np.array([2.0, np.nan, 1.0, 2.0, np.nan]),
    "nullable": pd.Series([2, None, 1, 2, None], dtype="Int64"),
    "categories": pd.Series(["b", None, "a", "b", None], dtype="category"),
    "dates": pd.to_datetime(pd.Series(["2024-02-01", None, "2024-01-01", "2024-02-01", None])),
    "polars": pl.Series(["b", None, "a", "b", None]),
}


@pytest.mark.parametrize("labels", GAPPED.values(), ids=GAPPED)
def test_rows_without_a_label_are_the_last_group(labels):
    grouping = as_grouping(labels, 5)
    assert grouping.codes.tolist() == [1, 2, 0, 1, 2]
    assert grouping.names.tolist()[2] == "missing"
    without = as_grouping(np.asarray(labels)[[0, 2, 3]], 3)
    assert grouping.names.tolist()[:2] == without.names.tolist()


def test_labels_that_are_all_missing_are_one_group():
    assert as_grouping([None, None], 2).names.tolist() == ["missing"]
    assert as_grouping([None, "missing"], 2).codes.tolist() == [0, 0]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_give_one_group_a_value(frame):
    people = frame({"sex": ["f", "m", "f"], "region": [1, 2, 2], "age": [30, 70, 80]})
    grouping = column_groups(people, ["sex", "region"])
    assert grouping.names.tolist() == ["sex=f", "sex=m", "region=1", "region=2"]
    assert_array_equal(masks_of(grouping).sum(axis=0), [2, 1, 1, 2])


def test_a_learned_partition_gives_labels():
    task = make_toy(300, random_state=0)
    rule = PLCP(n_groups=2, random_state=0).fit(task.X, task.scores)
    grouping = as_grouping(rule.groups(task.X), 300)
    assert_array_equal(grouping.names[grouping.codes], rule.groups(task.X))


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_several_blocks_are_those_of_each_mask(rng, overlap, weighted):
    n = 2 * BLOCK + 7
    groups = rng.random((n, 3)) < 0.4 if overlap else rng.integers(0, 3, n)
    grouping = as_grouping(groups, n)
    values, covered = rng.normal(size=n), rng.random(n) < 0.9
    weights = rng.integers(0, 4, n).astype(float) if weighted else None
    counts = np.ones(n) if weights is None else weights
    centres = rng.normal(size=3)
    members, hits = grouping.tally(covered, weights)
    sums = grouping.sums(values, weights)
    squares = grouping.square_sums(values, centres, weights)
    for g, mask in enumerate(masks_of(grouping).T):
        assert members[g] == counts[mask].sum()
        assert hits[g] == counts[mask & covered].sum()
        # the rounding of a sum is at most that of each term, n times
        slack = 4 * n * np.finfo(float).eps
        terms = (counts * values)[mask]
        assert_allclose(sums[g], terms.sum(), rtol=0, atol=slack * np.abs(terms).sum())
        expected = (counts * (values - centres[g]) ** 2)[mask].sum()
        assert_allclose(squares[g], expected, rtol=slack)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "b"], r"groups must have shape \(3,\) or \(3, k\), got \(2,\)"),
        ("abc", r"got \(\)"),
        (np.array([1, "a", 2], dtype=object), "labels of several types"),
        ([[True], [False]], "each of 3 rows"),
        (np.zeros((3, 0), dtype=bool), "at least one group"),
        ([[0], [1], [2]], "must be True or False, got .*2.* at row 2"),
        ({}, "names no group"),
        ({"old": [True]}, r"the mask of group 'old' must have shape \(3,\), got \(1,\)"),
        ({"old": [0, 1, 5]}, "must be True or False, got .*5.* at row 2"),
        ({"1": [1, 1, 0], 1: [0, 0, 1]}, "several groups are named 1: rename them"),
        (as_grouping([1, 2], 2), "groups are of 2 rows, but covered has 3"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        as_grouping(groups, 3)


def test_a_number_is_to_be_cut_into_bins(rng):
    with pytest.raises(ValueError, match=r"2000 different numbers.*quantile_bins"):
        as_grouping(rng.random(2000), 2000)
