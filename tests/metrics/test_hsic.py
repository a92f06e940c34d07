"""HSIC of size and coverage, where the answer is known."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from bands import binomial_band
from plcp.metrics import coverage, hsic, size_correlation
from plcp.metrics.coverage import count_sizes
from plcp.metrics.dependence import LIMIT, direct_sums, kernel_error, kernel_sums, unbiased_hsic
from size_worlds import SizeWorld, label_sets
from strategies import few


def value(covered, size, **options):
    return hsic(covered, size, **options).estimate


def matrices(covered, size):
    size, covered = np.asarray(size, dtype=float), np.asarray(covered, dtype=float)
    return (np.exp(-((v[:, None] - v) ** 2)) for v in (size, covered))


def hsic_by_matrices(covered, size):
    K, L = matrices(covered, size)
    n = len(K)
    H = np.eye(n) - 1 / n
    return np.trace(K @ H @ L @ H) / (n - 1) ** 2


def unbiased(covered, size):
    counts = count_sizes(covered, size, None)
    excess = (counts.n * counts.hits - counts.rows * counts.n_hits).astype(float)
    sums = kernel_sums(counts.size, np.column_stack([excess, counts.rows]))
    return unbiased_hsic(counts, excess, sums)


@pytest.mark.parametrize("kind", ["labels", "intervals", "two rows"])
def test_hsic_is_the_trace_of_the_matrices(rng, kind):
    covered, size = label_sets(rng)
    if kind == "intervals":
        size = rng.gamma(2 + covered)
    elif kind == "two rows":
        size, covered = [1, 3], [False, True]
    # the matrices of n² entries in [0, 1] round at 1e-16 each
    assert_allclose(value(covered, size), hsic_by_matrices(covered, size), rtol=1e-9, atol=1e-15)


def test_hsic_knows_neither_order_nor_names_of_the_two(rng):
    covered, size = label_sets(rng)
    order = rng.permutation(len(size))
    assert value(covered[order], size[order]) == value(covered, size)
    assert_allclose(value(~covered, size), value(covered, size))
    assert_allclose(value(covered, 10 - size), value(covered, size))
    flags = rng.uniform(size=len(covered)) < 0.5 + 0.4 * covered
    assert_allclose(value(covered, flags), value(flags, covered))


def test_hsic_of_a_product_table_is_exactly_zero(rng):
    sizes = rng.gamma(2, size=7)
    size = np.repeat(sizes, 10 * rng.integers(1, 5, 7))
    covered = np.arange(len(size)) % 10 > 0  # nine in ten of each size
    assert value(covered, size) == 0
    assert value(np.ones(len(size), dtype=bool), size) == 0
    assert value(covered, np.full(len(size), 0.1)) == 0


@pytest.mark.parametrize("times", [2, 5])
def test_hsic_of_copied_rows_differs_by_the_factor_of_n_alone(rng, times):
    covered, size = label_sets(rng)
    n = len(size)
    copied = value(np.tile(covered, times), np.tile(size, times))
    factor = (n - 1) / n * (times * n) / (times * n - 1)
    assert_allclose(copied, factor**2 * value(covered, size))


@pytest.mark.parametrize("n", [300, 6000])
def test_hsic_of_close_sizes_is_their_squared_covariance(rng, n):
    size, covered = rng.uniform(size=n), rng.uniform(size=n) < 0.8
    # k(a, b) = 1 - (a - b)² up to the fourth power of the spread
    covariance = np.cov(1e-9 * size, covered)[0, 1]
    assert_allclose(value(covered, 1e-9 * size), 4 * (1 - np.exp(-1)) * covariance**2, rtol=1e-6)


def test_hsic_of_many_sizes_is_as_near_as_it_promises(rng):
    n = 5100
    covered = np.arange(n) % 10 > 0
    counts = count_sizes(covered, rng.gamma(2 + 3 * covered), None)
    excess = (counts.n * counts.hits - counts.rows * counts.n_hits).astype(float)
    factor = 2 * (1 - np.exp(-1)) / (n * (n - 1)) ** 2
    pairs = factor * excess @ direct_sums(counts.size, excess[:, None], 1)[:, 0]
    band = factor * np.abs(excess).sum() ** 2 * (kernel_error() + np.sqrt(n) * np.finfo(float).eps)
    assert abs(value(covered, counts.size[counts.code]) - pairs) < band


def test_hsic_sees_what_no_line_does():
    size, covered = np.tile([1, 2, 3], 50), np.tile([True, False, True], 50)
    assert float(size_correlation(covered, size)) == pytest.approx(0, abs=1e-15)
    assert hsic(covered, size).low > 0.01


def test_unbiased_value_is_that_of_song(rng):
    covered, size = label_sets(rng, 40)
    K, L = (matrix - np.diag(np.diag(matrix)) for matrix in matrices(covered, size))
    n, one = 40, np.ones(40)
    song = np.trace(K @ L) + (one @ K @ one) * (one @ L @ one) / ((n - 1) * (n - 2))
    song = (song - 2 / (n - 2) * one @ K @ L @ one) / (n * (n - 3))
    assert_allclose(unbiased(covered, size), song, rtol=1e-9, atol=1e-15)


def test_unbiased_value_has_the_right_expectation():
    rows = [(0.0, False), (0.0, True), (0.7, True)]  # each as likely, five drawn: all 3⁵ draws
    draws = [list(zip(*draw, strict=True)) for draw in itertools.product(rows, repeat=5)]
    excess, kernel = (1 - 2 / 3) / 3, np.exp(-(0.7**2))
    truth = 2 * (1 - np.exp(-1)) * excess**2 * 2 * (1 - kernel)
    assert_allclose(np.mean([unbiased(covered, size) for size, covered in draws]), truth)


def test_terms_are_the_derivative_in_the_weight_of_a_row(rng):
    covered, size = label_sets(rng, 50)
    measure = hsic(covered, size)
    assert_allclose(measure.terms.mean(), measure.estimate)
    # one row more among a million copies, with the factor of n taken out
    counts = np.full(50, 20_000.0)
    n = counts.sum()
    plain = value(covered, size, sample_weight=counts) * ((n - 1) / n) ** 2
    for row in range(5):
        more = counts + (np.arange(50) == row)
        moved = value(covered, size, sample_weight=more) * (n / (n + 1)) ** 2
        # the second derivative is below 10
        assert abs((moved - plain) * n - (measure.terms[row] - measure.estimate)) < 10 / n


@few
@given(st.integers(0, 2**32 - 1))
def test_weights_are_copies_and_order_is_nothing(seed):
    rng = np.random.default_rng(seed)
    covered, size = label_sets(rng, 20)
    counts = rng.integers(0, 4, 20) + (np.arange(20) < 2)
    copies = np.repeat(np.arange(20), counts)[::-1]
    weighted, copied = (
        hsic(covered, size, sample_weight=counts),
        hsic(covered[copies], size[copies]),
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
    measure = hsic(np.arange(70) % 10 > 0, size)
    K, _ = matrices(size, size)
    H = np.eye(70) - 1 / 70
    variance = 2 * (2 * (1 - np.exp(-1)) * 0.9 * 0.1) ** 2 * np.mean((H @ K @ H) ** 2) / 70**2
    assert_allclose(measure.standard_error, np.sqrt(variance))


def test_table_is_coverage_by_size(rng):
    covered, size = label_sets(rng)
    table = hsic(covered, size).table
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
    table = hsic(covered, size).table
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
    measure = hsic(covered, size)
    assert low <= measure.low <= measure.high <= high


MASK = [True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hsic(MASK, [1, 2, 3]), r"size must have shape \(2,\), got \(3,\): pass sets.size"),
        (lambda: hsic([True], [1]), "two rows at least, got 1: measure coverage"),
        (lambda: hsic(MASK, [1, 2], sample_weight=[1, 0]), "two rows at least, got 1"),
        (lambda: hsic([], []), r"n at least 1, got \(0,\)"),
        (lambda: hsic([[1], [0]], [[1], [2]]), r"covered must have shape \(n,\), .* got \(2, 1\)"),
        (lambda: hsic(MASK, [1, np.inf]), "finite, got inf at row 1: drop"),
        (lambda: hsic([0.9, 1], [1, 2]), "covered must be .* got 0.9 at row 0: pass sets.contains"),
        (lambda: hsic([1, np.nan], [1, 2]), "got nan at row 1"),
        (lambda: hsic(["0", "1"], [1, 2]), "got '0' at row 0"),
        (lambda: hsic(MASK, [1, 2], confidence=95), r"confidence must lie in \(0, 1\), got 95"),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
