"""Weighted boosting on coarse columns: what trees part stays parted as it was."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from plcp.regressors.base import MOST_VALUES, coarse, fit_weighted


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 9, n), rng.integers(0, 2000, n)])
    X[rng.random(n) < 0.1, 0] = np.nan
    X[:3, 2] = np.inf, -np.inf, np.nan
    return (
        X,
        np.nan_to_num(X[:, 0]) * X[:, 1] + np.sin(np.nan_to_num(X[:, 2])),
        rng.uniform(0.5, 2, n),
    )


def test_wide_columns_keep_their_order_and_gaps_and_others_their_values():
    X, _, _ = rows(5000)
    few = coarse(X)
    np.testing.assert_array_equal(few[:, 1], X[:, 1])
    np.testing.assert_array_equal(np.isnan(few), np.isnan(X))
    for column in (0, 2):
        found = ~np.isnan(X[:, column])
        order = np.argsort(X[found, column])
        assert len(np.unique(few[found, column])) == MOST_VALUES
        assert (np.diff(few[found, column][order]) >= 0).all()


def test_trees_part_the_rows_as_they_part_the_coarse_ones():
    X, y, weights = rows(5000)
    model = HistGradientBoostingRegressor(max_iter=30, early_stopping=False)
    fit_weighted(model, X, y, weights)
    np.testing.assert_array_equal(model.predict(X), model.predict(coarse(X)))


def test_no_weighted_percentile_of_a_column_is_asked_for(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("slow")

    where = "sklearn.ensemble._hist_gradient_boosting.binning._weighted_percentile"
    monkeypatch.setattr(where, refused, raising=False)  # older versions have none
    X, y, weights = rows(1000)
    fit_weighted(HistGradientBoostingRegressor(max_iter=2), X, y, weights)
