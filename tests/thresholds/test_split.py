"""Split conformal: the rotation law, weights as rows, and what it does not look at."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from plcp import SplitConformal
from plcp.exceptions import InfiniteThresholdWarning
from plcp.out_of_core.passes import Held
from plcp.quantiles import conformal_rank
from strategies import alphas, distinct_scores, few, scores_with_counts


def threshold(scores, alpha, **fit):
    """Threshold of a fresh rule; infinite ones are under test elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        return SplitConformal(alpha).fit(np.zeros((len(scores), 1)), scores, **fit).predict([[0]])


@few
@given(distinct_scores(min_size=2), alphas)
def test_leaving_each_out_covers_exactly_the_rank(scores, alpha):
    n = len(scores) - 1
    covered = sum(
        float(s <= threshold(np.delete(scores, i), alpha)[0]) for i, s in enumerate(scores)
    )
    assert covered == conformal_rank(n, alpha)


@few
@given(scores_with_counts(), alphas)
def test_weights_are_repeated_rows(drawn, alpha):
    scores, counts = drawn
    weighted = threshold(scores, alpha, sample_weight=counts)
    assert weighted == threshold(np.repeat(scores, counts), alpha)


def test_features_do_not_matter(rng):
    scores = rng.normal(size=40)
    rules = [SplitConformal().fit(X, scores) for X in (np.zeros((40, 1)), rng.normal(size=(40, 3)))]
    assert rules[0].threshold_ == rules[1].threshold_


def test_row_order_shift_and_scale(rng):
    scores = rng.integers(-50, 50, 40).astype(float)
    base = threshold(scores, 0.1)
    assert_array_equal(threshold(rng.permutation(scores), 0.1), base)
    assert_array_equal(threshold(scores + 8, 0.1), base + 8)
    assert_array_equal(threshold(4 * scores, 0.1), 4 * base)


def test_light_rows_are_too_few_however_many():
    with pytest.warns(InfiniteThresholdWarning, match="5 calibration points are fewer than the 9"):
        rule = SplitConformal().fit(np.zeros((50, 1)), np.arange(50), np.full(50, 0.1))
    assert rule.threshold_ == np.inf


@pytest.mark.parametrize(("alpha", "needed"), [(0.1, 9), (0.05, 19), (0.5, 1), (0.3, 3), (0.9, 1)])
def test_finite_from_the_number_of_points_it_needs(alpha, needed):
    enough = SplitConformal(alpha).fit(np.zeros((needed, 1)), np.arange(needed))
    assert np.isfinite(enough.threshold_)
    if needed > 1:
        with pytest.warns(InfiniteThresholdWarning, match=f"fewer than the {needed} that"):
            SplitConformal(alpha).fit(np.zeros((needed - 1, 1)), np.arange(needed - 1))


def test_score_is_the_negative_pinball_loss():
    rule = SplitConformal(0.5).fit(np.zeros((3, 1)), [1.0, 2.0, 3.0])
    assert rule.score(np.zeros((2, 1)), [1.0, 4.0]) == -0.75
    assert rule.score(np.zeros((2, 1)), [1.0, 4.0], sample_weight=[0, 1]) == -1.0
    rule.set_params(alpha=0.1)  # the fit was at 0.5
    assert rule.score(np.zeros((2, 1)), [1.0, 4.0]) == -0.75
    assert (
        rule.fit_blocks(Held([(np.arange(1.0, 4.0).repeat(5),)])).score(np.zeros((1, 1)), [4.0])
        == -0.9
    )


def test_a_weighted_guarantee_is_approximate():
    X, scores = np.zeros((20, 1)), np.arange(20.0)
    assert SplitConformal().fit(X, scores).guarantee_.kind == "exact"
    weighted = SplitConformal().fit(X, scores, sample_weight=np.full(20, 2.0)).guarantee_
    assert weighted.kind == "approximate"
    assert "one above 1" in str(weighted)


def test_no_row_has_a_group():
    rule = SplitConformal().fit(np.zeros((20, 1)), np.arange(20))
    groups, thresholds = rule.assign(np.zeros((3, 1)))
    assert groups is None
    assert_array_equal(thresholds, rule.predict(np.zeros((3, 1))))


def test_blocks_have_the_threshold_of_all_rows(rng):
    X, scores = np.zeros((60, 1)), rng.normal(size=60)
    rule = SplitConformal([0.1, 0.2]).fit(X, scores).set_params(alpha=0.1)
    rule.fit_blocks(Held([(scores[:25],), (scores[25:],)]))
    assert rule.threshold_ == SplitConformal(0.1).fit(X, scores).threshold_
    assert not hasattr(rule, "rules_")  # of the earlier fit
