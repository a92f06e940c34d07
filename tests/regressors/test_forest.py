"""Looked up in tables, a row is given what it would find by walking through the trees."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor

from plcp.regressors._fast_trees import DE_BRUIJN, Booster, Forest, which_bit

SIZES = (2, 8, 9, 16, 17, 32, 33, 64)
TARGETS = {
    "gamma": lambda y: np.exp(y),
    "squared_error": lambda y: y,
    "quantile": lambda y: y,
    "poisson": lambda y: np.exp(y),
}


@st.composite
def boosters(draw):
    """Boosters fitted to one table, each to rows of its own, and new rows for all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.array(draw(st.lists(st.booleans(), min_size=1, max_size=4)))
    n = draw(st.sampled_from([30, 300]))
    X = table(rng, n, codes, gaps=draw(st.sampled_from([0.0, 0.2])))
    y = rng.normal(size=n) + 2 * np.nan_to_num(X[:, 0] % 3)
    loss = draw(st.sampled_from(sorted(TARGETS)))
    categorical = codes if draw(st.booleans()) else None
    models = []
    for _ in range(draw(st.integers(1, 3))):
        rows = rng.choice(n, size=n // 2, replace=False)
        model = HistGradientBoostingRegressor(
            loss=loss,
            quantile=0.9,
            max_iter=draw(st.sampled_from([1, 40])),
            max_leaf_nodes=draw(st.sampled_from(SIZES)),
            min_samples_leaf=draw(st.sampled_from([1, 1000])),  # 1000: trees of one leaf
            categorical_features=categorical,
        )
        weights = rng.integers(0, 3, size=len(rows)) if draw(st.booleans()) else None
        models.append(model.fit(X[rows], TARGETS[loss](y[rows]), weights))
    new = table(rng, 200, codes, gaps=0.2, unseen=True)
    return models, (at_the_cuts(models, new) if categorical is None else new)


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


def at_the_cuts(models, X):
    """X, and rows that lie at every cut, just below and just above."""
    cuts = np.concatenate(
        [tree.nodes["num_threshold"] for model in models for (tree,) in model._predictors]
    )
    near = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)])
    return np.concatenate([X, np.repeat(near[:, None], X.shape[1], axis=1)])


@settings(max_examples=60)
@given(boosters())
def test_every_booster_predicts_what_it_would_have_predicted(case):
    models, X = case
    forest = Forest([Booster(model) for model in models])
    for model, prediction in zip(models, forest.predict(X), strict=True):
        np.testing.assert_array_equal(prediction, model.predict(X))


@pytest.mark.parametrize("kind", [np.float32, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_other_arrays_of_numbers(rng, kind, order):
    X = (10 * rng.normal(size=(400, 3))).astype(kind, order=order)
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, X.sum(axis=1))
    np.testing.assert_array_equal(Forest([Booster(model)]).predict(X)[0], model.predict(X))


@pytest.mark.parametrize("bits", DE_BRUIJN)
def test_each_bit_is_told_from_the_others(bits):
    words = np.array([1 << i for i in range(bits)], dtype=f"u{bits // 8}")
    assert sorted(which_bit(words)) == list(range(bits))
