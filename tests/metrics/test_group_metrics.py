"""Groups in every form, and coverage, gaps and strata measured in them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import binom

from plcp.metrics import (
    column_groups,
    coverage,
    coverage_by_group,
    coverage_gap,
    cut_bins,
    feature_stratified_coverage,
    mean_size,
    quantile_bins,
    size_stratified_coverage,
)
from plcp.metrics.binomial import clopper_pearson, holm, mean_gap_bounds
from plcp.metrics.groups import BLOCK, as_grouping, count_quantiles
from strategies import few, scores_with_counts

NUMBERS = (
    *("n", "hits", "coverage", "low", "high", "low_all", "high_all"),
    *("size", "size_error", "p_value", "p_holm"),
)


@pytest.fixture
def rows(rng):
    return rng.random(90) < 0.8, rng.exponential(size=90), rng.random((90, 3)) < [0.5, 0.3, 0.7]


def test_each_group_is_measured_as_if_it_were_alone(rows):
    covered, size, masks = rows
    table = coverage_by_group(covered, masks, size)
    for g, mask in enumerate(masks.T):
        alone, length = coverage(covered[mask]), mean_size(size[mask])
        assert (table.n[g], table.hits[g]) == (mask.sum(), covered[mask].sum())
        assert_allclose(
            [table.coverage[g], table.low[g], table.high[g]],
            [alone.estimate, alone.low, alone.high],
        )
        assert_allclose(
            [table.size[g], table.size_error[g]], [length.estimate, length.standard_error]
        )


def test_bounds_for_all_share_the_error_among_the_groups_that_hold_a_row(rows):
    covered, size, masks = rows
    with_empty = np.column_stack([masks, np.zeros(90, dtype=bool)])
    table = coverage_by_group(covered, with_empty, size, confidence=0.9)
    low, high = clopper_pearson(table.hits[:3], table.n[:3], 1 - 0.1 / 3)
    assert_allclose(table.low_all[:3], low)
    assert_allclose(table.high_all[:3], high)


def test_tests_are_exact_and_corrected(rows):
    covered, size, masks = rows
    table = coverage_by_group(covered, masks, size, alpha=0.2)
    expected = [
        binom.pmf(np.arange(h + 1), n, 0.8).sum() for h, n in zip(table.hits, table.n, strict=True)
    ]
    assert_allclose(table.p_value, expected)
    assert_allclose(table.p_holm, holm(expected))


def test_a_group_without_rows_is_shown_and_costs_the_others_nothing(rows):
    covered, size, masks = rows
    groups = {"a": masks[:, 0], "empty": np.zeros(90, dtype=bool), "b": masks[:, 1]}
    table = coverage_by_group(covered, groups, size, alpha=0.1)
    without = coverage_by_group(covered, masks[:, :2], size, alpha=0.1)
    assert table.n[1] == table.hits[1] == 0
    assert np.isnan([table.coverage[1], table.size[1], table.size_error[1]]).all()
    assert (table.low[1], table.high[1], table.low_all[1], table.high_all[1]) == (0, 1, 0, 1)
    assert (table.p_value[1], table.p_holm[1]) == (1, 1)
    for column in NUMBERS:
        assert_array_equal(getattr(table, column)[[0, 2]], getattr(without, column))


@few
@given(scores_with_counts(), st.randoms())
def test_weights_are_copies_in_any_order(drawn, random):
    values, counts = drawn
    copies = np.repeat(np.arange(len(values)), counts)
    random.shuffle(copies)
    covered, size = values > 0, values**2
    masks = np.column_stack([values >= -1, values <= 2])
    assume(masks[copies].any())
    weighted = coverage_by_group(covered, masks, size, alpha=0.1, sample_weight=counts)
    copied = coverage_by_group(covered[copies], masks[copies], size[copies], alpha=0.1)
    for column in NUMBERS:
        assert_allclose(getattr(weighted, column), getattr(copied, column))
    assert (weighted.hits <= weighted.n).all()
    assert (weighted.low_all <= weighted.low).all()
    assert (weighted.high <= weighted.high_all).all()


def test_infinite_sizes_stay_in_their_group():
    table = coverage_by_group([1, 1, 1], ["a", "b", "a"], [1.0, np.inf, 3.0])
    assert table.size.tolist() == [2, np.inf]
    assert_allclose(table.size_error, [1, np.nan])
    light = coverage_by_group([1, 1, 1], ["a"] * 3, [1.0, np.inf, 3.0], sample_weight=[1, 0, 1])
    assert light.size.tolist() == [2]


def test_failing_groups_are_those_with_small_corrected_p_values():
    covered = np.r_[np.ones(90), np.zeros(10), np.ones(70), np.zeros(30)]
    table = coverage_by_group(covered, np.repeat(["fine", "bad"], 100), alpha=0.1)
    assert table.failing.tolist() == ["bad"]
    assert len(coverage_by_group(covered, np.repeat([0, 1], 100), alpha=0.4).failing) == 0


def test_it_prints_as_a_table_and_leaves_as_a_frame_or_plain_values(rows):
    covered, size, masks = rows
    table = coverage_by_group(covered, {"a": masks[:, 0], "longer name": masks[:, 1]}, size)
    head, *lines = str(table).splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == ["a", "longer name"]
    assert "Holm" in head
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == [*table.to_dict()][:-2]
    assert table.to_dict()["verdict"] == table.verdict.tolist()
    assert_array_equal(frame["coverage"], table.coverage)
    assert table.to_dict()["p_holm"] == table.p_holm.tolist()
    assert table.to_dict()["alpha"] == 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"covered": []}, "n at least 1"),
        ({"covered": [1, 0, np.nan]}, "got nan at row 2"),
        ({"size": [1, 2]}, r"size must have shape \(3,\), got \(2,\)"),
        ({"size": [1, 2, -3]}, "got -3.0 at row 2"),
        ({"size": [1, np.nan, 3]}, "got nan at row 1"),
        ({"groups": ["a", "b"]}, r"groups must have shape \(3,\)"),
        ({"groups": np.zeros((3, 2), dtype=bool)}, r"no row is in any of the groups \[0, 1\]"),
        ({"alpha": 1.0}, r"alpha must lie in \(0, 1\)"),
        ({"confidence": 0}, r"confidence must lie in \(0, 1\)"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight must be at least 0"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight is 0 in every row"),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = {"covered": [1, 0, 1], "size": [1, 2, 3], "groups": ["a", "b", "a"], **change}
    with pytest.raises(ValueError, match=message):
        coverage_by_group(**arguments)


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


def test_names_distinguish_close_edges():
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


ALPHA, STRATA_DATA_SETS = 0.1, 2000


def gap(covered, groups, **options):
    return coverage_gap(covered, groups, ALPHA, **options)


@pytest.fixture
def strata_rows(rng):
    return rng.random(300) < 0.8, rng.exponential(size=300), rng.integers(0, 4, 300)


def test_the_worst_stratum_is_that_of_the_table(strata_rows):
    covered, size, groups = strata_rows
    table = coverage_by_group(covered, groups, size)
    measure = feature_stratified_coverage(covered, groups)
    assert measure.estimate == min(covered[groups == g].mean() for g in range(4))
    assert (measure.low, measure.high) == (table.low_all.min(), table.high_all.min())
    assert_array_equal(measure.table["coverage"], table.coverage)
    assert measure.exact


def test_the_gap_is_the_mean_of_distances(strata_rows):
    covered, _, groups = strata_rows
    measure = gap(covered, groups)
    expected = np.mean([abs(covered[groups == g].mean() - 0.9) for g in range(4)])
    assert_allclose(measure.estimate, expected)
    n, hits = measure.table["n"], measure.table["hits"]
    assert (measure.low, measure.high) == mean_gap_bounds(hits, n, 0.9, 0.95)
    assert measure.low <= measure.estimate <= measure.high
    assert measure.exact


def test_sizes_are_binned_by_number_or_by_edges(strata_rows):
    covered, size, _ = strata_rows
    for bins, strata in ((4, quantile_bins(size, 4)), ([1, 2], cut_bins(size, [1, 2]))):
        measure = size_stratified_coverage(covered, size, bins=bins)
        assert measure.estimate == feature_stratified_coverage(covered, strata).estimate
        assert_array_equal(measure.table["group"], strata.names)


@few
@given(scores_with_counts())
def test_overlapping_groups_have_the_gap_of_their_bounds(drawn):
    values, _ = drawn
    masks = np.column_stack([values > -2, values < 2, values > 9])
    assume((masks.sum(axis=1) > 1).any())
    covered = values % 2 == 0
    measure = gap(covered, masks)
    table = coverage_by_group(covered, masks)
    held = table.n > 0
    ends = np.stack([table.low_all, table.high_all])[:, held]
    inside = (ends[0] <= 0.9) & (ends[1] >= 0.9)
    distances = np.abs(ends - 0.9)
    assert_allclose(measure.high, distances.max(axis=0).mean())
    assert_allclose(measure.low, np.where(inside, 0, distances.min(axis=0)).mean())


def test_groups_without_rows_are_left_out(strata_rows):
    covered, _, groups = strata_rows
    masks = {g: groups == g for g in [*range(4), "empty"]}
    for metric in (feature_stratified_coverage, gap):
        found, expected = metric(covered, masks), metric(covered, groups)
        assert_allclose(
            [found.estimate, found.low, found.high],
            [expected.estimate, expected.low, expected.high],
        )
        assert len(found.table["n"]) == 5


def test_the_gap_states_what_chance_alone_would_show():
    sizes = np.array([1, 20, 50])
    measure = gap(np.ones(71), np.repeat([0, 1, 2], sizes))
    expected = np.mean(
        [binom.expect(lambda k, n=n: abs(k / n - 0.9), args=(n, 0.9)) for n in sizes]
    )
    assert f"would show {expected:.3g}." in measure.meaning


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: feature_stratified_coverage([], []), "n at least 1"),
        (lambda: feature_stratified_coverage([1, 0], ["a"]), r"groups must have shape \(2,\)"),
        (lambda: feature_stratified_coverage([1], ["a"], confidence=1), "confidence must lie"),
        (lambda: size_stratified_coverage([1, 0], [1]), r"size must have shape \(2,\)"),
        (lambda: size_stratified_coverage([1], [np.nan]), "got nan at row 0"),
        (lambda: size_stratified_coverage([1], [1], bins=True), "n_bins .* whole .* got True"),
        (lambda: size_stratified_coverage([1], [1], bins=0), "n_bins must be a whole number"),
        (lambda: size_stratified_coverage([1], [1], bins=[2, 1]), "edges must be finite"),
        (lambda: coverage_gap([1], ["a"], 1.5), "alpha must lie"),
        (lambda: coverage_gap([1], [[False]], 0.1), "no row is in any of the groups"),
    ],
)
def test_bad_strata_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
