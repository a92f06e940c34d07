"""Correlation of size and coverage, against scipy and where it is known."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from scipy.stats import kurtosis, pearsonr, t as student

from bands import binomial_band
from plcp.metrics import size_correlation
from size_worlds import SizeWorld, label_sets
from strategies import few


def test_size_correlation_is_that_of_pearson(rng):
    covered, size = label_sets(rng)
    found = size_correlation(covered, size)
    assert_allclose(found.estimate, pearsonr(size, covered).statistic)
    turned = size_correlation(~covered, 3 * size + 1)
    assert_allclose([turned.estimate, turned.low], [-found.estimate, -found.high])
    assert_allclose(size_correlation(covered, covered).estimate, 1)


def test_terms_are_the_derivative_in_the_weight_of_a_row(rng):
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


@few
@given(st.integers(0, 2**32 - 1))
def test_weights_are_copies_and_order_is_nothing(seed):
    rng = np.random.default_rng(seed)
    covered, size = label_sets(rng, 20)
    size[:2], covered[:2] = (1, 4), (True, False)
    counts = rng.integers(0, 4, 20) + (np.arange(20) < 2)
    copies = np.repeat(np.arange(20), counts)[::-1]
    weighted = size_correlation(covered, size, sample_weight=counts)
    copied = size_correlation(covered[copies], size[copies])
    for name in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(weighted, name), getattr(copied, name), rtol=1e-9, atol=1e-12)
    assert_allclose(weighted.terms[copies], copied.terms, atol=1e-12)
    assert -1 <= weighted.low <= weighted.estimate <= weighted.high <= 1


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_interval_holds_for_skewed_sizes(rng, slope):
    world, runs = SizeWorld(slope), 1000
    found = [size_correlation(*world.draw(rng, 250)) for _ in range(runs)]
    held = sum(measure.low <= world.correlation <= measure.high for measure in found)
    assert binomial_band(runs, 0.94)[0] <= held <= binomial_band(runs, 0.97)[1]


@pytest.mark.parametrize("size", [[1, 2], [1, 1, 2, 2]])
def test_rows_on_one_line_tell_no_spread(size):
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
def test_errors_name_the_value_and_the_remedy(size, covered, weights, message):
    with pytest.raises(ValueError, match=message):
        size_correlation(covered, size, sample_weight=weights)


def test_units_do_not_matter_however_small(rng):
    size, covered = rng.integers(1, 9, 50) * 1.0, rng.random(50) < 0.8
    # powers of two change no digit, but squares of such numbers are 0
    assert size_correlation(covered, size * 2.0**-700).estimate == pytest.approx(
        size_correlation(covered, size).estimate, rel=1e-13
    )


def test_no_shorter_than_fishers_where_large_sets_are_hardly_ever_missed():
    # 20 of 200 sets are large; 10 of the small ones are missed, of the large ones none
    size, covered = np.repeat([1.0, 2.0], [180, 20]), np.arange(200) >= 10
    found = size_correlation(covered, size)
    reach = student.isf(0.025, 199) / np.sqrt(199)
    ends = np.tanh(np.arctanh(found.estimate) + np.array([-reach, reach]))
    assert_allclose([found.low, found.high], ends)


def test_interval_holds_where_large_sets_are_hardly_ever_missed(rng):
    runs, held = 1000, 0
    for _ in range(runs):
        size, covered = 1.0 + (rng.random(200) < 0.1), rng.random(200) < 0.95
        found = size_correlation(covered, size)
        held += found.low <= 0 <= found.high
    assert held >= binomial_band(runs, 0.95)[0]


def test_shorter_than_fishers_where_there_are_rows_enough():
    # 300 of 500 small sets are covered and 495 of as many large ones: those vary less than normal
    size, covered = np.repeat([1.0, 2.0], 500), np.arange(1000) % 500 >= np.repeat([200, 5], 500)
    found = size_correlation(covered, size)
    ends = np.arctanh([found.low, found.high])
    assert ends[1] - ends[0] < 2 * student.isf(0.025, 999) / np.sqrt(999)
