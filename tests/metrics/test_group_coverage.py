"""Coverage by group, against counting by hand, copies, and the laws of many tests."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from bands import FALSE_ALARM
from plcp.metrics import coverage, coverage_by_group, mean_size
from plcp.metrics.binomial import clopper_pearson, holm
from strategies import few, scores_with_counts

NUMBERS = (
    *("n", "hits", "coverage", "low", "high", "low_all", "high_all"),
    *("size", "size_error", "p_value", "p_holm"),
)
DATA_SETS = 2000


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
    groups = {"a": masks[:, 0], "nobody": np.zeros(90, dtype=bool), "b": masks[:, 1]}
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


def test_all_covered_none_covered_and_one_row():
    table = coverage_by_group([1, 1, 0, 0, 1], ["a", "a", "b", "b", "c"], alpha=0.1)
    assert table.coverage.tolist() == [1, 0, 1]
    assert table.high[0] == 1
    assert table.low[1] == 0
    assert_allclose([table.low[2], table.high[2]], [0.025, 1])
    assert np.isnan(table.size_error[2])
    assert_allclose(table.p_value, [1, 0.01, 1])


def test_failing_groups_are_those_with_small_corrected_p_values():
    covered = np.r_[np.ones(90), np.zeros(10), np.ones(70), np.zeros(30)]
    table = coverage_by_group(covered, np.repeat(["fine", "bad"], 100), alpha=0.1)
    assert table.failing.tolist() == ["bad"]
    assert len(coverage_by_group(covered, np.repeat([0, 1], 100), alpha=0.4).failing) == 0


@pytest.mark.parametrize("overlap", [False, True])
def test_bounds_and_tests_hold_for_all_groups_at_once(rng, overlap):
    """Over many data sets with coverage of exactly 0.9 everywhere: few misses, few false alarms."""
    n, k = 200, 5
    missed = alarmed = 0
    for _ in range(DATA_SETS):
        groups = rng.random((n, k)) < 0.5 if overlap else rng.integers(0, k, n)
        table = coverage_by_group(rng.random(n) < 0.9, groups, alpha=0.1)
        missed += ((table.low_all > 0.9) | (table.high_all < 0.9)).any()
        alarmed += len(table.failing) > 0
    most = binom.isf(FALSE_ALARM, DATA_SETS, 0.05)
    assert missed <= most
    assert alarmed <= most


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
