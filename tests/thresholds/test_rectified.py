"""Rectified: the rotation law for any model, reductions to Split, equivariance, rough models."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from bands import beta_binomial_band
from plcp import ConformalRegressor, LinearQuantile, Rectified, SplitConformal
from plcp.datasets import make_nonlinear, make_toy
from plcp.exceptions import InfiniteThresholdWarning
from plcp.metrics import msce
from plcp.quantiles import conformal_rank
from plcp.thresholds._plcp_learning import Pairs
from plcp.thresholds.rectified import ratio_to
from strategies import alphas, distinct_scores, few

ADJUSTMENTS = ["ratio", "difference"]


class FirstColumn(RegressorMixin, BaseEstimator):
    """A model whose prediction can be read off X."""

    def fit(self, X, y=None):
        self.n_features_in_ = 1
        return self

    def predict(self, X):
        return np.asarray(X, dtype=float)[:, 0]


FROZEN = FrozenEstimator(FirstColumn().fit(None))


def quiet_fit(rule, X, scores, **fit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        return rule.fit(X, scores, **fit)


@pytest.mark.parametrize("adjustment", ADJUSTMENTS)
@few
@given(distinct_scores(min_size=2, max_size=30), alphas, st.integers(0, 2**32 - 1))
def test_leaving_each_out_covers_exactly_the_rank(adjustment, scores, alpha, seed):
    """Whatever the frozen model says, if no two adjusted scores are the same but for rounding."""
    tau = np.random.default_rng(seed).uniform(0.1, 10, len(scores))
    adjusted = scores / tau if adjustment == "ratio" else scores - tau
    assume(np.diff(np.sort(adjusted)).min() > 1e-12 * np.abs(adjusted).max())
    covered = 0
    for i, s in enumerate(scores):
        rest = np.delete(np.arange(len(scores)), i)
        rule = Rectified(FROZEN, alpha, adjustment=adjustment)
        quiet_fit(rule, tau[rest, None], scores[rest])
        covered += bool(s <= rule.predict(tau[[i], None])[0])
    assert covered == conformal_rank(len(scores) - 1, alpha)


positive = st.floats(1e-300, 1e300)


@few
@given(hnp.arrays(float, 20, elements=positive), hnp.arrays(float, 20, elements=positive))
def test_ratio_never_falls_short_of_its_score(tau, scores):
    with np.errstate(over="ignore"):
        assert (tau * ratio_to(tau, scores) >= scores).all()
        plain = tau * (scores / tau) >= scores
        assert_array_equal(ratio_to(tau, scores)[plain], (scores / tau)[plain])


@pytest.mark.parametrize("adjustment", ADJUSTMENTS)
@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_the_rank_of_calibration_scores_lies_at_or_below(rng, adjustment, alpha):
    """In floating point, too: the score that set the constant is covered by its threshold."""
    for _ in range(200):
        tau, scores = rng.uniform(0.1, 3, (29, 1)), rng.exponential(size=29)
        rule = Rectified(FROZEN, alpha, adjustment=adjustment).fit(tau, scores)
        assert (scores <= rule.predict(tau)).sum() == conformal_rank(29, alpha)


def halves(rule, X, scores):
    """Rows that teach and rows that calibrate, as the rule's own seed divides them."""
    parts = Pairs(X, scores, None)
    return parts.cut(rule.calibration_size, np.random.RandomState(rule.random_state))


@pytest.mark.parametrize("adjustment", ADJUSTMENTS)
@pytest.mark.parametrize("size", [0.3, 0.5])
def test_a_constant_model_is_split_on_the_rows_held_out(rng, adjustment, size):
    X, scores = rng.normal(size=(200, 2)), rng.integers(1, 1000, 200) / 4.0
    regressor = DummyRegressor(strategy="constant", constant=4.0)
    rule = Rectified(regressor, adjustment=adjustment, calibration_size=size, random_state=3)
    held = halves(rule, X, scores)[1]
    split = SplitConformal().fit(held.X, held.scores)
    assert_array_equal(rule.fit(X, scores).predict(X), split.predict(X))


@pytest.mark.parametrize("adjustment", ADJUSTMENTS)
def test_the_formula_by_hand(rng, adjustment):
    X, scores = rng.uniform(1, 2, size=(100, 1)), rng.exponential(size=100) + 1
    rule = Rectified(LinearQuantile(), 0.2, adjustment=adjustment, random_state=1).fit(X, scores)
    learn, held = halves(rule, X, scores)
    tau = LinearQuantile(quantile=0.8).fit(learn.X, learn.scores)
    values = held.scores / tau.predict(held.X)
    if adjustment == "difference":
        values = held.scores - tau.predict(held.X)
    c = np.sort(values)[conformal_rank(50, 0.2) - 1]
    expected = tau.predict(X) * c if adjustment == "ratio" else tau.predict(X) + c
    np.testing.assert_allclose(rule.predict(X), expected, rtol=1e-14)


