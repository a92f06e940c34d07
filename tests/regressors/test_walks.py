"""Rows that walk through all trees at once end where each booster would send them."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor

from plcp.regressors._fast_trees import Booster, Walks, columns_of_codes

LOSSES = ("squared_error", "gamma", "quantile")


def rows(rng, n, gaps):
    """Two columns of numbers on a coarse grid, so that many lie on a cut, and one of codes."""
    X = rng.integers(-4, 5, (n, 3)) / 2
    X[:, 1] = rng.integers(0, 40, n)
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@settings(max_examples=20)
@given(
    seed=st.integers(0, 999),
    gaps=st.sampled_from([0.0, 0.3]),
    codes=st.sampled_from([None, [1]]),
    loss=st.sampled_from(LOSSES),
    leaves=st.integers(2, 70),
)
def test_every_booster_predicts_what_it_would_have_predicted(seed, gaps, codes, loss, leaves):
    rng = np.random.default_rng(seed)
    level = 0.9 if loss == "quantile" else None
    models = [
        HistGradientBoostingRegressor(
            loss=loss,
            quantile=level,
            categorical_features=codes,
            max_iter=max_iter,
            max_leaf_nodes=leaves,
            min_samples_leaf=1,
        ).fit(rows(rng, 90, gaps), rng.gamma(2.0, size=90))  # each knows some of the codes
        for max_iter in (1, 4)
    ]
    walks, new = Walks([*map(Booster, models)]), rows(rng, 40, 0.2)
    for X in (new, new[:1], new[:1].astype(np.float32), np.asfortranarray(new)):
        for model, found in zip(models, walks.predict(X), strict=True):
            np.testing.assert_array_equal(found, model.predict(X))


@pytest.mark.parametrize("number", [-1e308, np.finfo(float).max, 5e-324, -0.0])
def test_numbers_at_the_ends_of_floating_point_take_the_same_side(rng, number):
    X = np.append(rng.normal(size=(60, 1)), np.full((20, 1), np.clip(number, -1e307, 1e307)), 0)
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=1).fit(X, X[:, 0] > 0)
    found = Walks([Booster(model)]).predict(np.array([[number]]))[0]
    np.testing.assert_array_equal(found, model.predict([[number]]))


def test_a_column_without_any_known_code_is_asked_about_by_nobody(rng):
    X = rng.normal(size=(60, 2))
    X[:, 1] = np.nan
    model = HistGradientBoostingRegressor(categorical_features=[1], max_iter=2).fit(X, X[:, 0])
    assert columns_of_codes([Booster(model)]) == {}
    X[:, 1] = 3.0
    np.testing.assert_array_equal(Walks([Booster(model)]).predict(X)[0], model.predict(X))
