"""Out-of-fold values come from models fitted without the row; predict is their mean."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from plcp.regressors import CrossFitted, LinearQuantile, SparseScale
from plcp.regressors.crossfit import (
    SharedModels,
    make_folds,
    mean_out_of_fold,
    repeats,
    sharing_fits,
)


class Memory(RegressorMixin, BaseEstimator):
    """Predicts one for rows it was fitted on and zero for others."""

    def fit(self, X, y):
        self.seen_ = set(np.asarray(X)[:, 0].tolist())
        return self

    def predict(self, X):
        return np.array([float(x in self.seen_) for x in np.asarray(X)[:, 0]])


@pytest.mark.parametrize("cv", [2, 3, 5])
@pytest.mark.parametrize("n_repeats", [1, 3])
def test_out_of_fold_values_come_from_models_without_the_row(cv, n_repeats):
    X, y = np.arange(31.0)[:, None], np.zeros(31)
    regressor = CrossFitted(Memory(), cv=cv, n_repeats=n_repeats, random_state=0).fit(X, y)
    assert regressor.out_of_fold_.max() == 0
    np.testing.assert_allclose(regressor.predict(X), (cv - 1) / cv)  # all but one model of a repeat


class Mean(RegressorMixin, BaseEstimator):
    """Predicts the mean of its scores, whatever the row."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("n_repeats", [1, 3])
def test_models_that_differ_by_a_constant_do_not_separate_folds(rng, n_repeats):
    """A model without the largest scores predicts less: its fold must not be known by that."""
    X, scores = rng.normal(size=(50, 1)), rng.exponential(size=50)
    regressor = CrossFitted(Mean(), n_repeats=n_repeats, random_state=0).fit(X, scores)
    assert np.ptp(regressor.out_of_fold_) == 0
    np.testing.assert_allclose(regressor.out_of_fold_, regressor.predict(X))


@pytest.mark.parametrize("is_scale", [False, True])
def test_constant_differences_between_models_are_removed(rng, is_scale):
    """Additive rows and models (of scales: their logarithms) leave the rows' effects."""
    folds = make_folds(
        rng.normal(size=(40, 2)), rng.normal(size=40), 4, 3, np.random.RandomState(0)
    )
    held, rows, models = [hold for _, hold in folds], rng.normal(size=40), rng.normal(size=12)
    values = [rows[hold] + level for hold, level in zip(held, models, strict=True)]
    if is_scale:
        rows, values = np.exp(rows), [np.exp(value) for value in values]
        expected = rows * np.exp(models.mean())
    else:
        expected = rows + models.mean()
    found = mean_out_of_fold(held, values, 40, is_scale=is_scale)
    np.testing.assert_allclose(found, expected)


def test_given_folds_are_used_as_they_are(rng):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    sites = np.repeat(np.arange(5), 6)
    folds = list(GroupKFold(5).split(X, groups=sites))
    regressor = CrossFitted(LinearQuantile(quantile=0.5), cv=folds).fit(X, y)
    for learn, hold in folds:
        model = LinearQuantile(quantile=0.5).fit(X[learn], y[learn])
        np.testing.assert_allclose(regressor.out_of_fold_[hold], model.predict(X[hold]))
    same = CrossFitted(LinearQuantile(quantile=0.5), cv=KFold(3)).fit(X, y)
    listed = CrossFitted(LinearQuantile(quantile=0.5), cv=[*KFold(3).split(X)]).fit(X, y)
    np.testing.assert_array_equal(same.out_of_fold_, listed.out_of_fold_)


def test_every_row_is_held_out_once_per_repeat():
    folds = make_folds(np.arange(20.0)[:, None], np.zeros(20), 4, 3, np.random.RandomState(0))
    held = np.bincount(np.concatenate([hold for _, hold in folds]), minlength=20)
    assert (held == 3).all()


def test_mean_of_linear_models_is_one_linear_model(rng):
    X = rng.normal(size=(90, 3))
    y = X @ [1, 2, 3] + rng.normal(size=90)
    regressor = CrossFitted(LinearQuantile(quantile=0.7), n_repeats=2, random_state=0).fit(X, y)
    assert len(regressor.models_) == 1
    apart = [
        LinearQuantile(quantile=0.7).fit(X[learn], y[learn]).predict(X)
        for learn, _ in make_folds(X, y, 3, 2, np.random.RandomState(0))
    ]
    np.testing.assert_allclose(regressor.predict(X), np.mean(apart, axis=0))


