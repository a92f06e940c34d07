"""Boosted scales of the score, and coarse columns for weighted trees."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from plcp.datasets import make_nonlinear
from plcp.regressors import ScaledQuantile
from plcp.regressors.base import MOST_VALUES, coarse, fit_weighted


def test_scaling_the_scores_scales_the_regressor():
    task = make_nonlinear(500, random_state=0)
    one, other = (ScaledQuantile(0.9, random_state=0).fit(task.X, c * task.scores) for c in (1, 64))
    np.testing.assert_allclose(64 * one.predict(task.X), other.predict(task.X), rtol=1e-9)


def test_orders_inputs_by_their_noise():
    task, new = make_nonlinear(4000, random_state=0), make_nonlinear(2000, random_state=1)
    regressor = ScaledQuantile(0.9, random_state=0).fit(task.X, task.scores).predict(new.X)
    noisy = new.sigma > np.median(new.sigma)
    assert np.median(regressor[noisy]) > 1.5 * np.median(regressor[~noisy])


@pytest.mark.parametrize("zeros", [0.3, 0.95])
def test_atoms_at_zero_are_taken(rng, zeros):
    X = rng.normal(size=(400, 2))
    scores = np.abs(rng.normal(size=400)) * (rng.uniform(size=400) > zeros)
    regressor = ScaledQuantile(0.9, random_state=0).fit(X, scores).predict(X)
    assert np.isfinite(regressor).all()


def test_missing_values_are_taken(rng):
    X = rng.normal(size=(200, 2))
    X[::3, 0] = np.nan
    regressor = ScaledQuantile(0.9).fit(X, np.abs(rng.normal(size=200)))
    assert np.isfinite(regressor.predict(X)).all()


def test_negative_scores_are_refused_with_the_remedy(rng):
    with pytest.raises(ValueError, match=r"must not be negative.*got -1.*HistGradientBoosting"):
        ScaledQuantile().fit(rng.normal(size=(3, 1)), [1.0, -1.0, 2.0])


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


def test_no_weighted_percentile_is_computed(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("slow")

    where = "sklearn.ensemble._hist_gradient_boosting.binning._weighted_percentile"
    monkeypatch.setattr(where, refused, raising=False)  # older versions have none
    X, y, weights = rows(1000)
    fit_weighted(HistGradientBoostingRegressor(max_iter=2), X, y, weights)
