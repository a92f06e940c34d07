"""The level and the seed reach every estimator that left them open, and no other."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp.regressors import LinearQuantile
from plcp.regressors.base import at_level, seeded


def test_open_level_is_set_inside_a_pipeline():
    pipe = make_pipeline(StandardScaler(), LinearQuantile())
    assert at_level(pipe, 0.8).get_params()["linearquantile__quantile"] == 0.8
    assert pipe.get_params()["linearquantile__quantile"] is None


def test_level_of_ones_own_is_kept():
    assert at_level(QuantileRegressor(quantile=0.7), 0.9).quantile == 0.7
    assert at_level(LinearRegression(), 0.9).get_params() == LinearRegression().get_params()


def test_seed_is_drawn_once_for_each_that_left_it_open():
    rng = np.random.RandomState(0)
    assert seeded(HistGradientBoostingRegressor(random_state=5), rng).random_state == 5
    first, second = (seeded(HistGradientBoostingRegressor(), rng).random_state for _ in range(2))
    assert first != second
