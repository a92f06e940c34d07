"""Dependence of size and coverage, where the answer is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import pearsonr

from plcp.metrics import hsic, size_correlation


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
