"""Trees in tables predict what the models themselves predict, to the last bit."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from lightgbm import LGBMRegressor, early_stopping
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from plcp.regressors import CrossFitted, ScaledQuantile, StackedQuantile, _fast_trees, crossfit
from plcp.regressors._fast_trees import DE_BRUIJN, Booster, LightBooster, TreeTables, which_bit
from plcp.regressors.crossfit import AveragedBoosters
from plcp.regressors.encoding import MAX_CATEGORIES, CategoryMeans, without_rare

LOSSES = ("gamma", "poisson", "quantile", "squared_error")
N = 700  # new rows: more than pass through the tables at a time


def near(cuts):
    """Numbers at cuts, just below, just above, and at the ends of floating point."""
    ends = [-np.inf, np.inf, -1e308, np.finfo(float).max, 5e-324, 0.0, -0.0]
    return np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), ends])


def assert_same(booster, models, X):
    tables = TreeTables([booster(model) for model in models])
    for rows in (X, X[:1], X[:1].astype(np.float32), np.asfortranarray(X)):
        for model, found in zip(models, tables.predict(rows), strict=True):
            np.testing.assert_array_equal(found, model.predict(rows))


def table(rng, n, codes, gaps, unseen=False):
    """Numbers and, where ``codes``, whole ones; missing values, infinite and unseen ones."""
    X = np.where(codes, rng.integers(-1, 12 + 5 * unseen, (n, len(codes))) * 1.0, 0.0)
    X[:, ~codes] = rng.normal(size=(n, (~codes).sum())).round(1)
    if unseen:
        infinite = rng.uniform(size=X.shape) < 0.1
        X[infinite & ~codes] = rng.choice([-np.inf, np.inf], (infinite & ~codes).sum())
        X[infinite & codes] += 0.5
    X[rng.uniform(size=X.shape) < gaps] = np.nan
    return X


@st.composite
def boosters(draw):
    """Boosters fitted to one table, each to rows of its own, and new rows for all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.array(draw(st.lists(st.booleans(), min_size=1, max_size=4)))
    n = draw(st.sampled_from([30, 300]))
    X = table(rng, n, codes, gaps=draw(st.sampled_from([0.0, 0.2])))
    loss = draw(st.sampled_from(LOSSES))
    y = rng.normal(size=n) + 2 * np.nan_to_num(X[:, 0] % 3)
    y = np.exp(y) if loss in ("gamma", "poisson") else y
    categorical = codes if draw(st.booleans()) else None
    models = []
    for _ in range(draw(st.integers(1, 3))):
        rows = rng.choice(n, size=n // 2, replace=False)
        model = HistGradientBoostingRegressor(
            loss=loss,
            quantile=0.9,
            max_iter=draw(st.sampled_from([1, 40])),
            max_leaf_nodes=draw(st.sampled_from([2, 8, 9, 16, 17, 32, 33, 64])),
            min_samples_leaf=draw(st.sampled_from([1, 1000])),  # 1000: trees of one leaf
            categorical_features=categorical,
        )
        weights = rng.integers(0, 3, size=len(rows)) if draw(st.booleans()) else None
        models.append(model.fit(X[rows], y[rows], weights))
    new = table(rng, 200, codes, gaps=0.2, unseen=True)
    if categorical is not None:
        return models, new
    cuts = [tree.nodes["num_threshold"] for model in models for (tree,) in model._predictors]
    return models, np.vstack([new, np.tile(near(np.concatenate(cuts))[:, None], len(codes))])


@settings(max_examples=50)
@given(boosters())
def test_boosters_of_scikit_learn(case):
    assert_same(Booster, *case)


def light(X, y, categorical="auto", **options):
    model = LGBMRegressor(n_jobs=1, verbose=-1, min_child_samples=2, **options)
    return model.fit(X, y, categorical_feature=categorical)


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([2, 16, 31, 64]),
    st.sampled_from(["quantile", "regression", "regression_l1", "huber"]),
    st.sampled_from([0, 1, 30]),
)
def test_boosters_of_lightgbm(seed, gaps, leaves, objective, n_trees):
    rng = np.random.default_rng(seed)
    X = table(rng, 200, np.array([False, False, True]), gaps)
    y = rng.normal(size=200) + np.nan_to_num(X[:, 0])
    options = {"objective": objective, "num_leaves": leaves, "n_estimators": n_trees or 1}
    if n_trees == 0:
        y[:] = 3.0  # trees without a split
    models = [light(X[half::2], y[half::2], **options) for half in range(2)]
    zero = np.append(LightBooster(models[0]).trees.cut, [_fast_trees.ZERO, -_fast_trees.ZERO])
    assert_same(LightBooster, models, np.vstack([X, np.tile(near(zero)[:, None], 3)]))


