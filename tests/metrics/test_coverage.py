"""Coverage, mean size and interval score."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, binomtest, norm
from sklearn.metrics import mean_pinball_loss

from bands import FALSE_ALARM
from plcp.metrics import coverage, interval_score, mean_size
from plcp.sets import Intervals
from strategies import alphas, few, scores_with_counts

DATA_SETS = 2000


def same(one, other):
    """Whether two measures agree in all but their rows, up to the order in which sums are taken."""
    numbers = ("estimate", "low", "high", "standard_error")
    assert_allclose(
        [getattr(one, key) for key in numbers], [getattr(other, key) for key in numbers]
    )
    for column in one.table:
        assert_array_equal(one.table[column], other.table[column])


@few
@given(scores_with_counts())
def test_terms_average_to_the_estimate(drawn):
    values, counts = drawn
    for measure in (
        coverage(values > 0, sample_weight=counts),
        mean_size(np.abs(values), sample_weight=counts),
    ):
        assert_allclose(np.average(measure.terms, weights=measure.weights), measure.estimate)
        assert measure.low <= measure.estimate <= measure.high


@few
@given(st.lists(st.booleans(), min_size=1), st.sampled_from([0.5, 0.9, 0.99]))
def test_coverage_has_the_exact_interval_of_scipy(covered, confidence):
    measure = coverage(covered, confidence=confidence)
    test = binomtest(sum(covered), len(covered)).proportion_ci(confidence, method="exact")
    assert measure.exact
    assert measure.estimate == np.mean(covered)
    assert_allclose([measure.low, measure.high], test)
    assert 0 <= measure.low <= measure.high <= 1


def test_all_covered_and_none_covered_have_one_open_end():
    everything, nothing = coverage(np.ones(50)), coverage(np.zeros(50))
    # (1 - p)^50 = 0.025 at the bound
    bound = 1 - 0.025 ** (1 / 50)
    assert (nothing.estimate, nothing.low) == (0, 0)
    assert (everything.estimate, everything.high) == (1, 1)
    assert_allclose([nothing.high, 1 - everything.low], bound)
    assert everything.standard_error == nothing.standard_error == 0


def test_one_row_says_little():
    assert_allclose([coverage([True]).low, coverage([True]).high], [0.025, 1])
    assert np.isnan(coverage([True]).standard_error)
    size = mean_size([3.0])
    assert (size.estimate, size.low, size.high) == (3, 0, np.inf)


def test_standard_error_is_that_of_a_mean(rng):
    covered, size = rng.random(40) < 0.8, rng.exponential(size=40)
    for measure, values in ((coverage(covered), covered), (mean_size(size), size)):
        assert_allclose(measure.standard_error, values.std(ddof=1) / np.sqrt(40))


def test_one_infinite_set_makes_the_mean_infinite_and_leaves_the_quantiles():
    measure = mean_size([1.0, 2.0, np.inf])
    assert (measure.estimate, measure.low, measure.high) == (np.inf, np.inf, np.inf)
    assert np.isnan(measure.standard_error)
    median = measure.table["size"][measure.table["percent"] == 50]
    assert median == 2


def test_an_infinite_set_of_weight_zero_is_not_there():
    assert mean_size([1.0, 2.0, np.inf], sample_weight=[1, 1, 0]).estimate == 1.5


@pytest.mark.parametrize("n", [200, 1000])
def test_the_interval_of_coverage_holds_it(rng, n):
    """Exact: at least 95 %, so as few hits as the band's lower end are a false alarm."""
    found = sum(
        measure.low <= 0.9 <= measure.high
        for measure in (coverage(rng.random(n) < 0.9) for _ in range(DATA_SETS))
    )
    assert found >= binom.ppf(FALSE_ALARM, DATA_SETS, 0.95)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda rng, n: rng.random(n), 0.5),
        (lambda rng, n: rng.exponential(size=n), 1.0),
        (lambda rng, n: 1.0 + rng.binomial(9, 0.1, n), 1.9),
    ],
    ids=["uniform", "exponential", "labels"],
)
def test_the_interval_of_mean_size_holds_it_as_often_as_it_says(rng, draw, expected, n):
    """Between 94 and 97 %, up to the noise of so many data sets."""
    found = sum(
        measure.low <= expected <= measure.high
        for measure in (mean_size(draw(rng, n)) for _ in range(DATA_SETS))
    )
    assert (
        binom.ppf(FALSE_ALARM, DATA_SETS, 0.94) <= found <= binom.isf(FALSE_ALARM, DATA_SETS, 0.97)
    )


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


@pytest.mark.parametrize("metric", [coverage, mean_size])
def test_bad_options_are_refused(metric):
    with pytest.raises(ValueError, match=r"confidence must lie in \(0, 1\), got 95"):
        metric([1], confidence=95)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(1,\), got \(2,\)"):
        metric([1], sample_weight=[1, 2])
    with pytest.raises(ValueError, match=r"sample_weight counts rows, got 0.5 at row 0"):
        metric([1], sample_weight=[0.5])


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
    losses = sum(mean_pinball_loss(y, end, alpha=level) for end, level in ends)
    assert_allclose(found.estimate, 2 / alpha * losses)
    assert_allclose(found.table["mean"].sum(), found.estimate)
    assert_allclose(found.terms.mean(), found.estimate)
    assert 0 <= found.low <= found.estimate <= found.high
    mirrored = interval_score(np.column_stack([-upper, -lower]), -y, alpha)
    assert_allclose(mirrored.table["mean"], found.table["mean"][[0, 2, 1]], atol=1e-12)


def test_score_of_the_quantiles_of_a_normal_law(rng):
    y, end = rng.normal(size=20_000), norm.isf(0.05)
    found = interval_score(np.tile([-end, end], (20_000, 1)), y, 0.1)
    expected = 2 * end + 40 * (norm.pdf(end) - end * 0.05)
    assert abs(found.estimate - expected) < norm.isf(FALSE_ALARM / 2) * found.standard_error


def test_one_infinite_interval_makes_the_score_infinite_unless_it_does_not_count():
    ends = [[0, 1], [-np.inf, 2], [0, np.inf]]
    found = interval_score(ends, [0, 0, -1], 0.1)
    assert (found.estimate, found.low, found.high) == (np.inf, np.inf, np.inf)
    assert found.table["mean"].tolist() == [np.inf, 20 / 3, 0]
    assert interval_score(ends, [0, 0, -1], 0.1, sample_weight=[2, 0, 0]).estimate == 1


def test_one_row_have_no_spread():
    found = interval_score([[0, 1]], [2], 0.5)
    assert (found.estimate, found.low, found.high) == (5, 0, np.inf)


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
