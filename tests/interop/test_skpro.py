"""The estimator of skpro: quantiles are bounds, intervals nested, the model trained once.

That it keeps skpro's contract is checked by skpro itself: tests/foreign.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from plcp import (
    PLCP,
    AbsoluteResidual,
    ConformalRegressor,
    LinearQuantile,
    OrderedPartition,
    QuantilePair,
    QuantileResidual,
    SignedResidual,
    SplitConformal,
)
from plcp.interop.skpro import SkproConformal

RULE = PLCP(OrderedPartition(LinearQuantile()), 2, calibration="cross")
SMALL = 1e-12  # ends are rounded so that scores agree
LEVELS = [0.02, 0.1, 0.25, 0.4, 0.6, 0.75, 0.9, 0.98]


class Zero(RegressorMixin, BaseEstimator):
    """A model whose residuals are the labels; counts how often it is trained."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


def frozen_zero(X, y):
    return FrozenEstimator(Zero().fit(X, y))


def skewed(rng, n):
    return pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"]), rng.exponential(size=n)


def split(X, y, **options):
    return SkproConformal(frozen_zero(X, y), threshold=SplitConformal(), **options).fit(X, y)


def test_quantiles_are_the_conformal_order_statistics(rng):
    """Of 99 labels the quantile at p is the 100p-th smallest, on either side of the median."""
    X, y = skewed(rng, 99)
    found = split(X, y).predict_quantiles(X[:3], alpha=LEVELS)
    ranks = [round(100 * p) for p in LEVELS]
    assert np.array_equal(found.to_numpy(), np.tile(np.sort(y)[np.array(ranks) - 1], (3, 1)))


def test_the_median_is_the_middle_of_the_sample(rng):
    for n in (99, 100):
        X, y = skewed(rng, n)
        found = split(X, y).predict_quantiles(X[:1], alpha=0.5)
        assert found.to_numpy().item() == pytest.approx(np.median(y))


def test_ends_of_intervals_are_quantiles_and_intervals_are_nested(rng):
    X, y = skewed(rng, 300)
    model = SkproConformal(LinearRegression(), threshold=RULE, coverage=0.8, random_state=0)
    model.fit(X, y)
    intervals = model.predict_interval(X, coverage=[0.9, 0.1, 0.5])
    assert intervals.columns.tolist() == [
        (0, coverage, end) for coverage in (0.9, 0.1, 0.5) for end in ("lower", "upper")
    ]
    quantiles = model.predict_quantiles(X, alpha=[0.05, 0.95, 0.45, 0.55, 0.25, 0.75])
    assert np.array_equal(intervals, quantiles)
    ordered = model.predict_quantiles(X, alpha=[0.05, 0.25, 0.45, 0.5, 0.55, 0.75, 0.95])
    assert (np.diff(ordered, axis=1) >= 0).all()


def test_a_coverage_requested_later_is_answered_as_one_of_fit(rng):
    X, y = skewed(rng, 400)
    Zero.fits = 0
    late, early = (
        SkproConformal(Zero(), threshold=RULE, coverage=coverage, random_state=3).fit(X, y)
        for coverage in (0.9, [0.3, 0.9])
    )
    assert Zero.fits == 2
    before = {**vars(late)}
    for _ in range(2):
        assert np.array_equal(late.predict_interval(X, 0.3), early.predict_interval(X, 0.3))
    assert Zero.fits == 2
    assert list(late.models_) == [0.9]
    assert vars(late) == before


