"""Predictions in the types that networks compute in: half, brain and single precision."""

import ml_dtypes
import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator

from plcp import ConformalClassifier, ConformalRegressor, QuantilePair, SplitConformal
from plcp.scores import AbsoluteResidual, CumulativeProbability, LabelProbability, QuantileResidual

CASTS = {
    "float16": lambda values: values.astype(np.float16),
    "float32": lambda values: values.astype(np.float32),
    "bfloat16": lambda values: values.astype(ml_dtypes.bfloat16),
    "float16 tensor": lambda values: torch.tensor(values).half(),
    "bfloat16 tensor": lambda values: torch.tensor(values).bfloat16(),
    "with gradients": lambda values: torch.tensor(values, requires_grad=True),
}
every_cast = pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)


class Network(ClassifierMixin, BaseEstimator):
    """A classifier that predicts in the type of its weights."""

    def __init__(self, cast=None):
        self.cast, self.classes_, self.is_fitted_ = cast, np.arange(5), True

    def fit(self, X, y):
        return self

    def logits(self, X):
        return np.outer(np.asarray(X)[:, 0], np.linspace(-3, 3, 5))

    def predict_proba(self, X):
        return self.cast(softmax(self.logits(X), axis=1))

    def predict(self, X):
        return self.logits(X).argmax(axis=1)


class Line(RegressorMixin, BaseEstimator):
    """A regressor that predicts in the type of its weights."""

    def __init__(self, cast=None, shift=0.0):
        self.cast, self.shift, self.is_fitted_ = cast, shift, True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.cast(np.asarray(X)[:, 0] + self.shift)


def drawn(n=200):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 1)), rng.integers(5, size=n)


@every_cast
@pytest.mark.parametrize("score", [LabelProbability(), CumulativeProbability("full")], ids=str)
def test_probabilities_need_only_sum_to_one_as_closely_as_their_type_can(cast, score):
    X, y = drawn()
    model = Network(cast)
    exact = score(softmax(model.logits(X), axis=1), y)
    rounding = np.abs(score(model.predict_proba(X), y) - exact)
    assert rounding.max() <= ml_dtypes.finfo(ml_dtypes.bfloat16).eps  # of terms that sum to one
    sets = ConformalClassifier(FrozenEstimator(model), score, SplitConformal(0.2)).fit(X, y)
    assert sets.predict_set(X).contains(y).mean() >= 0.8


@every_cast
def test_logits_are_refused_in_every_type(cast):
    X, y = drawn()
    with pytest.raises(ValueError, match="pass predict_proba, not logits"):
        LabelProbability()(cast(Network().logits(X)), y)
    with pytest.raises(ValueError, match="pass predict_proba, not logits"):
        LabelProbability()(cast(np.full((len(y), 5), 0.15)), y)


@every_cast
def test_a_regressor_may_predict_in_any_precision(cast):
    X, y = drawn()
    band = QuantilePair(*(FrozenEstimator(Line(cast, shift)) for shift in (-1.0, 1.0)))
    point = FrozenEstimator(Line(cast))
    for model, score in ((point, AbsoluteResidual()), (band, QuantileResidual())):
        fitted = ConformalRegressor(model, score, SplitConformal(0.2)).fit(X, y)
        assert fitted.predict_set(X).contains(y).mean() >= 0.8
