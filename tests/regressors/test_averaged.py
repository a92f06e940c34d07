"""The mean of fold models is the same from tables, whatever they are made of."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from plcp.regressors import CrossFitted, ScaledQuantile, StackedQuantile, crossfit as averaged
from plcp.regressors.crossfit import MOST_TO_WALK, ROWS_FOR_TABLES, AveragedBoosters
from plcp.regressors.encoding import MAX_CATEGORIES, CategoryMeans, without_rare

CODES = np.array([False, True, True, False])
SOME, MANY = np.array([False, True, False, False]), np.array([False, False, True, False])
QUANTILE = HistGradientBoostingRegressor(
    loss="quantile", quantile=0.9, max_iter=20, categorical_features=SOME
)
REGRESSORS = {
    "scaled": ScaledQuantile(0.9),
    "scaled with categories": ScaledQuantile(0.9, categorical_features=SOME),
    "quantile": QUANTILE,
    "without rare": make_pipeline(
        FunctionTransformer(without_rare, kw_args={"columns": CODES}),
        ScaledQuantile(0.9, categorical_features=CODES),
    ),
    "means": CategoryMeans(ScaledQuantile(0.9, categorical_features=SOME), MANY),
    "means of a quantile": CategoryMeans(QUANTILE, MANY),
}
LARGE_TREES = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=65, min_samples_leaf=1)
OTHERS = {
    "another pipeline": make_pipeline(StandardScaler(), ScaledQuantile(0.9)),
    "a function": make_pipeline(FunctionTransformer(np.abs), ScaledQuantile(0.9)),
    "rare numbers": make_pipeline(
        FunctionTransformer(without_rare, kw_args={"columns": CODES}), ScaledQuantile(0.9)
    ),
}


def table(rng, n, n_codes):
    """Numbers, a column of few codes and one of many, and gaps."""
    X = rng.normal(size=(n, 4))
    X[:, 1], X[:, 2] = rng.integers(0, 6, n), rng.integers(0, n_codes, n)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    return X


def fitted(regressor, rng):
    X = table(rng, 900, 300)
    scores = np.abs(rng.normal(size=900)) * (1 + np.nan_to_num(X[:, 1] % 2 + X[:, 2] % 5))
    return CrossFitted(regressor, n_repeats=1, random_state=0).fit(X, scores)


def new_rows(rng):
    return table(rng, ROWS_FOR_TABLES, 400)  # and codes that were not seen


def mean_of(models, X):
    return sum(model.predict(X) for model in models) / len(models)


@pytest.mark.parametrize("regressor", REGRESSORS.values(), ids=REGRESSORS)
def test_the_mean_is_theirs_to_the_last_bit(rng, regressor):
    model, X = fitted(regressor, rng), new_rows(rng)
    assert AveragedBoosters.of(model.models_).forest is not None
    np.testing.assert_array_equal(model.predict(X), mean_of(model.models_, X))


@pytest.mark.parametrize(
    "regressor", [*REGRESSORS.values(), LARGE_TREES], ids=[*REGRESSORS, "large trees"]
)
@pytest.mark.parametrize("n", [1, 2, MOST_TO_WALK])
def test_a_few_rows_are_answered_as_by_the_models_to_the_last_bit(rng, regressor, n):
    model, X = fitted(regressor, rng), new_rows(rng)[: 4 * MOST_TO_WALK]
    expected = mean_of(model.models_, X)
    found = [model.predict(X[i : i + n]) for i in range(0, len(X), n)]
    assert "forest" not in vars(model._tables)
    np.testing.assert_array_equal(np.concatenate(found), expected)


@pytest.mark.parametrize("regressor", OTHERS.values(), ids=OTHERS)
def test_what_cannot_be_taken_apart_is_asked_as_a_whole(rng, regressor):
    model, X = fitted(regressor, rng), new_rows(rng)
    assert AveragedBoosters.of(model.models_) is None
    np.testing.assert_array_equal(model.predict(X), mean_of(model.models_, X))


def test_trees_of_too_many_leaves_are_asked_as_a_whole(rng):
    model, X = fitted(LARGE_TREES, rng), new_rows(rng)
    assert AveragedBoosters.of(model.models_).forest is None
    np.testing.assert_array_equal(model.predict(X), mean_of(model.models_, X))


def test_more_columns_than_trees_are_not_worth_tables(rng):
    X, y = rng.normal(size=(400, 60)), rng.normal(size=400)
    trees = HistGradientBoostingRegressor(max_iter=3)
    models = CrossFitted(trees, cv=2, n_repeats=1).fit(X, y).models_
    assert AveragedBoosters.of(models).forest is None


def test_tables_of_countless_categories_are_not_made(rng, monkeypatch):
    models = fitted(REGRESSORS["means"], rng).models_
    n_bytes = sum(
        table.nbytes
        for lanes in AveragedBoosters.of(models).forest.lanes
        for table in lanes.tables.values()
    )
    monkeypatch.setattr(averaged, "MOST_BYTES", n_bytes // 2)
    assert AveragedBoosters.of(models).forest is None


def test_neither_rows_at_a_time_nor_threads_change_a_bit(rng, monkeypatch):
    model, X = fitted(ScaledQuantile(0.9), rng), new_rows(rng)
    expected = model.predict(X)
    for rows, threads in [(307, 1), (1001, 3), (10**6, 2)]:
        monkeypatch.setattr(averaged, "ROWS", rows)
        monkeypatch.setattr(averaged, "_openmp_effective_n_threads", lambda k=threads: k)
        np.testing.assert_array_equal(model.predict(X), expected)


def test_few_rows_are_given_the_same_before_and_after_many(rng):
    model, X = fitted(ScaledQuantile(0.9), rng), new_rows(rng)
    before = model.predict(X[:5])
    np.testing.assert_array_equal(before, model.predict(X)[:5])
    np.testing.assert_array_equal(before, model.predict(X[:5]))


def test_tables_are_not_kept_with_the_model(rng):
    model, X = fitted(ScaledQuantile(0.9), rng), new_rows(rng)
    size, expected = len(pickle.dumps(model)), model.predict(X)
    assert len(pickle.dumps(model)) == size
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.predict(X), expected)


def test_threads_of_the_user_may_be_the_first_to_ask(rng):
    model, X = fitted(ScaledQuantile(0.9), rng), new_rows(rng)
    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(model.predict, [X] * 8)]
    for values in found:
        np.testing.assert_array_equal(values, mean_of(model.models_, X))


def test_a_new_fit_forgets_the_tables_of_the_last(rng):
    model, X = fitted(ScaledQuantile(0.9), rng), new_rows(rng)
    model.predict(X)
    scores = np.abs(rng.normal(size=len(X)))
    np.testing.assert_array_equal(
        model.fit(X, scores).predict(X), clone(model).fit(X, scores).predict(X)
    )


def test_frames_and_arrays_of_their_codes_agree(rng):
    codes = table(rng, ROWS_FOR_TABLES, MAX_CATEGORIES + 10)
    frame = pd.DataFrame(codes, columns=[*"abcd"]).astype({"b": "category", "c": "category"})
    scores = np.abs(rng.normal(size=len(frame))) * (1 + (codes[:, 1] > 2))
    regressor = StackedQuantile(0.9, n_repeats=1, random_state=0).fit(frame[:3000], scores[:3000])
    for n in (10, 100):
        few = [regressor.predict(frame[i : i + n]) for i in range(0, 1000, n)]
        np.testing.assert_array_equal(regressor.predict(frame)[:1000], np.concatenate(few))
