"""Codes become mean scores: of all rows for new ones, of other rows for those that teach."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from plcp.regressors import StackedQuantile
from plcp.regressors.encoding import CategoryMeans, category_means

CODES = np.array([0, 1, 1, np.nan, 3, 3, 3, 0, np.nan, 1])


class Recorder(RegressorMixin, BaseEstimator):
    """Keeps what it was shown, and predicts its first column."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.weight_ = X, sample_weight
        return self

    def predict(self, X):
        return X[:, 0]


def shown(codes, scores, weights=None, **parameters):
    X = np.column_stack([codes, np.arange(len(codes))])
    regressor = CategoryMeans(Recorder(), [True, False], random_state=0, **parameters)
    return regressor.fit(X, scores, weights)


def test_means_are_those_of_the_rows_and_one_more(rng):
    places, scores, weights = rng.integers(5, size=40), rng.normal(size=40), rng.uniform(size=40)
    overall = (weights * scores).sum() / weights.sum()
    for place, mean in enumerate(category_means(places, scores, weights)):
        own = [(w, s) for p, w, s in zip(places, weights, scores, strict=True) if p == place]
        total, mass = sum(w * s for w, s in own), sum(w for w, _ in own)
        assert mean == pytest.approx((total + overall) / (mass + 1))


def test_new_rows_are_told_the_means_of_all(rng):
    scores = rng.uniform(size=10)
    regressor = shown(CODES, scores)
    new = np.array([0, 1, 3, np.nan, 2, 9])

    def mean_of(rows):
        return (scores[rows].sum() + scores.mean()) / (rows.sum() + 1)

    known = [mean_of(c == CODES) for c in (0, 1, 3)]
    expected = [*known, mean_of(np.isnan(CODES)), scores.mean(), scores.mean()]
    told = regressor.predict(np.column_stack([new, new]))
    np.testing.assert_allclose(told, expected)


def test_no_row_that_teaches_is_told_of_its_own_score(rng):
    scores = rng.uniform(size=10)
    told = shown(CODES, scores).regressor_.X_
    for row in range(10):
        other = shown(CODES, np.where(np.arange(10) == row, 50.0, scores)).regressor_.X_
        assert other[row, 0] == told[row, 0]
        assert (other[:, 0] != told[:, 0]).any()


def test_with_one_row_a_fold_each_is_told_of_all_others(rng):
    scores, weights = rng.uniform(size=10), rng.uniform(size=10)
    told = shown(CODES, scores, weights, cv=10).regressor_.X_[:, 0]
    places = np.where(np.isnan(CODES), 0, CODES + 1).astype(int)
    for row, value in enumerate(told):
        others = np.arange(10) != row
        means = category_means(places[others], scores[others], weights[others])
        alike = places[others] == places[row]  # none: the place is empty, or beyond the last
        assert value == (means[places[row]] if alike.any() else means[-1])


def test_other_columns_and_the_rows_given_are_left_alone(rng):
    X = np.column_stack([CODES, rng.normal(size=10)])
    given = X.copy()
    regressor = CategoryMeans(Recorder(), [True, False]).fit(X, rng.uniform(size=10))
    regressor.predict(X)
    np.testing.assert_array_equal(X, given)
    np.testing.assert_array_equal(regressor.regressor_.X_[:, 1], X[:, 1])


def test_each_column_has_means_of_its_own(rng):
    scores, codes = rng.uniform(size=10), np.column_stack([np.arange(10.0), CODES, CODES[::-1]])
    regressor = CategoryMeans(Recorder(), [False, True, True], random_state=0).fit(codes, scores)
    for column, means in regressor.means_.items():
        alone = CategoryMeans(Recorder(), np.arange(3) == column, random_state=0)
        alone.fit(codes, scores)
        np.testing.assert_array_equal(means, alone.means_[column])
        np.testing.assert_array_equal(
            regressor.regressor_.X_[:, column], alone.regressor_.X_[:, column]
        )
    assert list(regressor.means_) == [1, 2]


def test_a_weight_counts_rows(rng):
    scores, counts = rng.uniform(size=10), np.array([1, 2, 0, 3, 1, 0, 2, 1, 1, 2])
    weighted = shown(CODES, scores, counts)
    repeated = shown(np.repeat(CODES, counts), np.repeat(scores, counts))
    np.testing.assert_allclose(weighted.means_[0], repeated.means_[0])
    np.testing.assert_array_equal(weighted.regressor_.weight_, counts[counts > 0])


def kinds(regressor):
    return [type(member.regressor).__name__ for member in regressor.members_]


@pytest.mark.parametrize(
    ("n_categories", "expected"),
    [
        (20, ["ScaledQuantile", "SparseScale"]),
        (21, ["ScaledQuantile", "CategoryMeans", "SparseScale"]),
    ],
)
def test_only_many_categories_are_known_by_their_means_too(n_categories, expected, rng):
    frame = pd.DataFrame({"town": [f"t{i % n_categories}" for i in range(200)]})
    regressor = StackedQuantile(quantile=0.9, n_repeats=1, random_state=0)
    assert kinds(regressor.fit(frame, rng.uniform(size=200))) == expected


@pytest.mark.parametrize("signed", [False, True])
def test_categories_beyond_those_that_trees_can_sort_are_told_apart(signed, rng):
    towns = np.array([f"t{i}" for i in range(300)])
    level = np.where(np.arange(300) % 2, 1.0, 10.0)
    codes = np.repeat(np.arange(300), 10)
    scores = level[codes] * rng.uniform(0.9, 1.1, len(codes)) - 5.0 * signed
    frames = [library.DataFrame({"town": towns[codes]}) for library in (pd, pl)]
    one, other = (
        StackedQuantile(quantile=0.9, n_repeats=1, random_state=0).fit(frame, scores)
        for frame in frames
    )
    value = one.predict(frames[0])
    np.testing.assert_array_equal(value, other.predict(frames[1]))
    assert value[level[codes] == 10].min() > value[level[codes] == 1].max()
    new = one.predict(pd.DataFrame({"town": ["elsewhere", None]}))
    assert new[0] == new[1]
    assert np.isfinite(new).all()
