"""Rows that teach: scores of other rows, and of the training rows out of fold."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor

from bands import beta_binomial_band
from plcp import (
    PLCP,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    LinearQuantile,
    OrderedPartition,
    SignedResidual,
    SplitConformal,
)
from plcp._folds import folds_of_classes
from plcp.quantiles import conformal_rank

LINEAR = OrderedPartition(LinearQuantile())


def draw(rng, n):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (2 + X[:, 0]) * rng.exponential(size=n)


def test_calibration_scores_have_no_say_in_what_teachers_taught(rng):
    X, scores = draw(rng, 200)
    rules = [
        PLCP(LINEAR, 2, random_state=0).fit(X, values, teachers=draw(np.random.default_rng(1), 300))
        for values in (scores, scores[::-1])
    ]
    cuts, groups = zip(*((rule.partition_.cuts_, rule.groups(X)) for rule in rules), strict=True)
    assert_array_equal(*cuts)
    assert_array_equal(*groups)


@pytest.mark.parametrize("calibration", ["rotate", "split", "held-out"])
def test_each_group_covers_its_rank_exactly_when_others_teach(rng, calibration):
    """Of n + 1 rows of a group, each left out in turn, ⌈0.8 (n + 1)⌉ are covered."""
    X, scores = draw(rng, 61)
    teachers = draw(rng, 300)
    rule = PLCP(LINEAR, 2, 0.2, calibration=calibration, random_state=0)
    groups = clone(rule).fit(X, scores, teachers=teachers).groups(X)
    if calibration == "held-out":
        groups = np.zeros(61)  # one number serves all
    for group in np.unique(groups):
        covered = []
        for row in np.flatnonzero(groups == group):
            rest = np.delete(np.arange(61), row)
            fitted = clone(rule).fit(X[rest], scores[rest], teachers=teachers)
            covered.append(scores[row] <= fitted.predict(X[[row]])[0])
        assert sum(covered) == conformal_rank(len(covered) - 1, 0.2)


def test_every_group_of_a_taught_model_covers_by_its_law(rng):
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = X[:, 0] + (1.5 + X[:, 1]) * rng.normal(size=4000)
    model = ConformalRegressor(LinearRegression(), threshold=PLCP(LINEAR, 3), random_state=0)
    model.fit(X, y)
    [rule] = model.tail_rules_
    assert (model.guarantee_.kind, model.guarantee_.scope) == ("exact", "learned groups")
    assert rule.group_sizes_.sum() == model.guarantee_.n == 1200
    X = rng.uniform(-1, 1, size=(20_000, 2))
    covered = model.predict_set(X).contains(X[:, 0] + (1.5 + X[:, 1]) * rng.normal(size=20_000))
    groups = model.groups(X)
    for group, size in enumerate(rule.group_sizes_.astype(int)):
        rows = groups == group
        low, high = beta_binomial_band(int(rows.sum()), size, conformal_rank(size, 0.1))
        assert low <= covered[rows].sum() <= high


class Recorder(RegressorMixin, BaseEstimator):
    """A model that notes which rows it was trained on, all copies in one list."""

    seen: ClassVar = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append((X[:, 0], y, sample_weight))
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("cv", [3, KFold(3)])
def test_teachers_are_scored_by_models_that_have_not_seen_them(rng, monkeypatch, cv):
    monkeypatch.setattr(Recorder, "seen", [])
    X, y = rng.normal(size=(300, 1)), rng.normal(size=300)
    taught = []
    fit = PLCP.fit

    def spy(self, X, y, *args, **options):
        taught.append((X, options["teachers"]))
        return fit(self, X, y, *args, **options)

    monkeypatch.setattr(PLCP, "fit", spy)
    weights = rng.integers(1, 3, size=300).astype(float)
    model = ConformalRegressor(Recorder(), threshold=PLCP(LINEAR, 2), cv=cv, random_state=0)
    model.fit(X, y, weights)
    [(calibration, (features, scores, given, clusters))] = taught
    assert clusters is None
    whole, *folds = Recorder.seen
    assert len(folds) == 3
    assert {*whole[0]} | {*calibration[:, 0]} == {*X[:, 0]}
    assert {*features[:, 0]} == {*whole[0]}
    of_row = {x: (value, weight) for x, value, weight in zip(X[:, 0], y, weights, strict=True)}
    for x, score, weight in zip(features[:, 0], scores, given, strict=True):
        value, own = of_row[x]
        assert weight == own
        means = [np.mean(learned) for rows, learned, _ in folds if x not in rows]
        assert [abs(value - mean) for mean in means] == [score]


def test_models_that_are_frozen_or_rules_that_learn_nothing_fit_once(rng, monkeypatch):
    X, y = rng.normal(size=(300, 1)), rng.normal(size=300)
    for options in ({"cv": None}, {"threshold": SplitConformal()}):
        monkeypatch.setattr(Recorder, "seen", [])
        ConformalRegressor(Recorder(), random_state=0, **options).fit(X, y)
        assert len(Recorder.seen) == 1


def test_two_tails_are_taught_apart(rng):
    X = rng.normal(size=(900, 2))
    y = np.where(X[:, 0] > 0, 1.0, 3.0) * rng.exponential(size=900)
    model = ConformalRegressor(
        LinearRegression(), SignedResidual(), PLCP(LINEAR, 2), random_state=0
    ).fit(X, y)
    assert model.guarantee_.kind == "exact"
    assert [rule.guarantee_.scope for rule in model.tail_rules_] == ["learned groups"] * 2


class Few(ClassifierMixin, BaseEstimator):
    """A classifier that knows only the classes it met."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))


