"""The interval score, as a sum of pinball losses and where it is known."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.metrics import mean_pinball_loss

from bands import FALSE_ALARM
from plcp.metrics import interval_score
from plcp.sets import Intervals
from strategies import alphas, few


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


@few
@given(st.integers(0, 2**32 - 1))
def test_weights_are_copies_and_order_is_nothing(seed):
    rng = np.random.default_rng(seed)
    lower, upper, y = draw(rng, 12)
    counts = rng.integers(0, 4, 12) + (np.arange(12) == 0)
    copies = np.repeat(np.arange(12), counts)[::-1]
    ends = np.column_stack([lower, upper])
    weighted = interval_score(ends, y, 0.1, sample_weight=counts)
    copied = interval_score(ends[copies], y[copies], 0.1)
    for name in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(weighted, name), getattr(copied, name))


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


def test_one_row_tells_no_spread():
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