@pytest.mark.parametrize("gaps", [False, True])
def test_mean_of_sparse_scales_is_one_scale_of_the_mean_variance(rng, gaps):
    X = rng.normal(size=(120, 3))
    scores = np.abs(rng.standard_t(2, size=120)) * (1 + (X[:, 0] > 0))
    if gaps:
        X[::7, 1] = np.nan
    penalised = SparseScale(penalties=(0.1, 0.1))
    regressor = CrossFitted(penalised, n_repeats=2, random_state=0).fit(X, scores)
    folds = make_folds(X, scores, 3, 2, np.random.RandomState(0))
    apart = [SparseScale(penalties=(0.1, 0.1)).fit(X[a], scores[a]) for a, _ in folds]
    assert len(regressor.models_) == 1
    lines = [model.unit_**2 * model._line(X) for model in apart]
    least = np.mean([model.unit_**2 * model.least_ for model in apart])
    whole = ~np.isnan(X).any(axis=1)  # gaps are filled by each fold's own mean
    expected = np.sqrt(np.maximum(np.mean(lines, axis=0), least))
    np.testing.assert_allclose(regressor.predict(X)[whole], expected[whole])


@pytest.mark.parametrize("regressor", [SparseScale(), HistGradientBoostingRegressor(max_iter=5)])
def test_threads_do_not_change_the_answer(rng, regressor):
    X, y = rng.normal(size=(150, 2)), np.abs(rng.normal(size=150))
    one, two = (CrossFitted(regressor, n_jobs=k, random_state=0).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.out_of_fold_, two.out_of_fold_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_repeats_fall_with_the_rows_and_stay_in_bounds():
    counts = [repeats("auto", n) for n in (100, 12_000, 20_000, 30_000, 10**7)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 5
    assert counts[-1] == 2
    assert repeats(7, 100) == 7


def test_weights_reach_the_last_step_of_a_pipeline(rng):
    X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    weights = np.repeat([1.0, 3.0], 20)
    pipe = make_pipeline(FunctionTransformer(), LinearQuantile(0.5))
    weighted, plain = (CrossFitted(i, random_state=0) for i in (pipe, LinearQuantile(0.5)))
    weighted.fit(X, y, sample_weight=weights)
    plain.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.out_of_fold_, plain.out_of_fold_)


def test_weights_that_a_regressor_cannot_take_are_refused(rng):
    X, y = rng.normal(size=(20, 1)), rng.normal(size=20)
    with pytest.raises(ValueError, match="KNeighborsRegressor does not accept sample_weight"):
        CrossFitted(KNeighborsRegressor(2)).fit(X, y, sample_weight=np.arange(20.0))


def test_progress_bar_is_shown_if_verbose(rng, capsys):
    X, y = rng.normal(size=(20, 1)), rng.normal(size=20)
    CrossFitted(LinearQuantile(), verbose=True).fit(X, y)
    assert "LinearQuantile" in capsys.readouterr().err


class Counted(Mean):
    """Notes each call of predict."""

    calls: ClassVar[list[int]] = []

    def predict(self, X):
        self.calls.append(len(X))
        return X @ np.arange(1.0, 3.0) + self.mean_


def test_rows_are_predicted_once_by_models_that_are_shared(rng):
    """The model without blocks j and k predicts k for two rules: learned from all but j, and k."""
    X, y, blocks = rng.normal(size=(90, 2)), rng.normal(size=90), np.arange(90) % 3

    def predictions():
        Counted.calls.clear()
        for k in range(3):
            kept = blocks != k
            folds = [
                (np.flatnonzero(blocks[kept] != j), np.flatnonzero(blocks[kept] == j))
                for j in {0, 1, 2} - {k}
            ]
            regressor = CrossFitted(Counted(), cv=folds).fit(X[kept], y[kept])
            yield regressor.out_of_fold_
            yield regressor.predict(X[~kept])
            yield regressor.predict(X[~kept])

    apart = [*predictions()]
    with sharing_fits():
        shared = [*predictions()]
    assert len(Counted.calls) == 6  # three models, each of two blocks
    np.testing.assert_array_equal(np.concatenate(shared), np.concatenate(apart))


def test_models_that_regressors_share_predict_once_to_the_same_bits(rng):
    X, y = rng.normal(size=(120, 2)), rng.exponential(size=120)
    booster = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    with sharing_fits():
        two = [CrossFitted(booster, n_repeats=n, random_state=0).fit(X, y) for n in (1, 2)]
    apart, other = [one.predict(X) for one in two], two[0].predict(X[:5])
    together = SharedModels([*two, Mean().fit(X, y)])
    assert len(together.models) == 6  # of nine
    with together.predicted(X):
        np.testing.assert_array_equal(two[0].predict(X[:5]), other)  # of other rows
        for one in two:
            one._tables = None
            for model in one.models_:
                model.predict = None  # nothing is left but to look predictions up
        np.testing.assert_array_equal([one._predict(X) for one in two], apart)
