"""HSIC, correlation of size and coverage, and improvements over a reference."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kurtosis, pearsonr, t as student

from bands import binomial_band
from plcp.metrics import coverage, hsic, improvement, mean_size, size_correlation
from plcp.metrics.coverage import count_sizes
from plcp.metrics.dependence import (
    LIMIT,
    NODES,
    box_sums,
    direct_sums,
    kernel_error,
    kernel_sums,
    unbiased_hsic,
)
from size_worlds import SizeWorld, label_sets


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
def test_where_little_can_be_reported(size, covered, low, high):
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


def test_size_correlation_is_that_of_pearson(rng):
    covered, size = label_sets(rng)
    found = size_correlation(covered, size)
    assert_allclose(found.estimate, pearsonr(size, covered).statistic)
    turned = size_correlation(~covered, 3 * size + 1)
    assert_allclose([turned.estimate, turned.low], [-found.estimate, -found.high])
    assert_allclose(size_correlation(covered, covered).estimate, 1)


def test_terms_of_the_correlation_are_its_derivative(rng):
    covered, size = label_sets(rng, 50)
    measure, counts = size_correlation(covered, size), np.full(50, 20_000)
    assert_allclose(measure.terms.mean(), measure.estimate)
    for row in range(5):
        moved = size_correlation(covered, size, sample_weight=counts + (np.arange(50) == row))
        change = (moved.estimate - measure.estimate) * 1e6
        # the second derivative is of the order of the fourth power of standard scores
        assert abs(change - (measure.terms[row] - measure.estimate)) < 100 / 1e6


def test_interval_is_that_of_the_rows(rng):
    covered, size = label_sets(rng, 30)
    x, y = ((v - v.mean()) / v.std() for v in (size, covered))
    r, n = np.mean(x * y), 30
    influence = (x * y - r * (x**2 + y**2) / 2) / (1 - x**2 / n) / (1 - y**2 / n)
    # variance of a variance estimate: (kurtosis - 1) / n, and of Student's with d degrees 2 / d
    degrees = 2 * n / (kurtosis(influence, fisher=False) - 1 + 2 / n)
    reach = student.isf(0.025, min(degrees, n - 1)) * influence.std() / np.sqrt(n - 1)
    found = size_correlation(covered, size)
    ends = np.arctanh([found.low, found.high])
    assert_allclose(ends, np.arctanh(r) + np.array([-1, 1]) * reach / (1 - r**2))


@pytest.mark.parametrize("size", [[1, 2], [1, 1, 2, 2]])
def test_rows_on_one_line_have_no_spread(size):
    measure = size_correlation(np.array(size) == 2, size)
    assert (measure.low, measure.high) == (-1, 1)
    assert measure.estimate == pytest.approx(1)
    assert np.isnan(measure.standard_error)


@pytest.mark.parametrize(
    ("size", "covered", "weights", "message"),
    [
        ([2, 2], [True, False], None, "size is 2.0 in all 2 rows: .* not defined"),
        ([2, 2, 3], [True, False, True], [1, 1, 0], "size is 2.0 in all 2 rows: .* not defined"),
        ([1, 2], [1, 1], None, "covered is True in all 2 rows: .* not defined"),
        ([1, 2], [0, 0], None, "covered is False in all 2 rows: .* not defined"),
        ([np.nan, 1], [True, False], None, "finite, got nan at row 0: drop"),
    ],
)
def test_errors_of_the_correlation_name_the_remedy(size, covered, weights, message):
    with pytest.raises(ValueError, match=message):
        size_correlation(covered, size, sample_weight=weights)


def test_units_do_not_matter_however_small(rng):
    size, covered = rng.integers(1, 9, 50) * 1.0, rng.random(50) < 0.8
    # powers of two change no digit, but squares of such numbers are 0
    assert size_correlation(covered, size * 2.0**-700).estimate == pytest.approx(
        size_correlation(covered, size).estimate, rel=1e-13
    )


def test_interval_holds_where_large_sets_are_hardly_ever_missed(rng):
    runs, held = 1000, 0
    for _ in range(runs):
        size, covered = 1.0 + (rng.random(200) < 0.1), rng.random(200) < 0.95
        found = size_correlation(covered, size)
        held += found.low <= 0 <= found.high
    assert held >= binomial_band(runs, 0.95)[0]


@pytest.mark.parametrize("metric", [hsic, size_correlation])
def test_percentage_is_that_of_feldman(rng, metric):
    covered, size = label_sets(rng)
    reference, measure = metric(covered, size), metric(covered, size % 3)
    found = improvement(measure, reference)
    assert_allclose(found.estimate, 100 * (1 - abs(measure.estimate / reference.estimate)))
    assert_allclose(found.terms.mean(), found.estimate)
    assert found.low < found.estimate < found.high <= 100


def test_a_method_gains_nothing_over_itself(rng):
    measure = hsic(*label_sets(rng))
    found = improvement(measure, measure)
    # the discriminant rounds at 1e-16, its root at 1e-8
    assert_allclose([found.estimate, found.low, found.high], 0, atol=1e-5)
    assert_allclose(found.terms, 0, atol=1e-9)


def test_sign_of_the_dependence_is_nothing(rng):
    covered, size = label_sets(rng)
    reference = size_correlation(covered, size)
    up, down = size_correlation(covered, size % 3), size_correlation(covered, 2 - size % 3)
    one, other = improvement(up, reference), improvement(down, reference)
    assert_allclose([one.low, one.high], [other.low, other.high])
    assert_allclose(one.terms, other.terms)


def test_ends_are_where_the_paired_difference_just_vanishes(rng):
    one, two = mean_size(rng.gamma(2, size=50)), mean_size(rng.gamma(9, size=50))
    found = improvement(one, two)
    for end in (found.low, found.high):
        differences = one.terms - (1 - end / 100) * two.terms
        error = differences.std() / np.sqrt(49)
        assert_allclose(abs(differences.mean()) / error, student.isf(0.025, 49))


def test_weights_are_copies(rng):
    (covered, size), counts = label_sets(rng, 30), rng.integers(0, 4, 30)
    copies = np.repeat(np.arange(30), counts)
    weighted, copied = (
        improvement(hsic(c, size % 3, sample_weight=w), hsic(c, size, sample_weight=w))
        for size, c, w in ((size, covered, counts), (size[copies], covered[copies], None))
    )
    for name in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(weighted, name), getattr(copied, name))


def test_a_reference_that_may_be_zero_bounds_nothing(rng):
    covered = np.arange(200) % 10 > 0
    size = np.arange(200) // 10 % 5.0  # independent of coverage but for one row
    size[0] += 1
    found = improvement(size_correlation(covered, size + covered), size_correlation(covered, size))
    assert (found.low, found.high) == (-np.inf, 100)


def test_a_reference_of_one_size_is_refused(rng):
    covered, size = label_sets(rng)
    with pytest.raises(ValueError, match=r"HSIC of the reference is exactly 0, .* clip its sets"):
        improvement(hsic(covered, size), hsic(covered, np.ones(300)))
    with pytest.raises(ValueError, match=r"size is 1\.0 in all 300 rows"):
        size_correlation(covered, np.ones(300))


def test_measures_of_other_rows_are_refused(rng):
    covered, size = label_sets(rng)
    with pytest.raises(ValueError, match="differ in number of rows, 300 and 299"):
        improvement(hsic(covered, size), hsic(covered[1:], size[1:]))
    with pytest.raises(ValueError, match="two rows at least, got 1"):
        improvement(coverage([True]), coverage([True]))


EPS = np.finfo(float).eps
POINTS = {
    "one box": lambda rng: rng.uniform(size=600),
    "some boxes": lambda rng: rng.gamma(2, 5, size=600),
    "box ends": lambda rng: np.arange(600) / 8,
    "all far apart": lambda rng: rng.uniform(0, 1e6, 600),
    "two clusters": lambda rng: rng.uniform(size=600) + 1e9 * (np.arange(600) % 2),
    "no digits left": lambda rng: 2.0**53 + 2 * np.arange(600),
    "beyond whole numbers": lambda rng: 10 ** rng.uniform(0, 100, 600),
}


@pytest.mark.parametrize("kind", POINTS)
@pytest.mark.parametrize("power", [1, 2])
def test_boxes_are_as_near_as_they_promise(rng, kind, power):
    points = np.unique(POINTS[kind](rng))
    weights = rng.integers(-9, 10, (len(points), 2)).astype(float)
    error = np.abs(box_sums(points, weights, power) - direct_sums(points, weights, power))
    # the square is 1 - 2 k + k², and k² is a kernel of √2 times the frequency
    promised = (
        kernel_error() if power == 1 else 2 * kernel_error() + 2 ** (NODES / 2) * kernel_error()
    )
    # rounding: of the sums over points and over the nodes of both boxes
    rounding = EPS * (np.sqrt(len(points)) + NODES**2 / 4)
    assert (error <= (promised + rounding) * np.abs(weights).sum(axis=0)).all()


def test_boxes_keep_the_digits_of_close_points(rng):
    points = np.unique(1 + 1e-7 * rng.uniform(size=600))
    weights = np.where(np.arange(len(points)) % 2, 3.0, 1.0)[:, None]
    boxes, direct = box_sums(points, weights, 1), direct_sums(points, weights, 1)
    # 1 + 1e-7 u has 29 binary digits of u: all distances are exact, all terms of one sign
    np.testing.assert_allclose(boxes, direct, rtol=EPS * NODES**2)
    assert (direct < 0).all()


def test_many_blocks_of_boxes_are_one_sum(rng, monkeypatch):
    points, weights = np.unique(rng.uniform(0, 500, 900)), rng.normal(size=(900, 1))
    whole = box_sums(points, weights, 1)
    monkeypatch.setattr("plcp.metrics.dependence.BOXES_AT_ONCE", 7)
    np.testing.assert_allclose(
        box_sums(points, weights, 1), whole, atol=EPS * np.abs(weights).sum()
    )
