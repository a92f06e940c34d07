"""Pairs of regressors: what is fitted on what."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from plcp.models import MeanScalePair, QuantilePair
from plcp.scores import NormalizedResidual

PAIRS = [
    QuantilePair(QuantileRegressor(quantile=0.1), QuantileRegressor(quantile=0.9)),
    MeanScalePair(LinearRegression(), LinearRegression(), cv=2),
]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, size=(200, 2))
    return X, X[:, 0] + X[:, 1] * rng.normal(size=200)


def test_a_quantile_pair_is_its_members(data):
    X, y = data
    pair = QuantilePair(*(QuantileRegressor(quantile=q, alpha=0) for q in (0.1, 0.9))).fit(X, y)
    for column, q in enumerate((0.1, 0.9)):
        alone = QuantileRegressor(quantile=q, alpha=0).fit(X, y).predict(X)
        np.testing.assert_array_equal(pair.predict(X)[:, column], alone)


def test_weights_reach_both_members(data):
    X, y = data
    weight = (y > np.median(y)).astype(float)
    low, high = (DummyRegressor(strategy="quantile", quantile=q) for q in (0.1, 0.9))
    plain = QuantilePair(low, high).fit(X, y).predict(X[:1])
    weighted = QuantilePair(low, high).fit(X, y, sample_weight=weight).predict(X[:1])
    assert (weighted >= plain).all()
    assert weighted[0, 0] > plain[0, 0]


def test_a_frozen_mean_gets_a_scale_from_its_own_residuals(data):
    X, y = data
    mean = FrozenEstimator(LinearRegression().fit(X[:50], y[:50]))
    pair = MeanScalePair(mean, LinearRegression()).fit(X[50:], y[50:])
    residuals = np.abs(y[50:] - mean.predict(X[50:]))
    expected = LinearRegression().fit(X[50:], residuals).predict(X)
    np.testing.assert_allclose(pair.predict(X)[:, 1], np.maximum(expected, pair.min_scale_))


def test_the_scale_is_learnt_out_of_fold(data):
    X, y = data
    # a full tree repeats its training labels: in-sample residuals would all be zero
    pair = MeanScalePair(DecisionTreeRegressor(random_state=0), DummyRegressor(), cv=KFold(4)).fit(
        X, y
    )
    np.testing.assert_array_equal(pair.mean_.predict(X), y)
    tree = DecisionTreeRegressor(random_state=0)
    held_out = [
        np.abs(y[test] - tree.fit(X[train], y[train]).predict(X[test]))
        for train, test in KFold(4).split(X)
    ]
    np.testing.assert_allclose(pair.predict(X)[:, 1], np.mean(held_out))


@pytest.mark.parametrize("cv", ["3", 1, 2.5, [([0], [500])]])
def test_bad_folds_are_blamed_on_cv(data, cv):
    with pytest.raises(ValueError, match=r"^cv (must|gives)"):
        MeanScalePair(LinearRegression(), LinearRegression(), cv=cv).fit(*data)


def test_the_scale_stays_positive(data):
    X, y = data
    negative = DummyRegressor(strategy="constant", constant=-1.0)
    pair = MeanScalePair(LinearRegression(), negative).fit(X, y)
    assert (pair.predict(X)[:, 1] == pair.min_scale_).all()
    assert 0 < pair.min_scale_ < 0.01 * np.abs(y - pair.mean_.predict(X)).mean()
    perfect = MeanScalePair(DummyRegressor(), DummyRegressor()).fit(X, np.zeros(200))
    assert (perfect.predict(X)[:, 1] == 1).all()


def test_the_scale_is_in_the_units_of_y(data):
    X, y = data
    pair = MeanScalePair(LinearRegression(), LinearRegression())
    np.testing.assert_allclose(pair.fit(X, 8 * y).predict(X), 8 * clone(pair).fit(X, y).predict(X))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair).__name__)
def test_feature_names_are_kept(data, pair):
    X, y = data
    frame = pd.DataFrame(X, columns=["age", "hours"])
    fitted = clone(pair).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["age", "hours"]
    assert fitted.n_features_in_ == 2
    assert fitted.predict(frame).shape == (200, 2)
    assert not hasattr(clone(pair).fit(X, y), "feature_names_in_")
    assert not hasattr(clone(pair), "n_features_in_")


def test_a_pair_is_a_regressor_without_a_score(data):
    assert is_regressor(PAIRS[0])
    with pytest.raises(
        AttributeError, match="QuantilePair has no score, as it predicts two columns"
    ):
        PAIRS[0].score(*data)


def test_two_frozen_members_are_taken_as_they_are(data):
    X, y = data
    mean, scale = LinearRegression().fit(X, y), DummyRegressor().fit(X, -y)
    pair = MeanScalePair(FrozenEstimator(mean), FrozenEstimator(scale)).fit(X[:9], 100 * y[:9])
    np.testing.assert_array_equal(pair.predict(X)[:, 0], mean.predict(X))
    assert pair.min_scale_ == 0
    # a scale below 0 is shown as 0, which the score refuses by name
    with pytest.raises(ValueError, match="pass min_scale > 0"):
        NormalizedResidual()(pair.predict(X), y)
