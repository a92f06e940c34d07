"""Metrics where the answer is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, pearsonr
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from bands import FALSE_ALARM
from plcp.metrics import coverage_by_group, ert, hsic, msce, size_correlation


def test_coverage_by_group_counts(rng):
    covered, size = rng.integers(0, 2, 50).astype(bool), rng.uniform(size=50)
    groups = rng.choice(["a", "b", "c"], 50)
    table = coverage_by_group(covered, size, groups)
    for label, n, coverage, mean_size in zip(*table, strict=True):
        rows = groups == label
        assert n == rows.sum()
        assert coverage == covered[rows].mean()
        assert_allclose(mean_size, size[rows].mean())
    assert_array_equal(table.group, ["a", "b", "c"])


def test_msce_of_exact_coverage_is_zero_and_grows_with_the_square():
    assert msce(np.full(5, 0.9), alpha=0.1) == pytest.approx(0, abs=1e-30)
    assert msce([0.8, 1.0, 0.9], alpha=0.1) == pytest.approx(0.02 / 3)
    assert msce([0.9 - 0.2, 0.9 + 0.1], 0.1) == pytest.approx((0.04 + 0.01) / 2)


def test_ert_of_what_is_known_is_the_mean_absolute_error(rng):
    x = rng.integers(0, 4, 4000)
    coverage = np.array([0.5, 0.85, 0.95, 1.0])[x]
    covered = rng.uniform(size=4000) < coverage
    found = ert(x[:, None], covered, 0.1, DecisionTreeClassifier())
    # a mean of independent terms of deviation at most 0.5, about its expectation
    band = norm.isf(FALSE_ALARM / 2) * 0.5 / np.sqrt(4000)
    assert abs(found - np.abs(coverage - 0.9).mean()) < band


def test_ert_of_noise_is_nothing_but_noise(rng):
    covered = rng.uniform(size=4000) < 0.9
    band = norm.isf(FALSE_ALARM / 2) * 0.5 / np.sqrt(4000)
    assert abs(ert(rng.normal(size=(4000, 2)), covered, 0.1)) < band


def test_ert_without_a_predictor_is_the_marginal_error():
    covered = np.arange(100) % 4 > 0
    prior = DummyClassifier(strategy="prior")
    assert ert(np.zeros((100, 1)), covered, 0.1, prior) == pytest.approx(0.15)


@pytest.mark.parametrize(("covered", "expected"), [(True, 0.1), (False, 0.9)])
def test_ert_of_all_or_nothing(covered, expected):
    assert ert(np.zeros((10, 1)), np.full(10, covered), 0.1) == pytest.approx(expected)


@pytest.mark.parametrize("missed", [1, 3])
def test_ert_of_few_misses_needs_no_more_folds_than_misses(rng, missed):
    covered = np.arange(200) >= missed
    assert np.isfinite(ert(rng.normal(size=(200, 1)), covered, 0.1, DecisionTreeClassifier()))


def test_ert_is_the_same_twice(rng):
    X, covered = rng.normal(size=(300, 2)), rng.uniform(size=300) < 0.8
    assert ert(X, covered, 0.1) == ert(X, covered, 0.1)


def hsic_by_matrices(size, covered):
    size, covered = np.asarray(size, dtype=float), np.asarray(covered, dtype=float)
    n = len(size)
    K, L = (np.exp(-((v[:, None] - v) ** 2)) for v in (size, covered))
    H = np.eye(n) - 1 / n
    return np.trace(K @ H @ L @ H) / (n - 1) ** 2


def label_sets(rng, n=300):
    """Sizes of label sets, and coverage that rises with them."""
    size = rng.integers(0, 6, n)
    return size, rng.uniform(size=n) < size / 6


@pytest.mark.parametrize("kind", ["labels", "intervals", "two rows"])
def test_hsic_is_the_trace_of_the_matrices(rng, kind):
    size, covered = label_sets(rng)
    if kind == "intervals":
        size = rng.gamma(2 + covered)
    elif kind == "two rows":
        size, covered = [1, 3], [False, True]
    # the matrices of n² entries in [0, 1] round at 1e-16 each
    assert_allclose(hsic(size, covered), hsic_by_matrices(size, covered), rtol=1e-9, atol=1e-15)


def test_hsic_knows_neither_order_nor_names_of_the_two(rng):
    size, covered = label_sets(rng)
    order = rng.permutation(len(size))
    assert hsic(size[order], covered[order]) == hsic(size, covered)
    assert_allclose(hsic(size, ~covered), hsic(size, covered))
    assert_allclose(hsic(10 - size, covered), hsic(size, covered))
    flags = rng.uniform(size=len(covered)) < 0.5 + 0.4 * covered
    assert_allclose(hsic(flags, covered), hsic(covered, flags))


def test_hsic_of_a_product_table_is_exactly_zero(rng):
    sizes = rng.gamma(2, size=7)
    size = np.repeat(sizes, 10 * rng.integers(1, 5, 7))
    covered = np.arange(len(size)) % 10 > 0  # nine in ten of each size
    assert hsic(size, covered) == 0
    assert hsic(size, np.ones(len(size), dtype=bool)) == 0
    assert hsic(np.full(len(size), 0.1), covered) == 0


@pytest.mark.parametrize("times", [2, 5])
def test_hsic_of_copied_rows_differs_by_the_factor_of_n_alone(rng, times):
    size, covered = label_sets(rng)
    n = len(size)
    copied = hsic(np.tile(size, times), np.tile(covered, times))
    factor = (n - 1) / n * (times * n) / (times * n - 1)
    assert_allclose(copied, factor**2 * hsic(size, covered))


def test_hsic_of_close_sizes_is_their_squared_covariance(rng):
    size, covered = label_sets(rng)
    # k(a, b) = 1 - (a - b)² up to the fourth power of the spread
    covariance = np.cov(1e-9 * size, covered)[0, 1]
    assert_allclose(hsic(1e-9 * size, covered), 4 * (1 - np.exp(-1)) * covariance**2)


def test_hsic_sees_what_no_line_does():
    size, covered = np.tile([1, 2, 3], 50), np.tile([True, False, True], 50)
    assert size_correlation(size, covered) == pytest.approx(0, abs=1e-15)
    assert hsic(size, covered) > 0.01


def test_size_correlation_is_that_of_pearson(rng):
    size, covered = label_sets(rng)
    found = size_correlation(size, covered)
    assert_allclose(found, pearsonr(size, covered).statistic)
    assert_allclose(size_correlation(3 * size + 1, ~covered), -found)
    assert_allclose(size_correlation(covered, covered), 1)


MASK = [True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: size_correlation([2, 2], MASK), "size is 2.0 in all 2 rows: .* not defined"),
        (lambda: size_correlation([1, 2], [1, 1]), "covered is True in all 2 rows: .* not defined"),
        (lambda: hsic(np.arange(5001), np.ones(5001)), "at most 5000, got 5001: round"),
        (lambda: hsic([1, 2, 3], MASK), r"got \(3,\) and \(2,\): pass sets.size"),
        (lambda: hsic([1], [True]), r"n at least 2, got \(1,\)"),
        (lambda: hsic([[1], [2]], [[1], [0]]), r"got \(2, 1\) and"),
        (lambda: hsic([1, np.inf], MASK), "finite, got inf at row 1: drop"),
        (lambda: size_correlation([np.nan, 1], MASK), "finite, got nan at row 0: drop"),
        (lambda: hsic([1, 2], [0.9, 1]), "covered must be .* got 0.9 at row 0: pass sets.contains"),
        (lambda: hsic([1, 2], [1, np.nan]), "got nan at row 1"),
        (lambda: hsic([1, 2], ["0", "1"]), "got 0 at row 0"),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