def test_a_class_of_one_row_is_held_out_of_no_fold(rng):
    X = rng.normal(size=(240, 2))
    y = np.array(["a"] * 150 + ["b"] * 87 + ["c"] * 2 + ["d"])
    model = ConformalClassifier(Few(), threshold=PLCP(LINEAR, 2), random_state=0).fit(X, y)
    assert (model.guarantee_.kind, model.guarantee_.scope) == ("exact", "learned groups")
    folds = folds_of_classes(np.arange(240), y, 4, np.random.RandomState(0))
    held = np.concatenate([rows for _, rows in folds])
    assert sorted(held) == list(range(239))
    for learn, hold in folds:
        assert not set(learn) & set(hold)
        assert {*y[learn]} == {*"abcd"}
    shares = [np.mean(y[hold] == "a") for _, hold in folds]
    assert np.ptp(shares) <= 1 / 50


def test_classes_of_one_row_each_make_no_folds():
    assert folds_of_classes(np.arange(42), np.arange(42), 5, np.random.RandomState(0)) == []


def test_a_model_that_folds_are_too_small_for_names_the_remedy(rng):
    X, y = rng.normal(size=(34, 2)), rng.normal(size=34)
    model = KNeighborsRegressor(20)
    with pytest.raises(ValueError, match=r"cv=5 trains the model on 18 rows.*give cv=None"):
        ConformalRegressor(model, random_state=0).fit(X, y)
    ConformalRegressor(model, cv=None, random_state=0).fit(X, y)


def test_draws_of_teachers_are_not_those_of_calibration_rows(rng, monkeypatch):
    X, y = rng.normal(size=(400, 2)), rng.integers(3, size=400)
    seeds, fit = [], CumulativeProbability.fit
    monkeypatch.setattr(
        CumulativeProbability,
        "fit",
        lambda self, *given: seeds.append(self.random_state) or fit(self, *given),
    )
    score = CumulativeProbability("random", random_state=3)
    ConformalClassifier(Few(), score, PLCP(LINEAR, 2), cv=2, random_state=0).fit(X, y)
    assert len({*seeds}) == len(seeds) == 2


def test_copies_stay_in_one_fold(rng):
    ids, y = np.repeat(np.arange(50), 3), np.repeat(rng.integers(3, size=50), 3)
    for learn, hold in folds_of_classes(ids, y, 3, np.random.RandomState(0)):
        assert not {*ids[learn]} & {*ids[hold]}


def test_probabilities_of_a_taught_classifier(rng):
    X = rng.normal(size=(900, 2))
    y = (X[:, 0] + rng.logistic(size=900) > 0).astype(int)
    model = ConformalClassifier(LogisticRegression(), threshold=PLCP(LINEAR, 2), random_state=0)
    assert model.fit(X, y).guarantee_.kind == "exact"


@pytest.mark.parametrize(
    ("teachers", "message"),
    [
        (([[1.0]], [1.0]), "teachers: X has 1 features, but PLCP is expecting 2"),
        (([[1.0, 2.0]], [1.0, 2.0]), "teachers: .*inconsistent numbers of samples"),
        (([[1.0, 2.0]], [np.nan]), "teachers: scores must be finite"),
        (([[1.0, 2.0]], [1.0]), "teachers: one row is too few to learn from"),
        ([[1.0, 2.0]], "teachers must be a tuple of features and scores"),
        (([[1.0, 2.0]] * 2, [1.0, 2.0], None, ["a"]), "teachers: groups must give the group"),
    ],
)
def test_teachers_that_mean_nothing_are_refused(rng, teachers, message):
    rule = PLCP(LINEAR, 2)
    with pytest.raises(ValueError, match=message):
        rule.fit(*draw(rng, 60), teachers=teachers)
    assert not hasattr(rule, "guarantee_")


@pytest.mark.parametrize("calibration", ["cross", "joint"])
def test_a_rule_that_holds_no_rows_out_takes_no_teachers(rng, calibration):
    with pytest.raises(ValueError, match=f'"{calibration}" learns from the rows it calibrates'):
        PLCP(LINEAR, calibration=calibration).fit(*draw(rng, 60), teachers=draw(rng, 60))


@pytest.mark.parametrize("cv", [1, 0.5, "five", [2]])
def test_folds_that_mean_nothing_are_refused_before_training(rng, cv, monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    with pytest.raises(ValueError, match="cv must be"):
        ConformalRegressor(Recorder(), cv=cv).fit(rng.normal(size=(60, 1)), rng.normal(size=60))
    assert not Recorder.seen
