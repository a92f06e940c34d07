"""Trees of LightGBM in tables: what they would have predicted, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from lightgbm import LGBMRegressor, early_stopping
from sklearn.ensemble import HistGradientBoostingRegressor

from plcp.regressors._fast_trees import Booster, Forest, LightBooster
from plcp.regressors.crossfit import AveragedBoosters, taken_apart


def fitted(X, y, categorical="auto", **options):
    model = LGBMRegressor(n_jobs=1, verbose=-1, min_child_samples=2, **options)
    return model.fit(X, y, categorical_feature=categorical)


def rows(rng, n, gaps):
    X = rng.normal(size=(n, 3)).round(1)
    X[:, 2] = rng.integers(-1, 2, n)
    X[rng.uniform(size=X.shape) < gaps] = np.nan
    return X


@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([2, 16, 31, 64]),
    st.sampled_from(["quantile", "regression", "regression_l1", "huber"]),
    st.sampled_from([0, 1, 30]),
)
def test_every_model_predicts_what_it_would_have_predicted(seed, gaps, leaves, objective, n_trees):
    rng = np.random.default_rng(seed)
    X = rows(rng, 200, gaps)
    y = rng.normal(size=200) + np.nan_to_num(X[:, 0])
    options = {"objective": objective, "num_leaves": leaves, "n_estimators": n_trees or 1}
    if n_trees == 0:
        y[:] = 3.0  # trees without a split
    models = [fitted(X[half::2], y[half::2], **options) for half in range(2)]
    cuts = np.concatenate([*LightBooster(models[0]).known().values(), [0.0, np.inf, -np.inf]])
    near = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)])
    new = np.concatenate([rows(rng, 100, 0.3), np.repeat(near[:, None], 3, axis=1)])
    found = Forest([*map(LightBooster, models)]).predict(new)
    for model, prediction in zip(models, found, strict=True):
        np.testing.assert_array_equal(prediction, model.predict(new))


def test_trees_after_the_best_are_not_asked(rng):
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    model = LGBMRegressor(n_jobs=1, verbose=-1, n_estimators=200).fit(
        X, y, eval_X=X[:100], eval_y=-y[:100], callbacks=[early_stopping(3, verbose=False)]
    )
    assert model.best_iteration_ < 200
    np.testing.assert_array_equal(Forest([LightBooster(model)]).predict(X)[0], model.predict(X))


def test_models_of_both_kinds_side_by_side(rng):
    X = rows(rng, 300, 0.1)
    y = rng.normal(size=300)
    light, other = fitted(X, y), HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    one, two = Forest([LightBooster(light), Booster(other)]).predict(X)
    np.testing.assert_array_equal(one, light.predict(X))
    np.testing.assert_array_equal(two, other.predict(X))


def test_the_mean_of_fold_models_is_their_mean(rng):
    X = rng.normal(size=(900, 4))
    y = X[:, 0] + rng.normal(size=900)
    models = [fitted(X[i::3], y[i::3], objective="quantile", alpha=0.9) for i in range(3)]
    tables = AveragedBoosters.of(models)
    expected = (models[0].predict(X) + models[1].predict(X) + models[2].predict(X)) / 3
    assert tables.predict(X[:1]) is None  # before trees are told, the models are faster
    assert tables.forest is not None
    np.testing.assert_array_equal(tables.predict(X), expected)


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
def test_models_that_ask_otherwise_are_asked_themselves(rng, options, columns):
    import pandas as pd

    X = np.abs(rows(rng, 300, 0.0))
    y = rng.poisson(1 + X[:, 2] * 5)
    given = X if columns is None else pd.DataFrame(X, columns=columns)
    model = fitted(given, y, min_data_per_group=1, cat_smooth=0, max_cat_to_onehot=1, **options)
    assert taken_apart(model) is not None
    assert AveragedBoosters.of([model]).forest is None
