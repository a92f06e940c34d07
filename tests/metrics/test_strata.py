"""Worst strata and the mean gap: counting by hand, copies, chance, and intervals that hold."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm

from bands import FALSE_ALARM
from plcp.metrics import (
    coverage_by_group,
    coverage_gap,
    cut_bins,
    feature_stratified_coverage,
    quantile_bins,
    size_stratified_coverage,
)
from plcp.metrics.binomial import mean_gap_bounds
from strategies import few, scores_with_counts

ALPHA, DATA_SETS = 0.1, 2000


def gap(covered, groups, **options):
    return coverage_gap(covered, groups, ALPHA, **options)


@pytest.fixture
def rows(rng):
    return rng.random(300) < 0.8, rng.exponential(size=300), rng.integers(0, 4, 300)


def test_the_worst_stratum_is_that_of_the_table(rows):
    covered, size, groups = rows
    table = coverage_by_group(covered, groups, size)
    measure = feature_stratified_coverage(covered, groups)
    assert measure.estimate == min(covered[groups == g].mean() for g in range(4))
    assert (measure.low, measure.high) == (table.low_all.min(), table.high_all.min())
    assert_array_equal(measure.table["coverage"], table.coverage)
    assert measure.exact


def test_the_gap_is_the_mean_of_distances(rows):
    covered, _, groups = rows
    measure = gap(covered, groups)
    expected = np.mean([abs(covered[groups == g].mean() - 0.9) for g in range(4)])
    assert_allclose(measure.estimate, expected)
    n, hits = measure.table["n"], measure.table["hits"]
    assert (measure.low, measure.high) == mean_gap_bounds(hits, n, 0.9, 0.95)
    assert measure.low <= measure.estimate <= measure.high
    assert measure.exact


def test_sizes_are_binned_by_number_or_by_edges(rows):
    covered, size, _ = rows
    for bins, strata in ((4, quantile_bins(size, 4)), ([1, 2], cut_bins(size, [1, 2]))):
        measure = size_stratified_coverage(covered, size, bins=bins)
        assert measure.estimate == feature_stratified_coverage(covered, strata).estimate
        assert_array_equal(measure.table["group"], strata.names)


@few
@given(scores_with_counts(), st.randoms())
def test_weights_are_copies_in_any_order(drawn, random):
    values, counts = drawn
    copies = np.repeat(np.arange(len(values)), counts)
    random.shuffle(copies)
    covered, size, labels = values > 0, values**2, values % 3
    for metric, groups in (
        (feature_stratified_coverage, labels),
        (size_stratified_coverage, size),
        (gap, labels),
    ):
        weighted = metric(covered, groups, sample_weight=counts)
        copied = metric(covered[copies], groups[copies])
        for key in ("estimate", "low", "high"):
            assert_allclose(getattr(weighted, key), getattr(copied, key))
            assert 0 <= getattr(weighted, key) <= 1


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


def test_groups_without_rows_are_left_out(rows):
    covered, _, groups = rows
    masks = {g: groups == g for g in [*range(4), "nobody"]}
    for metric in (feature_stratified_coverage, gap):
        found, expected = metric(covered, masks), metric(covered, groups)
        assert_allclose(
            [found.estimate, found.low, found.high],
            [expected.estimate, expected.low, expected.high],
        )
        assert len(found.table["n"]) == 5


def test_the_gap_tells_what_chance_alone_would_show():
    sizes = np.array([1, 20, 50])
    measure = gap(np.ones(71), np.repeat([0, 1, 2], sizes))
    expected = np.mean(
        [binom.expect(lambda k, n=n: abs(k / n - 0.9), args=(n, 0.9)) for n in sizes]
    )
    assert f"would show {expected:.3g}." in measure.meaning


def test_estimates_are_biased_as_they_say_and_intervals_are_not(rng):
    """Coverage of 0.9 in each of ten groups: the smallest is lower, the interval holds 0.9."""
    found, estimates = 0, []
    for _ in range(DATA_SETS):
        measure = feature_stratified_coverage(rng.random(300) < 0.9, rng.integers(0, 10, 300))
        estimates.append(measure.estimate)
        found += measure.low <= 0.9 <= measure.high
    noise = np.std(estimates) / np.sqrt(DATA_SETS)
    assert np.mean(estimates) < 0.9 - norm.isf(FALSE_ALARM) * noise
    assert found >= binom.ppf(FALSE_ALARM, DATA_SETS, 0.95)


def test_bins_of_the_rows_themselves_hold_their_mean_coverage(rng):
    found = 0
    for _ in range(DATA_SETS):
        size = rng.random(200)
        probability = 0.7 + 0.3 * size
        bins = quantile_bins(size, 4)
        truth = (np.bincount(bins.codes, probability) / np.bincount(bins.codes)).min()
        measure = size_stratified_coverage(rng.random(200) < probability, size, bins=4)
        found += measure.low <= truth <= measure.high
    assert found >= binom.ppf(FALSE_ALARM, DATA_SETS, 0.95)


@pytest.mark.parametrize("outcome", [0, 1])
def test_all_or_none_covered_and_one_row_are_defined(outcome):
    for n in (1, 30):
        covered = np.full(n, outcome)
        worst = feature_stratified_coverage(covered, ["a"] * n)
        assert worst.estimate == outcome
        assert (worst.low, worst.high)[outcome] == outcome
        assert_allclose(gap(covered, ["a"] * n).estimate, abs(outcome - 0.9))


def test_infinite_sizes_have_a_stratum():
    measure = size_stratified_coverage([1, 1, 0, 1], [1, 2, np.inf, np.inf], bins=2)
    assert measure.estimate == 0.5
    assert measure.table["group"].tolist() == ["[1, 2]", "(2, inf]"]


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
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