def test_without_a_seed_one_fit_answers_alike(rng):
    X, y = skewed(rng, 400)
    model = SkproConformal(Zero(), coverage=0.9).fit(X, y)
    first, again = (model.predict_interval(X, coverage=0.6) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("rule", [SplitConformal(), RULE, PLCP()])
@pytest.mark.parametrize("score", [AbsoluteResidual(), SignedResidual()])
def test_intervals_are_those_of_the_conformal_regressor(rng, score, rule):
    X, y = skewed(rng, 300)
    model = SkproConformal(LinearRegression(), score, rule, coverage=0.8, random_state=5).fit(X, y)
    for coverage in (0.8, 0.7):  # calibrated in fit, and for this call
        alpha = round(1 - coverage, 12)
        ours = ConformalRegressor(
            LinearRegression(), score, clone(rule).set_params(alpha=alpha), random_state=5
        )
        found = model.predict_interval(X, coverage=coverage)
        assert np.array_equal(found, ours.fit(X, y).predict_interval(X))
    assert model.models_[0.8].guarantee_.alpha == pytest.approx(0.2)


def test_one_tail_says_nothing_of_quantiles(rng):
    X, y = skewed(rng, 100)
    model = split(X, y, conformity=AbsoluteResidual())
    with pytest.raises(ValueError, match=r"two tails, got AbsoluteResidual\(\): give conformity="):
        model.predict_quantiles(X, alpha=0.3)
    assert model.predict_var(X).to_numpy().min() > 0


def test_tails_that_cross_move_outwards(rng):
    """Each tail learns groups of its own, so that the smallest intervals may be empty."""
    X, y = skewed(rng, 400)
    model = SkproConformal(frozen_zero(X, y), threshold=RULE, coverage=0.01, random_state=0)
    own = model.fit(X, y).models_[0.01]
    empty = own.predict_set(X).is_empty
    assert 0 < empty.sum() < len(X)
    lower_tail, upper_tail = own.tail_rules_
    below, above = -lower_tail.predict(X), upper_tail.predict(X)  # around a prediction of 0
    lower, upper = model.predict_interval(X, coverage=0.01).to_numpy().T
    assert (lower[empty] == upper[empty]).all()
    assert (lower <= below + SMALL).all()
    assert (upper >= above - SMALL).all()
    assert np.allclose(lower[~empty], below[~empty])


@pytest.mark.parametrize("symmetric", [True, False])
def test_an_empty_interval_is_a_point(symmetric):
    """Labels so close to the middle of the band that the score closes it beyond its own width."""
    X = pd.DataFrame({"a": np.arange(40.0)})
    band = [FrozenEstimator(LinearRegression().fit(X, np.full(40, c))) for c in (-1.0, 1.0)]
    score = QuantileResidual(symmetric=symmetric)
    y = np.zeros(40)
    model = SkproConformal(QuantilePair(*band), score, SplitConformal()).fit(X, y)
    ends = model.predict_interval(X, coverage=[0.5]).to_numpy()
    assert np.allclose(ends, 0)


def test_too_few_rows_make_open_quantiles(rng):
    X, y = skewed(rng, 9)
    with pytest.warns(UserWarning, match="threshold is infinite"):
        found = split(X, y, coverage=0.5).predict_quantiles(X[:1], alpha=[0.01, 0.5, 0.99])
    low, middle, high = found.to_numpy()[0]
    assert (low, high) == (-np.inf, np.inf)
    assert middle == np.median(y)


def test_columns_of_any_names_are_taken_and_left_alone(rng):
    X, y = skewed(rng, 60)
    mixed = X.set_axis(["a", 1], axis=1)
    found = split(mixed, pd.DataFrame({"label": y})).predict_interval(mixed, coverage=0.5)
    assert np.array_equal(found, split(X, y).predict_interval(X, coverage=0.5))
    assert mixed.columns.tolist() == ["a", 1]
    assert found.columns.get_level_values(0).unique().tolist() == ["label"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coverage": 1.2}, r"coverage must lie in \(0, 1\), got 1.2"),
        ({"coverage": [0.5, 0]}, r"coverage must lie in \(0, 1\), got 0"),
        ({"coverage": []}, r"coverage is empty: name one at least"),
        ({"threshold": "split"}, r"threshold must be a ThresholdRule, got 'split'"),
        ({"conformity": SplitConformal()}, r"conformity must be a Score, got SplitConformal"),
    ],
)
def test_bad_options_are_refused_by_their_values(rng, options, message):
    X, y = skewed(rng, 60)
    with pytest.raises((ValueError, TypeError), match=message):
        SkproConformal(LinearRegression(), **options).fit(X, y)


def test_two_labels_are_refused(rng):
    X, y = skewed(rng, 60)
    with pytest.raises(ValueError, match="y must have one column, got 2: fit one SkproConformal"):
        SkproConformal(LinearRegression()).fit(X, pd.DataFrame({"y": y, "z": y}))


def test_a_score_with_two_tails_is_the_default(rng):
    X, y = skewed(rng, 60)
    assert isinstance(split(X, y).models_[0.9].conformity_, SignedResidual)
