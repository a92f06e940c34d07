"""Answers come from one fit, even where another one ends in the middle of them."""

from threading import Event, Thread

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    ConditionalCalibration,
    ConformalClassifier,
    ConformalRegressor,
    Mondrian,
    Rectified,
    SplitConformal,
)
from plcp._base import Estimator
from plcp.kernels import GaussianKernel
from plcp.partitions import OrderedPartition

REFITS = []  # what comes in between: done once, by the first part that is called


def interrupted():
    if REFITS:
        REFITS.pop()()


class Line(RegressorMixin, BaseEstimator):
    """A model during whose prediction the estimator around it is refitted."""

    def fit(self, X, y, sample_weight=None):
        self.slope_ = np.mean(y)
        return self

    def predict(self, X):
        values = self.slope_ * np.asarray(X)[:, 0]
        interrupted()
        return values


class Odds(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.share_ = counts / len(y)
        return self

    def predict_proba(self, X):
        odds = self.share_ ** (1 + np.abs(np.asarray(X)[:, [0]]))
        interrupted()
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Kernel(GaussianKernel):
    """A kernel of the user's own."""

    def draw(self, X, rng):
        interrupted()
        return X + rng.normal(size=X.shape)


def sign(X):
    interrupted()
    return np.sign(np.asarray(X)[:, 0]).astype(int)


def both(X):
    return np.stack([sign(X) > 0, sign(X) < 1], axis=1)


def squares(X):
    interrupted()
    return np.asarray(X) ** 2


CASES = {
    "regressor": (ConformalRegressor(Line(), random_state=0), "predict_interval"),
    "classifier": (
        ConformalClassifier(Odds(), threshold=SplitConformal(), random_state=0),
        "predict_set",
    ),
    "PLCP": (PLCP(OrderedPartition(Line()), 3, random_state=0), "predict"),
    "groups": (PLCP(OrderedPartition(Line()), 3, random_state=0), "groups"),
    "Mondrian": (Mondrian(sign), "predict"),
    "BatchGCP": (BatchGCP(both), "predict"),
    "RLCP": (RLCP(Kernel(1.0), random_state=0), "predict"),
    "Rectified": (Rectified(Line(), random_state=0), "predict"),
    "conditional": (ConditionalCalibration(squares), "predict"),
}


def numbers(answer):
    return answer.to_numpy() if hasattr(answer, "to_numpy") else answer


@pytest.mark.filterwarnings("ignore::plcp.InfiniteThresholdWarning")
@pytest.mark.parametrize(("estimator", "method"), CASES.values(), ids=CASES)
def test_a_refit_in_the_middle_changes_the_next_answer_alone(estimator, method, rng):
    X, y = rng.normal(size=(400, 2)), rng.exponential(size=400)
    other = 5 * y[::-1]
    if isinstance(estimator, ConformalClassifier):
        y, other = rng.choice(3, size=(2, 400), p=[0.6, 0.3, 0.1])
        other = 2 - other
    estimator = clone(estimator).fit(X, y)
    before = numbers(getattr(estimator, method)(X))
    REFITS.append(lambda: estimator.fit(X, other))
    during = numbers(getattr(estimator, method)(X))
    assert not REFITS
    assert_array_equal(during, before)
    assert not np.array_equal(numbers(getattr(estimator, method)(X)), before)


class Stepwise(Estimator):
    """Reads what it was fitted to in two steps, and waits in between."""

    def fit(self, X):
        self.first_ = self.second_ = X
        return self

    def read(self, wait):
        first = self.first_
        wait()
        return first, self.second_

    def refit(self, X):
        return self.fit(X)

    def note(self, value):
        self.noted = value


def test_a_thread_that_refits_while_another_reads():
    estimator, begun, refitted, found = Stepwise().fit(1), Event(), Event(), []

    def wait():
        begun.set()
        refitted.wait()

    reader = Thread(target=lambda: found.append(estimator.read(wait)))
    reader.start()
    begun.wait()
    estimator.fit(2)
    refitted.set()
    reader.join()
    assert found == [(1, 1)]
    assert estimator.read(lambda: None) == (2, 2)


def test_methods_that_fit_or_note_something_do_so_on_the_estimator():
    estimator = Stepwise()
    assert estimator.refit(3) is estimator
    estimator.note(4)
    assert (estimator.first_, estimator.noted) == (3, 4)