def test_auto_divides_where_no_score_is_negative(rng):
    X, scores = rng.normal(size=(40, 1)), rng.normal(size=40)
    assert Rectified(LinearQuantile()).fit(X, scores).adjustment_ == "difference"
    assert Rectified(LinearQuantile()).fit(X, np.abs(scores)).adjustment_ == "ratio"


def test_rows_that_calibrate_do_not_choose_the_adjustment(rng):
    """Else a confidence would be lost; a negative score has a ratio as any other."""
    X, scores = rng.normal(size=(80, 1)), rng.uniform(1, 2, 80)
    rule = Rectified(LinearQuantile(), random_state=0)
    held = halves(rule, X, np.arange(80.0))[1].scores.astype(int)
    scores[held] -= 1.5
    rule.fit(X, scores)
    assert rule.adjustment_ == "ratio"
    assert (scores[held] <= rule.predict(X[held])).sum() == conformal_rank(40, 0.1)


def test_shift_and_scale(rng):
    """Powers of two, so that nothing is rounded on the way; neighbours average exactly alike."""
    X, scores = rng.normal(size=(60, 1)), rng.integers(1, 64, 60).astype(float)
    regressor = KNeighborsRegressor(4)
    for adjustment in ADJUSTMENTS:
        rule = Rectified(regressor, adjustment=adjustment, random_state=0)
        base = rule.fit(X, scores).predict(X)
        assert_array_equal(rule.fit(X, 4 * scores).predict(X), 4 * base)
    assert_array_equal(rule.fit(X, scores + 8).predict(X), base + 8)


def test_weights_are_repeated_rows_for_a_frozen_model(rng):
    tau, scores = rng.uniform(1, 2, (40, 1)), rng.exponential(size=40)
    counts = rng.integers(0, 4, 40)
    weighted = Rectified(FROZEN).fit(tau, scores, sample_weight=counts)
    repeated = Rectified(FROZEN).fit(np.repeat(tau, counts, axis=0), np.repeat(scores, counts))
    assert_array_equal(weighted.predict(tau), repeated.predict(tau))
    assert repeated.guarantee_.kind == "exact"
    assert weighted.guarantee_.kind == "approximate"


def test_weights_reach_model_and_constant(rng):
    X, scores = rng.uniform(size=(400, 1)), rng.exponential(size=400)
    heavy = np.where(scores > 1, 5.0, 1.0)
    rule = Rectified(LinearQuantile(), random_state=0)
    plain = clone(rule).fit(X, scores)
    weighted = clone(rule).fit(X, scores, sample_weight=heavy)
    ones = clone(rule).fit(X, scores, sample_weight=np.ones(400))
    assert (weighted.predict_quantile(X) > plain.predict_quantile(X)).all()
    assert_array_equal(ones.predict(X), plain.predict(X))


def test_a_second_fit_leaves_nothing_of_the_first(rng):
    X, scores = rng.normal(size=(80, 3)), rng.exponential(size=80)
    rule = Rectified(LinearQuantile(), random_state=0).fit(X, scores)
    rule.fit(X[:, :2], scores - 5)
    fresh = Rectified(LinearQuantile(), random_state=0).fit(X[:, :2], scores - 5)
    assert_array_equal(rule.predict(X[:, :2]), fresh.predict(X[:, :2]))
    assert set(vars(rule)) == set(vars(fresh))
    assert rule.adjustment_ == "difference"


def test_coverage_is_in_the_band_of_split_conformal_and_the_error_below_it():
    task, test = make_nonlinear(4000, random_state=0), make_nonlinear(20_000, random_state=1)
    rule = Rectified(random_state=0).fit(task.X, task.scores)
    q = rule.predict(test.X)
    low, high = beta_binomial_band(20_000, 2000, conformal_rank(2000, 0.1))
    assert low <= (test.scores <= q).sum() <= high
    split = SplitConformal().fit(task.X, task.scores).predict(test.X)
    error, theirs = (float(msce(test.conditional_coverage(t), 0.1)) for t in (q, split))
    assert error < theirs / 2


def test_frames_with_categories_and_gaps(rng):
    n = 400
    frame = pd.DataFrame({"age": rng.uniform(20, 60, n), "kind": rng.choice(["a", "b"], n)})
    frame.loc[::7, "age"] = np.nan
    frame.loc[::11, "kind"] = None
    scores = np.where(frame["kind"] == "b", 10.0, 1.0) * rng.exponential(size=n)
    rule = Rectified(random_state=0).fit(frame, scores)
    noisy = rule.predict(frame[frame["kind"] == "b"])
    assert noisy.min() > rule.predict(frame[frame["kind"] == "a"]).max()
    model = ConformalRegressor(DummyRegressor(), threshold=Rectified(random_state=0))
    assert model.fit(frame, scores).predict_interval(frame).shape == (n, 2)


