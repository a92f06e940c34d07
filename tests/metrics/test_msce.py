"""The mean squared conditional coverage error: known, estimated, bounded."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import expon, norm, uniform
from sklearn.tree import DecisionTreeClassifier

from bands import FALSE_ALARM
from plcp.metrics import ert, estimated_msce, msce, msce_of_law, pinball_excess_bound
from plcp.quantiles import pinball_loss
from strategies import alphas, few


def test_table_has_what_shares_of_the_rows_do_not_exceed(rng):
    inside = rng.uniform(size=47)
    table = msce(inside, 0.1).table
    for percent, value in zip(table["percent"][1:], table["conditional_coverage"][1:], strict=True):
        assert 100 * (inside <= value).sum() >= percent * 47
        assert 100 * (inside < value).sum() < percent * 47
    assert table["conditional_coverage"][0] == inside.min()


def test_one_row_leaves_all_that_is_possible():
    measure = msce([0.7], 0.1)
    assert measure.estimate == pytest.approx(0.04)
    assert (measure.low, measure.high) == (0, 0.81)


def test_known_law_gives_the_coverage_of_each_threshold(rng):
    scale, q = rng.uniform(0.5, 2, 40), rng.uniform(0, 5, 40)
    measure = msce_of_law(q, expon(scale=scale), 0.2)
    assert_allclose(measure.estimate, np.mean((1 - np.exp(-q / scale) - 0.8) ** 2))
    at_best = msce_of_law(expon(scale=scale).ppf(0.8), expon(scale=scale), 0.2)
    assert at_best.high < 1e-20
    assert float(msce_of_law([np.inf, -np.inf], norm(), 0.1)) == pytest.approx((0.01 + 0.81) / 2)


def test_estimate_is_the_one_step_estimator_and_never_biased_upward(rng):
    coverage = np.array([0.5, 0.85, 0.95, 1.0])
    x = rng.integers(0, 4, 4000)
    covered = rng.uniform(size=4000) < coverage[x]
    settings = {"classifier": DecisionTreeClassifier(), "random_state": 3}
    found = estimated_msce(x[:, None], covered, 0.1, **settings)
    squared = ert(x[:, None], covered, 0.1, norm="L2", **settings)
    assert_array_equal(found.terms, squared.terms)
    assert (found.low, found.high) == (squared.low, squared.high)
    truth = np.mean((coverage[x] - 0.9) ** 2)
    assert abs(found.estimate - truth) < norm.isf(FALSE_ALARM / 2) * found.standard_error
    # one step from the plug-in: (p - t)² + 2 (p - t)(c - p)
    p, c, t = rng.uniform(size=9), rng.integers(0, 2, 9), 0.9
    assert_allclose((p - t) ** 2 + 2 * (p - t) * (c - p), (c - t) ** 2 - (c - p) ** 2)


def test_bound_is_the_mean_excess_and_sharp_for_a_uniform_law(rng):
    width, share = rng.uniform(1, 2, 5000), rng.uniform(0.6, 1, 5000)
    law = uniform(scale=width)
    scores, q = law.rvs(random_state=rng), share * width
    # proposition 3.5 is an equality where the density is L all over
    flat = uniform(scale=np.ones(5000))
    bound = pinball_excess_bound(scores / width, share, np.full(5000, 0.9), 0.1, lipschitz=1.0)
    truth = float(msce_of_law(share, flat, 0.1))
    assert abs(bound.estimate - truth) < norm.isf(FALSE_ALARM / 2) * bound.standard_error
    wide = pinball_excess_bound(scores, q, 0.9 * width, 0.1, lipschitz=1.0)
    excess = pinball_loss(q, scores, 0.1) - pinball_loss(0.9 * width, scores, 0.1)
    assert_allclose(wide.estimate, 2 * excess.mean())
    assert_allclose(pinball_excess_bound(scores, q, 0.9 * width, 0.1, 3.0).high, 3 * wide.high)
    assert_allclose(np.average(wide.table["bound"], weights=wide.table["n"]), wide.estimate)


@few
@given(st.floats(0.2, 6), alphas)
def test_bound_lies_above_the_error_of_an_exponential_law(threshold, alpha):
    best = expon.ppf(1 - alpha)
    scores = expon.ppf((np.arange(4000) + 0.5) / 4000)
    columns = np.full((2, 4000), [[threshold], [best]])
    bound = pinball_excess_bound(scores, *columns, alpha, lipschitz=1.0)
    # the grid's mean differs from the expectation by less than a step of the steeper slope
    slack = 2 * abs(threshold - best) / 4000
    assert bound.estimate + slack >= float(msce_of_law(columns[0], expon(), alpha))


ONE = [0.5, 0.6]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: msce([], 0.1), "conditional_coverage is empty: pass one number per row"),
        (lambda: msce([True, False], 0.1), "must be the probability of it: .* estimated_msce"),
        (lambda: msce([0.5, 1.2], 0.1), "must be between 0 and 1, got 1.2 at row 1"),
        (lambda: msce([np.nan], 0.1), "finite, got nan at row 0"),
        (lambda: msce([[0.5], [0.6]], 0.1), r"must have shape \(2,\), got \(2, 1\)"),
        (lambda: msce(ONE, 0), r"alpha must lie in \(0, 1\), got 0"),
        (lambda: msce(ONE, 0.1, confidence=2), r"confidence must lie in \(0, 1\), got 2"),
        (lambda: msce(ONE, 0.1, sample_weight=[1]), r"sample_weight must have shape \(2,\)"),
        (lambda: msce_of_law([np.nan], norm(), 0.1), "thresholds must be a number, got nan"),
        (
            lambda: msce_of_law(ONE, norm([0, 1, 2], 1), 0.1),
            r"law has shape \(3,\), .* \(2,\): give",
        ),
        (lambda: msce_of_law([1], norm([0, 1], 1), 0.1), r"law has shape \(2,\), but .* \(1,\)"),
        (lambda: pinball_excess_bound([], [], [], 0.1, 1), "scores is empty"),
        (lambda: pinball_excess_bound(ONE, [1], ONE, 0.1, 1), r"thresholds must have shape \(2,\)"),
        (lambda: pinball_excess_bound(ONE, [1, np.inf], ONE, 0.1, 1), "finite, got inf at row 1"),
        (lambda: pinball_excess_bound(ONE, ONE, [1], 0.1, 1), "best_thresholds must have shape"),
        (lambda: pinball_excess_bound(ONE, ONE, ONE, 0.1, 0), "positive and finite, got 0: give"),
        (lambda: pinball_excess_bound(ONE, ONE, ONE, 0.1, np.inf), "and finite, got inf"),
        (lambda: pinball_excess_bound(ONE, ONE, ONE, 0.1, "1"), "and finite, got '1'"),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
