"""Conformalized quantile regression, end to end, by the formulas of Romano et al. (2019)."""

import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bands import beta_binomial_band
from plcp import (
    ConformalRegressor,
    LinearQuantile,
    QuantilePair,
    QuantileResidual,
    SplitConformal,
)

ALPHA = 0.2
QUICK = {"n_estimators": 5, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
MODELS = {
    "lightgbm": lambda q: lightgbm.LGBMRegressor(objective="quantile", alpha=q, **QUICK),
    "program": lambda q: QuantileRegressor(quantile=q, alpha=0),
    "histogram": lambda q: HistGradientBoostingRegressor(
        loss="quantile", quantile=q, max_iter=10, early_stopping=False
    ),
    "boosted": lambda q: GradientBoostingRegressor(
        loss="quantile", alpha=q, n_estimators=5, random_state=0
    ),
    "linear": lambda q: LinearQuantile(quantile=q),
    "pipeline": lambda q: make_pipeline(StandardScaler(), LinearQuantile(quantile=q)),
}


def draw(rng, n=200):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, X[:, 0] + (1.2 + X[:, 1]) * rng.exponential(size=n)


def band(make, X, y):
    """Fitted models of the two quantiles that CQR takes."""
    return [make(quantile).fit(X, y) for quantile in (ALPHA / 2, 1 - ALPHA / 2)]


def by_hand(bounds, y, new_bounds, symmetric):
    """Ends of the sets, from the quantiles of some calibration rows and of new ones.

    Symmetric, equations (6) and (7): E = max(lo - y, y - hi), the ⌈(1 - alpha)(n + 1)⌉-th
    smallest. Asymmetric, Theorem 2: each side alone, at alpha / 2.
    """
    (lo, hi), (new_lo, new_hi) = np.sort(bounds, axis=0), np.sort(new_bounds, axis=0)
    n = len(y)
    if symmetric:
        q = np.sort(np.maximum(lo - y, y - hi))[int(np.ceil((1 - ALPHA) * (n + 1))) - 1]
        return np.column_stack([new_lo - q, new_hi + q])
    rank = int(np.ceil((1 - ALPHA / 2) * (n + 1))) - 1
    below, above = np.sort(lo - y)[rank], np.sort(y - hi)[rank]
    return np.column_stack([new_lo - below, new_hi + above])


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_frozen_models_of_any_kind(rng, make, symmetric):
    low, high = band(make, *draw(rng))
    X, y = draw(rng, 150)
    new, _ = draw(rng, 50)
    pair = QuantilePair(FrozenEstimator(low), FrozenEstimator(high))
    score = QuantileResidual(symmetric=symmetric)
    model = ConformalRegressor(pair, score, SplitConformal(ALPHA)).fit(X, y)
    bounds, new_bounds = ([m.predict(rows) for m in (low, high)] for rows in (X, new))
    assert_allclose(model.predict_interval(new), by_hand(bounds, y, new_bounds, symmetric))
    assert model.guarantee_.kind == "exact"


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_models_trained_by_fit(rng, make, symmetric):
    X, y = draw(rng, 300)
    new, _ = draw(rng, 50)
    calibrated = []

    def note(rows):
        calibrated.append(rows)
        return rows

    model = ConformalRegressor(
        QuantilePair(make(ALPHA / 2), make(1 - ALPHA / 2)),
        QuantileResidual(symmetric=symmetric),
        SplitConformal(ALPHA),
        features=note,  # called once in fit, with the rows that calibrate
        random_state=0,
    ).fit(X, y)
    held = np.array([np.flatnonzero((row == X).all(axis=1))[0] for row in calibrated[0]])
    assert len(held) == 90
    bounds, new_bounds = (model.estimator_.predict(rows).T for rows in (X[held], new))
    assert_allclose(model.predict_interval(new), by_hand(bounds, y[held], new_bounds, symmetric))
    again = clone(model).fit(X, y)
    assert_array_equal(again.predict_interval(new), model.predict_interval(new))


@pytest.mark.parametrize("symmetric", [True, False])
def test_coverage_of_each_side_is_in_the_band_of_its_law(rng, symmetric):
    low, high = (FrozenEstimator(m) for m in band(MODELS["linear"], *draw(rng, 500)))
    score = QuantileResidual(symmetric=symmetric)
    model = ConformalRegressor(QuantilePair(low, high), score, SplitConformal(ALPHA))
    X, y = draw(rng, 20_000)
    lower, upper = model.fit(*draw(rng, 499)).predict_interval(X).T
    if symmetric:
        least, most = beta_binomial_band(20_000, 499, 400)
        assert least <= ((lower <= y) & (y <= upper)).sum() <= most
    else:
        least, most = beta_binomial_band(20_000, 499, 450)
        assert least <= (lower <= y).sum() <= most
        assert least <= (y <= upper).sum() <= most