def test_lightgbm_stops_at_its_best_tree(rng):
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    model = LGBMRegressor(n_jobs=1, verbose=-1, n_estimators=200).fit(
        X, y, eval_X=X[:100], eval_y=-y[:100], callbacks=[early_stopping(3, verbose=False)]
    )
    assert model.best_iteration_ < 200
    assert_same(LightBooster, [model], X)


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_other_arrays_of_numbers(rng, kind):
    X = (10 * rng.normal(size=(400, 3))).astype(kind)
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, X.sum(axis=1))
    np.testing.assert_array_equal(TreeTables([Booster(model)]).predict(X)[0], model.predict(X))


def test_a_categorical_column_without_any_value_in_fit(rng):
    X = rng.normal(size=(60, 2))
    X[:, 1] = np.nan
    model = HistGradientBoostingRegressor(categorical_features=[1], max_iter=2).fit(X, X[:, 0])
    X[:, 1] = 3.0
    assert_same(Booster, [model], X)


@pytest.mark.parametrize("bits", DE_BRUIJN)
def test_each_bit_has_a_number_of_its_own(bits):
    words = np.array([1 << i for i in range(bits)], dtype=f"u{bits // 8}")
    assert sorted(which_bit(words)) == list(range(bits))


CODES = np.array([False, True, True, False])
SOME, MANY = np.array([False, True, False, False]), np.array([False, False, True, False])
QUANTILE = HistGradientBoostingRegressor(
    loss="quantile", quantile=0.9, max_iter=20, categorical_features=SOME
)
WITH_TABLES = {
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
WITHOUT = {
    "another pipeline": make_pipeline(StandardScaler(), ScaledQuantile(0.9)),
    "a function": make_pipeline(FunctionTransformer(np.abs), ScaledQuantile(0.9)),
    "rare numbers": make_pipeline(
        FunctionTransformer(without_rare, kw_args={"columns": CODES}), ScaledQuantile(0.9)
    ),
    "large trees": HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=65, min_samples_leaf=1),
    "more columns than trees": HistGradientBoostingRegressor(max_iter=1),
}


def coded(rng, n, n_codes):
    """Numbers, a column of few codes and one of many, and gaps."""
    X = rng.normal(size=(n, 4))
    X[:, 1], X[:, 2] = rng.integers(0, 6, n), rng.integers(0, n_codes, n)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    return X


def fitted(regressor, rng):
    X = coded(rng, 900, 300)
    scores = np.abs(rng.normal(size=900)) * (1 + np.nan_to_num(X[:, 1] % 2 + X[:, 2] % 5))
    return CrossFitted(regressor, n_repeats=1, random_state=0).fit(X, scores)


def tables_of(model):
    averaged = AveragedBoosters.of(model.models_)
    return None if averaged is None else averaged.tables


@pytest.mark.parametrize(
    ("regressor", "has_tables"),
    [*((r, True) for r in WITH_TABLES.values()), *((r, False) for r in WITHOUT.values())],
    ids=[*WITH_TABLES, *WITHOUT],
)
def test_the_mean_of_fold_models(rng, regressor, has_tables):
    model, X = fitted(regressor, rng), coded(rng, N, 400)  # and codes that were not seen
    expected = sum(fold.predict(X) for fold in model.models_) / len(model.models_)
    assert (tables_of(model) is not None) == has_tables
    for n in (1, 30, N):
        found = [model.predict(X[i : i + n]) for i in range(0, N, n)]
        np.testing.assert_array_equal(np.concatenate(found), expected)


