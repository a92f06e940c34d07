"""Coverage, mean size and interval score."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binomtest
from sklearn.metrics import mean_pinball_loss

from plcp.metrics import coverage, interval_score, mean_size
from plcp.sets import Intervals
from strategies import alphas, few


@few
@given(st.lists(st.booleans(), min_size=1), st.sampled_from([0.5, 0.9, 0.99]))
def test_coverage_has_the_exact_interval_of_scipy(covered, confidence):
    measure = coverage(covered, confidence=confidence)
    test = binomtest(sum(covered), len(covered)).proportion_ci(confidence, method="exact")
    assert measure.exact
    assert measure.estimate == np.mean(covered)
    assert_allclose([measure.low, measure.high], test)
    assert 0 <= measure.low <= measure.high <= 1


def test_one_row_says_little():
    assert_allclose([coverage([True]).low, coverage([True]).high], [0.025, 1])
    assert np.isnan(coverage([True]).standard_error)
    size = mean_size([3.0])
    assert (size.estimate, size.low, size.high) == (3, 0, np.inf)


def test_one_infinite_set_makes_the_mean_infinite_and_leaves_the_quantiles():
    measure = mean_size([1.0, 2.0, np.inf])
    assert (measure.estimate, measure.low, measure.high) == (np.inf, np.inf, np.inf)
    assert np.isnan(measure.standard_error)
    median = measure.table["size"][measure.table["percent"] == 50]
    assert median == 2


@pytest.mark.parametrize(
    ("metric", "values", "message"),
    [
        (coverage, [], r"covered must have shape \(n,\), n at least 1"),
        (coverage, [[True]], r"got \(1, 1\)"),
        (coverage, [True, np.nan], "must be True or False, got nan at row 1"),
        (coverage, [0.5], "got 0.5 at row 0"),
        (mean_size, [], "size is empty"),
        (mean_size, [1, np.nan], "got nan at row 1"),
        (mean_size, [-1.0], "size must be at least 0, got -1.0 at row 0"),
        (mean_size, [[1.0, 2.0]], r"size must have shape"),
    ],
)
def test_bad_values_are_refused(metric, values, message):
    with pytest.raises(ValueError, match=message):
        metric(values)


def draw(rng, n):
    middle, y = rng.normal(size=(2, n))
    half = rng.gamma(2, size=n)
    return middle - half, middle + half, 3 * y


@few
@given(st.integers(0, 2**32 - 1), alphas)
def test_score_is_the_pinball_loss_of_both_ends(seed, alpha):
    lower, upper, y = draw(np.random.default_rng(seed), 25)
    found = interval_score(Intervals(lower, upper), y, alpha)
    ends = ((lower, alpha / 2), (upper, 1 - alpha / 2))
    losses = sum(mean_pinball_loss(y, end, alpha=share) for end, share in ends)
    assert_allclose(found.estimate, 2 / alpha * losses)
    assert_allclose(found.table["mean"].sum(), found.estimate)
    assert_allclose(found.terms.mean(), found.estimate)
    assert 0 <= found.low <= found.estimate <= found.high
    mirrored = interval_score(np.column_stack([-upper, -lower]), -y, alpha)
    assert_allclose(mirrored.table["mean"], found.table["mean"][[0, 2, 1]], atol=1e-12)


def test_one_infinite_interval_makes_the_score_infinite_unless_it_does_not_count():
    ends = [[0, 1], [-np.inf, 2], [0, np.inf]]
    found = interval_score(ends, [0, 0, -1], 0.1)
    assert (found.estimate, found.low, found.high) == (np.inf, np.inf, np.inf)
    assert found.table["mean"].tolist() == [np.inf, 20 / 3, 0]
    assert interval_score(ends, [0, 0, -1], 0.1, sample_weight=[2, 0, 0]).estimate == 1


@pytest.mark.parametrize(
    ("ends", "y", "alpha", "message"),
    [
        (
            [[0, 1], [np.nan, np.nan]],
            [0, 0],
            0.1,
            "row 1 is empty, got nan and nan: .* put a point",
        ),
        ([[0, 1e200]], [0], 0.1, r"upper end must be at most 1e\+100 .* got 1e\+200 at row 0"),
        ([[1, 0]], [0], 0.1, "row 0 is empty, got 1.0 and 0.0"),
        ([0, 1], [0, 0], 0.1, r"intervals must have shape \(n, 2\), .* got \(2,\): pass Intervals"),
        (np.empty((0, 2)), [], 0.1, r"n at least 1, got \(0, 2\)"),
        ([[0, 1]], [0, 0], 0.1, r"y must have shape \(1,\), got \(2,\)"),
        ([[0, 1]], [np.nan], 0.1, "y must be finite, got nan at row 0"),
        ([[0, 1]], [0], 1.0, r"alpha must lie in \(0, 1\), got 1.0"),
    ],
)
def test_errors_name_the_value_and_the_remedy(ends, y, alpha, message):
    with pytest.raises(ValueError, match=message):
        interval_score(ends, y, alpha)
