"""Randomised ranks: equality whatever the ties, by draws of rows; the law is in test_quantiles."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.frozen import FrozenEstimator

import plcp
from bands import binomial_band
from plcp import (
    ConformalClassifier,
    ConformalRegressor,
    LabelProbability,
    Mondrian,
    SplitConformal,
)
from plcp.exceptions import InfiniteThresholdWarning
from plcp.monitoring.martingale import Urn
from plcp.monitoring.watches import watches_of
from plcp.out_of_core import Held
from plcp.quantiles import smoothed_quantiles
from strategies import alphas, few, scores_with_counts

DRAWN = {"randomize": True, "random_state": 0}
RULES = {"split": SplitConformal(**DRAWN), "mondrian": Mondrian(0, **DRAWN)}
both = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def rows(n, rng):
    """Rows of two groups that all differ, and whole scores."""
    X = np.column_stack([np.arange(n) % 2, np.arange(n)]).astype(float)
    return X, rng.integers(0, 4, n).astype(float)


def same(n):
    """Rows of which none differs from another."""
    return np.zeros((n, 1))


def test_split_draws_the_steps_of_smoothed_quantiles_in_their_shares(rng):
    _, scores = rows(25, rng)
    rule = SplitConformal(**DRAWN).fit(np.zeros((25, 1)), scores)
    ends, thresholds = smoothed_quantiles(scores, 0.1)
    found = rule.predict(np.arange(10_000.0)[:, None])
    assert set(found) == set(thresholds)
    for threshold, share in zip(thresholds, np.diff([0, *ends, 1]), strict=True):
        low, high = binomial_band(10_000, share)
        assert low <= (found == threshold).sum() <= high
    assert rule.threshold_ == found.max() == SplitConformal().fit(same(25), scores).threshold_


def test_mondrian_draws_those_of_each_group(rng):
    X, scores = rows(60, rng)
    scores[X[:, 0] == 1] += 10
    rule = Mondrian(0, **DRAWN).fit(X, scores)
    new = np.column_stack([np.arange(4000) % 2, np.arange(4000)]).astype(float)
    found = rule.predict(new)
    for group in range(2):
        expected = smoothed_quantiles(scores[X[:, 0] == group], 0.1)[1]
        assert set(found[new[:, 0] == group]) == set(expected)
    with pytest.warns(InfiniteThresholdWarning, match=r"\[7.0\] were not seen"):
        assert rule.predict([[7.0, 0.0]]) == [np.inf]


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_coverage_is_one_minus_alpha_where_almost_all_scores_tie(alpha):
    """Over calibration sets, test rows and draws: one row of each set, so that counts are binomial.

    Without draws 0.9 and more of the scores would be covered.
    """
    rng, n_sets = np.random.default_rng(0), 4000
    covered = 0
    for seed in range(n_sets):
        scores = (rng.uniform(size=31) > 0.9).astype(float)
        rule = SplitConformal(alpha, randomize=True, random_state=seed)
        covered += bool(scores[-1] <= rule.fit(np.zeros((30, 1)), scores[:-1]).predict([[1.0]])[0])
    low, high = binomial_band(n_sets, 1 - alpha)
    assert low <= covered <= high


@both
def test_a_row_alone_is_answered_as_among_others_and_equal_rows_alike(rule, rng):
    rule = clone(rule).fit(*rows(40, rng))
    new = rows(300, rng)[0]
    batch = rule.predict(new)
    assert_array_equal(np.concatenate([rule.predict(row[None]) for row in new]), batch)
    assert_array_equal(rule.predict(new[::-1]), batch[::-1])
    assert len(set(batch)) > len(set(rule.predict(np.tile(new[:1], (300, 1)))))
    frame = pd.DataFrame(new, columns=["group", "x"])
    batch = rule.fit(frame[:40], np.arange(40.0)).predict(frame)
    assert_array_equal(np.concatenate([rule.predict(frame[i : i + 1]) for i in range(300)]), batch)


@both
def test_a_seed_decides_and_another_decides_otherwise(rule, rng):
    X, scores = rows(40, rng)
    first, again = (clone(rule).fit(X, scores).predict(X) for _ in range(2))
    other = clone(rule).set_params(random_state=1).fit(X, scores).predict(X)
    assert_array_equal(first, again)
    assert (first != other).any()
    assert clone(rule).fit(X, scores).draws


@both
def test_several_alphas_share_the_draw_of_a_row(rule, rng):
    """So that thresholds never cross, and none is raised."""
    X, scores = rows(40, rng)
    several = clone(rule).set_params(alpha=[0.1, 0.3, 0.2]).fit(X, scores)
    alone = [
        clone(rule).set_params(alpha=alpha).fit(X, scores).predict(X) for alpha in (0.1, 0.3, 0.2)
    ]
    assert_array_equal(several.predict(X), np.column_stack(alone))


@few
@given(scores_with_counts(), alphas)
def test_no_threshold_of_a_row_is_above_that_without_draws(drawn, alpha):
    scores = np.repeat(*drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        plain = SplitConformal(alpha).fit(same(len(scores)), scores)
    rule = SplitConformal(alpha, **DRAWN).fit(same(len(scores)), scores)
    assert (rule.predict(np.arange(50.0)[:, None]) <= plain.threshold_).all()


def test_intervals_of_whole_numbers_leave_out_the_label_at_an_excluded_end(rng):
    """The end next to p + 3 is no whole number, although p + 3⁻ would round to p + 3."""
    model = FrozenEstimator(DummyRegressor(strategy="constant", constant=5.0).fit([[0]], [0]))
    X, y = np.arange(40.0)[:, None], 5.0 + rng.integers(-3, 4, 40)
    sets = ConformalRegressor(model, threshold=SplitConformal(0.2, **DRAWN)).fit(X, y)
    new = np.arange(1000.0, 2000.0)[:, None]
    new_y = 5.0 + rng.integers(-3, 4, 1000)
    seen = sets.examine(new, new_y)
    assert len(set(seen.thresholds[:, 0])) > 1
    assert_array_equal(seen.sets.contains(new_y), seen.scores[:, 0] <= seen.thresholds[:, 0])


def test_an_accurate_classifier_covers_no_more_than_it_must(rng):
    """The score of a label that is sure is zero: without draws every set would hold it."""
    X, y = np.arange(3000.0)[:, None], np.zeros(3000, dtype=int)
    y[:2] = 1, 0
    model = FrozenEstimator(DummyClassifier(strategy="constant", constant=0).fit(X, y))
    y[0] = 0
    sure = ConformalClassifier(model, LabelProbability(), SplitConformal()).fit(X[:999], y[:999])
    assert sure.predict_set(X[1000:]).contains(y[1000:]).all()
    drawn = ConformalClassifier(model, LabelProbability(), SplitConformal(**DRAWN))
    covered = drawn.fit(X[:999], y[:999]).predict_set(X[1000:]).contains(y[1000:]).sum()
    low, high = binomial_band(2000, 0.9)
    assert low <= covered <= high


def test_a_few_points_have_no_warning_but_some_infinite_thresholds():
    rule = SplitConformal(**DRAWN).fit(same(4), np.arange(4.0))
    found = rule.predict(np.arange(2000.0)[:, None])
    low, high = binomial_band(2000, 0.5)  # the draws beyond alpha (n + 1)
    assert low <= np.isinf(found).sum() <= high


@both
def test_the_guarantee_is_an_equation(rule, rng):
    found = clone(rule).fit(*rows(40, rng)).guarantee_
    assert found.kind == "exact"
    assert "By its draws it is an equation, however many scores tie." in str(found)


@both
def test_files_keep_the_draws(rule, rng, tmp_path):
    X, scores = rows(40, rng)
    fitted = clone(rule).fit(X, scores)
    plcp.save(fitted, tmp_path / "rule.plcp")
    assert_array_equal(plcp.load(tmp_path / "rule.plcp").predict(X), fitted.predict(X))


@both
def test_monitors_expect_alpha_and_call_it_approximate(rule, rng):
    fitted = clone(rule).fit(*rows(40, rng))
    (watch,) = watches_of(fitted)
    assert not watch.exact
    assert watch.all_rows == Urn(*(pytest.approx(part) for part in (4.1, 36.9)))


@both
def test_a_later_fit_without_draws_leaves_none(rule, rng):
    X, scores = rows(40, rng)
    blocks = Held([(scores,)]) if isinstance(rule, SplitConformal) else Held([(X[:, 0], scores)])
    plain = clone(rule).set_params(randomize=False).fit(X, scores).predict(X)
    for refit in (lambda rule: rule.fit(X, scores), lambda rule: rule.fit_blocks(blocks)):
        fitted = clone(rule).fit(X, scores).set_params(randomize=False)
        assert_array_equal(refit(fitted).predict(X), plain)


@both
def test_what_draws_cannot_have_is_refused(rule, rng):
    X, scores = rows(40, rng)
    with pytest.raises(ValueError, match="sample_weight is not supported with randomize"):
        clone(rule).fit(X, scores, sample_weight=np.ones(40))
    with pytest.raises(ValueError, match="needs all rows in memory"):
        clone(rule).fit_blocks(Held([(X[:, 0], scores)]))
    with pytest.raises(ValueError, match="randomize must be True or False, got 'yes'"):
        clone(rule).set_params(randomize="yes").fit(X, scores)
