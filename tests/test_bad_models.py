"""A model, score or rule that cannot serve the task is refused in fit, with the remedy."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from plcp import (
    PLCP,
    AbsoluteResidual,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    LabelProbability,
    Mondrian,
    QuantileResidual,
    SignedResidual,
    SplitConformal,
)
from plcp.scores import Score
from plcp.sets import Intervals


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 2))
    return X, (X[:, 0] > 0).astype(int)


def frozen(model, data):
    return FrozenEstimator(model.fit(*data))


@pytest.mark.parametrize("score", [AbsoluteResidual(), SignedResidual(), QuantileResidual()])
def test_a_classifier_with_a_score_of_numbers(data, score):
    model = ConformalClassifier(LogisticRegression(), score, SplitConformal())
    message = r"Residual\(\) is a score for regression, .* use LabelProbability or .*Regressor"
    with pytest.raises(TypeError, match=message):
        model.fit(*data)


@pytest.mark.parametrize("score", [LabelProbability(), CumulativeProbability()])
def test_a_regressor_with_a_score_of_labels(data, score):
    model = ConformalRegressor(LinearRegression(), score, SplitConformal())
    with pytest.raises(TypeError, match=r"Probability\(\) is a score for classif.*AbsoluteResid"):
        model.fit(*data)


@pytest.mark.parametrize("wrap", [lambda model, data: model, frozen], ids=["open", "frozen"])
def test_a_model_for_the_other_task(data, wrap):
    model = wrap(LogisticRegression(), data)
    with pytest.raises(TypeError, match=r"needs a regressor, got the class.*Logistic.* use C"):
        ConformalRegressor(model).fit(*data)
    model = wrap(LinearRegression(), data)
    with pytest.raises(TypeError, match=r"needs a classifier, got the regr.*LinearReg.* use "):
        ConformalClassifier(model).fit(*data)


class Rounded(Score):
    """A score of one's own, for no task in particular."""

    def __call__(self, prediction, y):
        return np.abs(np.asarray(y) - prediction)

    def invert(self, prediction, threshold):
        return Intervals(prediction - threshold, prediction + threshold)


class Untyped(BaseEstimator):
    """A model that does not say what it is."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_what_does_not_name_its_task_is_trusted(data):
    own = ConformalRegressor(LogisticRegression(), Rounded(), SplitConformal()).fit(*data)
    assert len(own.predict_set(data[0])) == 60
    assert (
        len(
            ConformalRegressor(Untyped(), threshold=SplitConformal())
            .fit(*data)
            .predict_set(data[0])
        )
        == 60
    )


@pytest.mark.parametrize("score", [AbsoluteResidual(), SignedResidual("both")])
@pytest.mark.parametrize("rule", [SplitConformal, PLCP])
def test_alpha_is_checked_before_it_is_shared(data, score, rule):
    with pytest.raises(ValueError, match=r"alpha must lie in \(0, 1\), got 1.5"):
        ConformalRegressor(LinearRegression(), score, rule(alpha=1.5)).fit(*data)


def test_groups_by_hand_cannot_be_passed_on(data):
    with pytest.raises(ValueError, match="name a column of X or give a function") as caught:
        ConformalRegressor(LinearRegression(), threshold=Mondrian()).fit(*data)
    assert "array" not in str(caught.value)


@pytest.mark.parametrize("as_labels", [np.array, list, pd.Series, pl.Series])
def test_labels_for_a_regressor_and_numbers_for_a_classifier(data, as_labels):
    X, y = data
    with pytest.raises(ValueError, match=r"y must be real .*'yes'.* use ConformalClassifier"):
        ConformalRegressor(LinearRegression()).fit(X, as_labels(np.where(y, "yes", "no")))
    with pytest.raises(ValueError, match=r"label type: continuous.* use ConformalRegressor"):
        ConformalClassifier(LogisticRegression()).fit(X, as_labels(y + 0.5 * X[:, 0]))


@pytest.mark.parametrize("size", [0.0, 1.0, 1.5, -0.1, "0.3", None, True, np.nan])
def test_calibration_size(data, size):
    with pytest.raises(ValueError, match=r"calibration_size must lie in \(0, 1\).* got "):
        ConformalRegressor(LinearRegression(), calibration_size=size).fit(*data)


def test_parts_in_the_wrong_place_are_told_where_they_belong():
    X, y = np.zeros((10, 1)), np.arange(10.0)
    with pytest.raises(TypeError, match="a rule is passed as threshold="):
        ConformalRegressor(LinearRegression(), PLCP()).fit(X, y)
    with pytest.raises(TypeError, match="a score is passed as conformity="):
        ConformalRegressor(LinearRegression(), threshold=AbsoluteResidual()).fit(X, y)
    with pytest.raises(TypeError, match=r"give an instance, threshold=PLCP\(\)"):
        ConformalRegressor(LinearRegression(), threshold=PLCP).fit(X, y)
    for wrong in (0.2, "split"):
        message = r"must be a ThresholdRule, got .*SplitConformal\(\) .*passed as alpha="
        with pytest.raises(TypeError, match=message):
            ConformalRegressor(LinearRegression(), threshold=wrong).fit(X, y)
    with pytest.raises(TypeError, match=r"must be a Score, got 0.2: .*passed as alpha="):
        ConformalRegressor(LinearRegression(), 0.2).fit(X, y)
    with pytest.raises(TypeError, match=r"QuantilePair\(lower, upper\)"):
        ConformalRegressor((LinearRegression(), LinearRegression())).fit(X, y)


def test_rules_that_learn_no_groups_say_so(rng):
    X, y = rng.integers(2, size=(200, 1)), rng.normal(size=200)
    for rule in (SplitConformal(), Mondrian(0)):
        model = ConformalRegressor(LinearRegression(), threshold=rule).fit(X, y)
        with pytest.raises(ValueError, match="learns no groups"):
            model.groups(X)
