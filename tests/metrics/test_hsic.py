"""HSIC of size and coverage, where the answer is known."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from bands import binomial_band
from plcp.metrics import coverage, hsic, size_correlation
from plcp.metrics.hsic import LIMIT, unbiased_hsic
from plcp.metrics.kernel_sums import direct_sums, kernel_error, kernel_sums
from plcp.metrics.size_counts import count_sizes
from size_worlds import SizeWorld, label_sets
from strategies import few


def value(size, covered, **options):
    return hsic(size, covered, **options).estimate


def matrices(size, covered):
    size, covered = np.asarray(size, dtype=float), np.asarray(covered, dtype=float)
    return (np.exp(-((v[:, None] - v) ** 2)) for v in (size, covered))


def hsic_by_matrices(size, covered):
    K, L = matrices(size, covered)
    n = len(K)
    H = np.eye(n) - 1 / n
    return np.trace(K @ H @ L @ H) / (n - 1) ** 2


def unbiased(size, covered):
    counts = count_sizes(size, covered, None)
    excess = (counts.n * counts.hits - counts.rows * counts.n_hits).astype(float)
    sums = kernel_sums(counts.size, np.column_stack([excess, counts.rows]))
    return unbiased_hsic(counts, excess, sums)


@pytest.mark.parametrize("kind", ["labels", "intervals", "two rows"])
def test_hsic_is_the_trace_of_the_matrices(rng, kind):
    size, covered = label_sets(rng)
    if kind == "intervals":
        size = rng.gamma(2 + covered)
    elif kind == "two rows":
        size, covered = [1, 3], [False, True]
    # the matrices of n² entries in [0, 1] round at 1e-16 each
    assert_allclose(value(size, covered), hsic_by_matrices(size, covered), rtol=1e-9, atol=1e-15)


def test_hsic_knows_neither_order_nor_names_of_the_two(rng):
    size, covered = label_sets(rng)
    order = rng.permutation(len(size))
    assert value(size[order], covered[order]) == value(size, covered)
    assert_allclose(value(size, ~covered), value(size, covered))
    assert_allclose(value(10 - size, covered), value(size, covered))
    flags = rng.uniform(size=len(covered)) < 0.5 + 0.4 * covered
    assert_allclose(value(flags, covered), value(covered, flags))


def test_hsic_of_a_product_table_is_exactly_zero(rng):
    sizes = rng.gamma(2, size=7)
    size = np.repeat(sizes, 10 * rng.integers(1, 5, 7))
    covered = np.arange(len(size)) % 10 > 0  # nine in ten of each size
    assert value(size, covered) == 0
    assert value(size, np.ones(len(size), dtype=bool)) == 0
    assert value(np.full(len(size), 0.1), covered) == 0


@pytest.mark.parametrize("times", [2, 5])
def test_hsic_of_copied_rows_differs_by_the_factor_of_n_alone(rng, times):
    size, covered = label_sets(rng)
    n = len(size)
    copied = value(np.tile(size, times), np.tile(covered, times))
    factor = (n - 1) / n * (times * n) / (times * n - 1)
    assert_allclose(copied, factor**2 * value(size, covered))


@pytest.mark.parametrize("n", [300, 6000])
def test_hsic_of_close_sizes_is_their_squared_covariance(rng, n):
    size, covered = rng.uniform(size=n), rng.uniform(size=n) < 0.8
    # k(a, b) = 1 - (a - b)² up to the fourth power of the spread
    covariance = np.cov(1e-9 * size, covered)[0, 1]
    assert_allclose(value(1e-9 * size, covered), 4 * (1 - np.exp(-1)) * covariance**2, rtol=1e-6)


def test_hsic_of_many_sizes_is_as_near_as_it_promises(rng):
    n = 5100
    covered = np.arange(n) % 10 > 0
    counts = count_sizes(rng.gamma(2 + 3 * covered), covered, None)
    excess = (counts.n * counts.hits - counts.rows * counts.n_hits).astype(float)
    factor = 2 * (1 - np.exp(-1)) / (n * (n - 1)) ** 2
    pairs = factor * excess @ direct_sums(counts.size, excess[:, None], 1)[:, 0]
    band = factor * np.abs(excess).sum() ** 2 * (kernel_error() + np.sqrt(n) * np.finfo(float).eps)
    assert abs(value(counts.size[counts.code], covered) - pairs) < band


def test_hsic_sees_what_no_line_does():
    size, covered = np.tile([1, 2, 3], 50), np.tile([True, False, True], 50)
    assert float(size_correlation(size, covered)) == pytest.approx(0, abs=1e-15)
    assert hsic(size, covered).low > 0.01


def test_unbiased_value_is_that_of_song(rng):
    size, covered = label_sets(rng, 40)
    K, L = (matrix - np.diag(np.diag(matrix)) for matrix in matrices(size, covered))
    n, one = 40, np.ones(40)
    song = np.trace(K @ L) + (one @ K @ one) * (one @ L @ one) / ((n - 1) * (n - 2))
    song = (song - 2 / (n - 2) * one @ K @ L @ one) / (n * (n - 3))
    assert_allclose(unbiased(size, covered), song, rtol=1e-9, atol=1e-15)


def test_unbiased_value_has_the_right_expectation():
    rows = [(0.0, False), (0.0, True), (0.7, True)]  # each as likely, five drawn: all 3⁵ draws
    draws = [list(zip(*draw, strict=True)) for draw in itertools.product(rows, repeat=5)]
    excess, kernel = (1 - 2 / 3) / 3, np.exp(-(0.7**2))
    truth = 2 * (1 - np.exp(-1)) * excess**2 * 2 * (1 - kernel)
    assert_allclose(np.mean([unbiased(*draw) for draw in draws]), truth)


def test_terms_are_the_derivative_in_the_weight_of_a_row(rng):
    size, covered = label_sets(rng, 50)
    measure = hsic(size, covered)
    assert_allclose(measure.terms.mean(), measure.estimate)
    # one row more among a million copies, with the factor of n taken out
    counts = np.full(50, 20_000.0)
    n = counts.sum()
    plain = value(size, covered, sample_weight=counts) * ((n - 1) / n) ** 2
    for row in range(5):
        more = counts + (np.arange(50) == row)
        moved = value(size, covered, sample_weight=more) * (n / (n + 1)) ** 2
        # the second derivative is below 10
        assert abs((moved - plain) * n - (measure.terms[row] - measure.estimate)) < 10 / n


@few
@given(st.integers(0, 2**32 - 1))
def test_weights_are_copies_and_order_is_nothing(seed):
    rng = np.random.default_rng(seed)
    size, covered = label_sets(rng, 20)
    counts = rng.integers(0, 4, 20) + (np.arange(20) < 2)
    copies = np.repeat(np.arange(20), counts)[::-1]
    weighted, copied = (
        hsic(size, covered, sample_weight=counts),
        hsic(size[copies], covered[copies]),
    )
    for name in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(weighted, name), getattr(copied, name), atol=1e-15)
    assert_allclose(weighted.terms[copies], copied.terms, atol=1e-15)
    for name, column in copied.table.items():
        assert_array_equal(weighted.table[name], column)
    assert 0 <= weighted.low <= weighted.high <= LIMIT


@pytest.mark.parametrize("slope", [0.0, 0.1, 0.2])
def test_interval_holds_with_and_without_dependence(rng, slope):
    world, runs = SizeWorld(slope), 1000
    found = [hsic(*world.draw(rng, 250)) for _ in range(runs)]
    truth = world.hsic if slope else 0.0
    held = sum(measure.low <= truth <= measure.high for measure in found)
    assert binomial_band(runs, 0.94)[0] <= held <= binomial_band(runs, 0.97)[1]


def test_error_without_dependence_is_that_of_the_centred_kernel(rng):
    size = np.repeat(rng.gamma(2, size=7), 10)
    measure = hsic(size, np.arange(70) % 10 > 0)
    K, _ = matrices(size, size)
    H = np.eye(70) - 1 / 70
    variance = 2 * (2 * (1 - np.exp(-1)) * 0.9 * 0.1) ** 2 * np.mean((H @ K @ H) ** 2) / 70**2
    assert_allclose(measure.standard_error, np.sqrt(variance))


def test_table_is_coverage_by_size(rng):
    size, covered = label_sets(rng)
    table = hsic(size, covered).table
    assert_array_equal(table["smallest"], np.arange(6))
    for k in range(6):
        alone = coverage(covered[size == k])
        assert table["n"][k] == (size == k).sum()
        assert (table["coverage"][k], table["low"][k], table["high"][k]) == (
            alone.estimate,
            alone.low,
            alone.high,
        )


def test_table_of_many_sizes_has_ten_bins_of_a_tenth(rng):
    size, covered = rng.uniform(size=1000), rng.uniform(size=1000) < 0.9
    table = hsic(size, covered).table
    assert_array_equal(table["n"], np.full(10, 100))
    assert (table["largest"][:-1] < table["smallest"][1:]).all()


@pytest.mark.parametrize(
    ("size", "covered", "low", "high"),
    [
        ([1.0] * 9, [True, False, True] * 3, 0, 0),  # sets of one size depend on nothing
        ([1.0, 2.0, 3.0] * 3, [True] * 9, 0, LIMIT),
        ([1.0, 2.0, 3.0] * 3, [False] * 9, 0, LIMIT),
        ([1.0, 2.0, 3.0], [True, False, False], 0, LIMIT),
        ([0.0, 1e100] * 3, [True, False, True, True, True, True], 0, LIMIT),
    ],
)
def test_where_little_can_be_told(size, covered, low, high):
    measure = hsic(size, covered)
    assert low <= measure.low <= measure.high <= high


MASK = [True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hsic([1, 2, 3], MASK), r"size must have shape \(2,\), got \(3,\): pass sets.size"),
        (lambda: hsic([1], [True]), "two rows at least, got 1: measure coverage"),
        (lambda: hsic([1, 2], MASK, sample_weight=[1, 0]), "two rows at least, got 1"),
        (lambda: hsic([], []), r"n at least 1, got \(0,\)"),
        (lambda: hsic([[1], [2]], [[1], [0]]), r"covered must have shape \(n,\), .* got \(2, 1\)"),
        (lambda: hsic([1, np.inf], MASK), "finite, got inf at row 1: drop"),
        (lambda: hsic([1, 2], [0.9, 1]), "covered must be .* got 0.9 at row 0: pass sets.contains"),
        (lambda: hsic([1, 2], [1, np.nan]), "got nan at row 1"),
        (lambda: hsic([1, 2], ["0", "1"]), "got '0' at row 0"),
        (lambda: hsic([1, 2], MASK, confidence=95), r"confidence must lie in \(0, 1\), got 95"),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
