"""The lasso from moments is the lasso, and the scale it learns is the scale."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import Lasso
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit
from sklearn.preprocessing import StandardScaler

from plcp import ClassifierPartition
from plcp._folds import copy_ids
from plcp.datasets import make_synthetic
from plcp.regressors import SparseScale
from plcp.regressors.sparse import BLOCK, lasso_from_moments

LASSO_TOLERANCE = 1e-3  # the duality gap coordinate descent stops at, relative to the target


def moments(X, y, weights):
    block = np.column_stack([np.ones(len(X)), X, y]) * np.sqrt(weights)[:, None]
    return block.T @ block


@pytest.mark.parametrize("penalty", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_lasso_from_moments_is_the_lasso_of_the_rows(rng, penalty, weighted):
    X = rng.normal(size=(300, 6)) * [1, 10, 0.1, 1, 5, 1] + 3
    y = X @ [1, 0.3, 0, 0, -0.2, 0] + rng.normal(size=300)
    weights = rng.uniform(0.5, 2, 300) if weighted else np.ones(300)
    intercept, coef = lasso_from_moments(moments(X, y, weights), np.array([penalty]))[0]
    scaler = StandardScaler().fit(X, sample_weight=weights)
    Z, centred = scaler.transform(X), y - np.average(y, weights=weights)
    largest = np.abs(np.average(Z * centred[:, None], axis=0, weights=weights)).max()
    oracle = Lasso(alpha=penalty * largest, tol=1e-10).fit(Z, y, sample_weight=weights)

    def objective(prediction, standardised):
        loss = np.average((y - prediction) ** 2, weights=weights) / 2
        return loss + penalty * largest * np.abs(standardised).sum()

    ours = objective(X @ coef + intercept, coef * scaler.scale_)
    best = objective(oracle.predict(Z), oracle.coef_)
    assert ours - best <= LASSO_TOLERANCE * np.average(centred**2, weights=weights)


def test_largest_penalty_leaves_the_mean_alone(rng):
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    intercept, coef = lasso_from_moments(moments(X, y, np.ones(50)), np.array([1.0]))[0]
    np.testing.assert_allclose(coef, 0, atol=1e-12)
    assert intercept == pytest.approx(y.mean())


def test_blocks_do_not_matter(rng):
    X = rng.normal(size=(BLOCK + 100, 3))
    scores = np.abs(rng.normal(size=len(X))) * (1 + (X[:, 0] > 0))
    order = np.arange(len(X))
    one = SparseScale(penalties=(0.1, 0.1)).fit(X, scores)
    other = SparseScale(penalties=(0.1, 0.1)).fit(X[order[::-1]], scores[::-1])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6)


def test_scaling_the_scores_scales_the_regressor(rng):
    X = rng.normal(size=(400, 3))
    scores = np.abs(rng.normal(size=400)) * np.exp(X[:, 0] / 2)
    one, other = SparseScale().fit(X, scores), SparseScale().fit(X, 8 * scores)
    np.testing.assert_allclose(8 * one.predict(X), other.predict(X), rtol=1e-10)


def test_finds_the_linear_variance_better_than_a_constant():
    task, new = make_synthetic(3000, random_state=0), make_synthetic(3000, random_state=1)
    regressor = SparseScale().fit(task.X, task.scores).predict(new.X)
    assert np.log(regressor / new.sigma).std() < np.log(new.sigma).std()


def test_missing_values_count_as_the_mean_and_categories_as_levels(rng):
    X = np.column_stack([rng.normal(size=500), rng.integers(0, 3, 500).astype(float)])
    scores = np.abs(rng.normal(size=500)) * (1 + 3 * (X[:, 1] == 2))
    regressor = SparseScale(categorical_features=[False, True]).fit(X, scores)
    gap, mean = np.array([[np.nan, 1.0]]), np.array([[X[:, 0].mean(), 1.0]])
    np.testing.assert_allclose(regressor.predict(gap), regressor.predict(mean))
    assert regressor.predict([[0.0, 2.0]])[0] > 2 * regressor.predict([[0.0, 0.0]])[0]


def test_tuned_clone_keeps_its_penalties(rng):
    X, scores = rng.normal(size=(200, 2)), np.abs(rng.normal(size=200))
    tuned = SparseScale().tune(X, scores)
    assert tuned.fit(X[:100], scores[:100]).penalties_ == tuned.penalties


def test_columns_that_say_the_same_are_no_reason_to_warn(rng):
    """Coordinate descent parts them slowly, and warns; warnings are errors here."""
    z = rng.uniform(size=300)
    X, scores = np.vander(z, 80), abs((1 + z) * rng.normal(size=300))
    regressor = SparseScale().fit(X, scores)
    assert np.isfinite(regressor.predict(X)).all()


def test_folds_of_the_user(rng):
    """Those of equal content are the default's; rows of no weight may be among them."""
    X = rng.normal(size=(200, 5))
    scores = np.exp(X[:, 0]) * rng.exponential(size=200)
    folds = copy_ids(X, scores) % 4
    pairs = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
    counted, given = (SparseScale(cv=cv).fit(X, scores) for cv in (4, pairs))
    assert_array_equal(given.predict(X), counted.predict(X))
    weights = rng.integers(0, 3, size=200)
    by_splitter, by_pairs = (
        SparseScale(cv=cv).fit(X, scores, weights) for cv in (KFold(3), [*KFold(3).split(X)])
    )
    assert_array_equal(by_splitter.predict(X), by_pairs.predict(X))


@pytest.mark.parametrize("cv", ["three", 1, 2.5, ShuffleSplit(1), [(np.arange(9), [9])]])
def test_folds_that_are_none(rng, cv):
    X, scores = rng.normal(size=(50, 2)), rng.exponential(size=50)
    for estimator in (SparseScale(cv=cv), ClassifierPartition(cv=cv)):
        with pytest.raises(ValueError, match="cv"):
            estimator.fit(X, scores)


def test_a_row_held_out_twice_has_no_fold(rng):
    X, scores = rng.normal(size=(50, 2)), rng.exponential(size=50)
    with pytest.raises(ValueError, match=r"holds out a row more than once.*KFold\(5\)"):
        SparseScale(cv=RepeatedKFold(n_splits=2, n_repeats=2)).fit(X, scores)