def test_models_that_are_not_positive_are_floored(rng):
    X = rng.uniform(size=(400, 1))
    scores = X[:, 0] * rng.uniform(size=400)
    low = DummyRegressor(strategy="constant", constant=-3.0)
    rule = Rectified(low, random_state=0).fit(X, scores)
    held = halves(rule, X, scores)[1]
    assert rule.floor_ > 0
    assert (held.scores <= rule.predict(held.X)).sum() == conformal_rank(200, 0.1)


def test_outliers_do_not_floor_the_model(rng):
    X = rng.uniform(size=(400, 1))
    scores = (1 + X[:, 0]) * rng.uniform(size=400)
    plain = Rectified(LinearQuantile(), random_state=0).fit(X, scores).predict(X)
    scores[:5] = 1e12
    outlying = Rectified(LinearQuantile(), random_state=0).fit(X, scores).predict(X)
    assert np.abs(np.log(outlying / plain)).max() < 0.2


def test_a_frozen_model_that_is_not_positive_is_told(rng):
    tau, scores = np.r_[np.full(3, -1.0), np.ones(57)][:, None], rng.uniform(1, 2, 60)
    with pytest.warns(UserWarning, match="not positive at 3 of 60 rows.*difference"):
        rule = Rectified(FROZEN).fit(tau, scores)
    assert (scores <= rule.predict(tau)).sum() == conformal_rank(60, 0.1)


def test_an_infinite_constant_is_told_by_its_cause(rng):
    tau, scores = np.full((60, 1), -1.0), rng.uniform(100, 200, 60)
    with (
        pytest.warns(InfiniteThresholdWarning, match="more than 0.1 of the scores are infinitely"),
        pytest.warns(UserWarning, match="not positive at 60 of 60 rows"),
    ):
        assert Rectified(FROZEN).fit(tau, scores).level_ == np.inf
    with pytest.warns(InfiniteThresholdWarning, match="8 calibration points are fewer than the 9"):
        Rectified(FROZEN).fit(-tau[:8], scores[:8])


def test_scores_all_zero_or_huge(rng):
    X = rng.normal(size=(60, 2))
    assert_array_equal(Rectified(LinearQuantile()).fit(X, np.zeros(60)).predict(X), np.zeros(60))
    regressor = HistGradientBoostingRegressor(loss="quantile")
    assert np.isfinite(Rectified(regressor).fit(X, np.full(60, 1e300)).predict(X)).all()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Rectified(alpha=1.2), "alpha must lie in"),
        (Rectified("line"), "regressor must be a scikit-learn regressor or None, got 'line'"),
        (Rectified(adjustment="product"), "adjustment must be one of 'auto'"),
        (Rectified(calibration_size=1.0), "calibration_size must lie in"),
    ],
)
def test_bad_options(rng, rule, message):
    with pytest.raises(ValueError, match=message):
        rule.fit(rng.normal(size=(40, 1)), np.ones(40))


def test_bad_rows_and_models(rng):
    X, scores = rng.normal(size=(40, 2)), rng.exponential(size=40)
    with pytest.raises(ValueError, match="n_samples=1"):
        Rectified().fit(X[:1], scores[:1])
    with pytest.warns(InfiniteThresholdWarning, match="5 calibration points are fewer"):
        assert np.isinf(Rectified().fit(X[:10], scores[:10]).predict(X)).all()
    with pytest.raises(ValueError, match="does not accept sample_weight"):
        Rectified(KNeighborsRegressor()).fit(X, scores, sample_weight=np.full(40, 2.0))
    with pytest.raises(ValueError, match="boosted regressor"):
        Rectified(LinearRegression()).fit(np.full((40, 2), np.nan), scores)
    with pytest.raises(ValueError, match="2 features"):
        Rectified(LinearQuantile()).fit(X, scores).predict(X[:, :1])


def test_a_frozen_model_calibrates_on_all_rows():
    train, cal = make_toy(500, random_state=0), make_toy(19, random_state=1)
    fitted = LinearQuantile(quantile=0.9).fit(train.X, train.scores)
    rule = Rectified(FrozenEstimator(fitted)).fit(cal.X, cal.scores)
    assert rule.level_ == np.sort(ratio_to(fitted.predict(cal.X), cal.scores))[17]
    assert "the frozen regressor has seen none of them" in rule.guarantee_.assumptions
