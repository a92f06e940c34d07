"""A model, score or rule that cannot serve the task is refused in fit, with the remedy."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from plcp import (
    PLCP,
    AbsoluteResidual,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    InfiniteThresholdWarning,
    LabelProbability,
    MeanScalePair,
    Mondrian,
    NormalizedResidual,
    QuantilePair,
    QuantileResidual,
    SignedResidual,
    SplitConformal,
)
from plcp.dask import DaskConformalRegressor
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


@pytest.mark.parametrize("size", [0.0, 1.0, 100, -0.1, "0.3", None, True, np.nan])
@pytest.mark.parametrize("wrap", [lambda model, data: model, frozen], ids=["open", "frozen"])
def test_calibration_size(data, size, wrap):
    model = wrap(LinearRegression(), data)
    with pytest.raises(ValueError, match=r"calibration_size must lie in \(0, 1\), got .*share"):
        ConformalRegressor(model, calibration_size=size).fit(*data)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("confidence_level", "give alpha = 1 - confidence_level"),
        ("aplha", "did you mean alpha?"),
        ("score", "did you mean conformity?"),
        ("rule", "did you mean threshold?"),
        ("folds", "choose from estimator, conformity, threshold, alpha"),
    ],
)
@pytest.mark.parametrize("kind", [ConformalRegressor, ConformalClassifier])
def test_an_unknown_parameter_is_refused_with_the_name_of_ours(kind, name, remedy):
    message = re.escape(f"{kind.__name__} has no parameter {name}: {remedy}")
    with pytest.raises(TypeError, match=message):
        kind(LinearRegression(), **{name: 0.9})


class Bare:
    """What no clone can copy."""

    def fit(self, X, y):
        return self


@pytest.mark.parametrize("model", [None, "ridge", Bare()], ids=["None", "text", "bare"])
def test_what_is_no_model(data, model):
    with pytest.raises(TypeError, match=r"must be a scikit-learn estimator, got .*FrozenEstimator"):
        ConformalRegressor(model).fit(*data)


class Untrainable(LinearRegression):
    def fit(self, X, y):
        raise AssertionError("a wrong combination is found before training")


@pytest.mark.parametrize(
    ("pair", "wrong", "right"),
    [
        (QuantilePair, [None, SignedResidual(), NormalizedResidual()], "QuantileResidual"),
        (MeanScalePair, [None, SignedResidual(), QuantileResidual()], "NormalizedResidual"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda model: model, FrozenEstimator], ids=["open", "frozen"])
def test_a_pair_needs_the_score_of_its_two_columns(data, pair, wrong, right, wrap):
    for score in wrong:
        model = ConformalRegressor(wrap(pair(Untrainable(), Untrainable())), score)
        with pytest.raises(TypeError, match=rf"{pair.__name__}: pass conformity={right}\(\)"):
            model.fit(*data)


class TwoSides(Rounded):
    """A score of two columns."""

    def __call__(self, prediction, y):
        return np.column_stack([prediction - y, y - prediction])


def test_columns_of_a_score_are_those_it_names(data):
    model = LinearRegression().fit(*data)
    for conformal in (
        ConformalRegressor(FrozenEstimator(model), TwoSides()),
        DaskConformalRegressor(model, TwoSides()),
    ):
        with pytest.raises(ValueError, match=r"TwoSides\(\) gives 2 scores per row.* n_tails as 2"):
            conformal.fit(*data)


def test_a_response_of_another_length_or_shape(data):
    X, y = data
    with pytest.raises(ValueError, match=r"\[60, 59\]; give one value of y for each row of X"):
        ConformalRegressor(LinearRegression()).fit(X, y[:-1])
    for model in (
        ConformalRegressor(LinearRegression(), threshold=SplitConformal()),
        ConformalClassifier(LogisticRegression(), threshold=SplitConformal()),
    ):
        with pytest.warns(DataConversionWarning):
            sets = model.fit(X, y[:, None]).predict_set(X)
        with pytest.warns(DataConversionWarning):
            assert_array_equal(sets.contains(y[:, None]), sets.contains(y))


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_too_few_rows_give_infinite_sets_however_few(data, n):
    X, y = data[0][:n], data[0][:n, 0]
    for model in (FrozenEstimator(LinearRegression().fit(*data)), LinearRegression()):
        conformal = ConformalRegressor(model)
        if n == 1 and isinstance(model, LinearRegression):
            with pytest.raises(ValueError, match="n_samples=1: one row cannot both train"):
                conformal.fit(X, y)
            continue
        with pytest.warns(InfiniteThresholdWarning):
            conformal.fit(X, y)
        assert np.isinf(conformal.predict_set(X).size).all()


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