def test_the_mean_of_lightgbm_models(rng, monkeypatch):
    X = rng.normal(size=(900, 4))
    options = {"objective": "quantile", "alpha": 0.9}
    models = [light(X[i::3], X[i::3, 0] ** 2, **options) for i in range(3)]
    averaged = AveragedBoosters.of(models)
    assert averaged.predict(X) is None  # too few rows to read the trees for
    monkeypatch.setattr(crossfit, "ROWS_FOR_LIGHTGBM", len(X))
    expected = (models[0].predict(X) + models[1].predict(X) + models[2].predict(X)) / 3
    np.testing.assert_array_equal(averaged.predict(X), expected)
    np.testing.assert_array_equal(averaged.predict(X[:5]), expected[:5])


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({"objective": "poisson"}, None),  # an exponential is taken of the sum
        ({"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, None),  # a mean
        ({"zero_as_missing": True}, None),
        ({"categorical": [2]}, None),
        ({}, ["a", "b", "c"]),
    ],
)
def test_lightgbm_models_without_tables(rng, options, columns):
    X = np.abs(table(rng, 300, np.array([False, False, True]), 0.0))
    y = rng.poisson(1 + X[:, 2])
    X = X if columns is None else pd.DataFrame(X, columns=columns)
    model = light(X, y, min_data_per_group=1, cat_smooth=0, max_cat_to_onehot=1, **options)
    assert AveragedBoosters.of([model]).tables is None


def test_tables_of_too_many_bytes_are_not_made(rng, monkeypatch):
    model = fitted(WITH_TABLES["means"], rng)
    n_bytes = sum(t.nbytes for words in tables_of(model).words for t in words.tables.values())
    monkeypatch.setattr(_fast_trees, "MOST_BYTES", n_bytes // 2)
    assert tables_of(model) is None


def test_neither_block_sizes_nor_threads_change_a_bit(rng, monkeypatch):
    model, X = fitted(ScaledQuantile(0.9), rng), coded(rng, N, 400)
    expected = model.predict(X)
    for rows, per_thread, threads in [(7, 307, 1), (1001, 101, 3), (64, 350, 2)]:
        monkeypatch.setattr(_fast_trees, "ROWS", rows)
        monkeypatch.setattr(crossfit, "ROWS_PER_THREAD", per_thread)
        monkeypatch.setattr(crossfit, "_openmp_effective_n_threads", lambda k=threads: k)
        np.testing.assert_array_equal(model.predict(X), expected)


def test_tables_are_not_stored_with_the_model(rng):
    model, X = fitted(ScaledQuantile(0.9), rng), coded(rng, N, 400)
    size, expected = len(pickle.dumps(model)), model.predict(X)
    assert len(pickle.dumps(model)) == size
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.predict(X), expected)


def test_several_threads_may_be_the_first_to_predict(rng):
    model, X = fitted(ScaledQuantile(0.9), rng), coded(rng, N, 400)
    expected = pickle.loads(pickle.dumps(model)).predict(X)
    with ThreadPoolExecutor(4) as threads:
        for values in threads.map(model.predict, [X] * 8):
            np.testing.assert_array_equal(values, expected)


def test_a_new_fit_replaces_the_tables(rng):
    model, X = fitted(ScaledQuantile(0.9), rng), coded(rng, N, 400)
    model.predict(X)
    scores = np.abs(rng.normal(size=len(X)))
    np.testing.assert_array_equal(
        model.fit(X, scores).predict(X), clone(model).fit(X, scores).predict(X)
    )


def test_frames_are_predicted_alike_in_batches_of_any_size(rng):
    codes = coded(rng, 3000, MAX_CATEGORIES + 10)
    frame = pd.DataFrame(codes, columns=[*"abcd"]).astype({"b": "category", "c": "category"})
    scores = np.abs(rng.normal(size=len(frame))) * (1 + (codes[:, 1] > 2))
    regressor = StackedQuantile(0.9, n_repeats=1, random_state=0).fit(frame, scores)
    few = [regressor.predict(frame[i : i + 10]) for i in range(0, 500, 10)]
    np.testing.assert_array_equal(regressor.predict(frame)[:500], np.concatenate(few))
