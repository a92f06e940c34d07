"""The mixture takes what the data favour, and the constant where there is nothing to learn."""

from math import comb

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from plcp.datasets import make_nonlinear, make_synthetic
from plcp.quantiles import pinball_loss
from plcp.regressors import StackedQuantile
from plcp.regressors.stacking import compositions, mix, mixing_weights, quantile_at


def test_weights_lie_on_the_simplex(rng):
    scores = np.abs(rng.normal(size=60))
    values = [np.abs(rng.normal(size=60)), np.full(60, quantile_at(scores, None, 0.9))]
    weights = mixing_weights(values, scores, None, 0.9)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)


def test_many_rows_give_the_best_mixture_by_brute_force(rng):
    n = 20_000
    sigma = rng.uniform(0.5, 3, n)
    scores = sigma * np.abs(rng.normal(size=n))
    values = [1.645 * sigma, rng.uniform(0, 5, n), np.full(n, quantile_at(scores, None, 0.9))]
    weights = mixing_weights(values, scores, None, 0.9)

    def loss(w):
        mixed = mix(values, np.asarray(w))
        mixed += quantile_at(scores - mixed, None, 0.9)
        return pinball_loss(mixed, scores, 0.1).mean()

    grid = [(i / 10, j / 10, 1 - (i + j) / 10) for i in range(11) for j in range(11 - i)]
    assert int(np.argmax(weights)) == int(np.argmax(min(grid, key=loss))) == 0


def test_noise_is_not_followed_where_scores_do_not_depend_on_x(rng):
    X, scores = rng.normal(size=(2000, 5)), np.abs(rng.normal(size=2000))
    regressor = StackedQuantile(quantile=0.9, random_state=0).fit(X, scores)
    trees = regressor.members_[0].predict(X) * regressor.adjustments_[0]
    assert regressor.predict(X).std() < trees.std()


@pytest.mark.parametrize(
    ("make", "favourite"), [(make_synthetic, 1), (make_nonlinear, 0)], ids=["line", "trees"]
)
def test_the_class_that_made_the_noise_gets_most_weight(make, favourite):
    task = make(5000, random_state=0)
    regressor = StackedQuantile(quantile=0.9, random_state=0).fit(task.X, task.scores)
    assert int(np.argmax(regressor.weights_)) == favourite


def test_signed_scores_use_shifts_and_move_with_a_constant(rng):
    X = rng.normal(size=(300, 2))
    scores = X[:, 0] + rng.normal(size=300)
    one, other = (
        StackedQuantile(quantile=0.9, random_state=0).fit(X, s) for s in (scores, scores - 50.0)
    )
    assert not one.is_scale_
    np.testing.assert_allclose(one.predict(X) - 50.0, other.predict(X), rtol=1e-6)


def test_scaling_the_scores_scales_the_regressor(rng):
    task = make_nonlinear(600, random_state=0)
    one, other = (
        StackedQuantile(quantile=0.9, random_state=0).fit(task.X, c * task.scores)
        for c in (1, 1024)
    )
    np.testing.assert_allclose(1024 * one.predict(task.X), other.predict(task.X), rtol=1e-9)


def test_members_of_the_users_own_are_mixed(rng):
    X = rng.normal(size=(400, 2))
    scores = 5 + X[:, 0] + 0.1 * rng.normal(size=400)
    regressor = StackedQuantile(
        quantile=0.9, members=[LinearRegression(), DummyRegressor()], random_state=0
    )
    regressor.fit(X, scores)
    assert int(np.argmax(regressor.weights_)) == 0
    assert len(regressor.weights_) == 3


def test_members_without_weight_do_not_predict(rng):
    task = make_synthetic(3000, random_state=0)
    regressor = StackedQuantile(quantile=0.9, random_state=0).fit(task.X, task.scores)
    expected = regressor.predict(task.X)
    for member, weight in zip(regressor.members_, regressor.weights_[:-1], strict=True):
        if weight == 0:
            member.models_ = None
    np.testing.assert_array_equal(regressor.predict(task.X), expected)


@pytest.mark.parametrize("scores", [np.full(150, 2.0), np.zeros(150), np.arange(20.0)])
def test_nothing_to_learn_leaves_the_constant(scores):
    X = np.arange(float(len(scores)))[:, None]
    regressor = StackedQuantile(quantile=0.9).fit(X, scores)
    np.testing.assert_array_equal(regressor.predict(X), np.full(len(X), regressor.constant_))
    np.testing.assert_array_equal(regressor.weights_, [1.0])


def test_whole_weights_are_repeated_rows_for_the_quantile(rng):
    values, counts = rng.normal(size=40), rng.integers(1, 4, 40)
    repeated = np.quantile(np.repeat(values, counts), 0.9, method="inverted_cdf")
    assert quantile_at(values, counts.astype(float), 0.9) == repeated


def test_scales_a_thousand_times_apart_are_distinguished(rng):
    X = rng.uniform(-1, 1, size=(2000, 1))
    scores = np.abs(rng.normal(size=2000)) * np.where(X[:, 0] > 0, 5.0, 0.005)
    regressor = StackedQuantile(quantile=0.9, random_state=0).fit(X, scores)
    quiet, loud = regressor.predict([[-0.5], [0.5]])
    assert 100 < loud / quiet < 10_000


def test_rounding_below_zero_does_not_make_scores_signed(rng):
    task = make_nonlinear(300, random_state=0)
    scores = task.scores.copy()
    scores[0] = 0.0
    rounded = scores.copy()
    rounded[0] = -1e-15
    one, other = (
        StackedQuantile(quantile=0.9, random_state=0).fit(task.X, s) for s in (scores, rounded)
    )
    assert other.is_scale_
    np.testing.assert_allclose(one.predict(task.X), other.predict(task.X), rtol=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_extreme_units_change_nothing(size):
    task = make_synthetic(300, random_state=0)
    one, other = (
        StackedQuantile(quantile=0.9, random_state=0).fit(task.X, c * task.scores)
        for c in (1.0, size)
    )
    np.testing.assert_allclose(one.predict(task.X) * size, other.predict(task.X), rtol=1e-6)


@pytest.mark.parametrize(("total", "parts"), [(10, 1), (10, 3), (3, 5)])
def test_compositions_are_all_and_distinct(total, parts):
    ways = list(compositions(total, parts))
    assert len(ways) == len(set(ways)) == comb(total + parts - 1, parts - 1)
    assert all(len(way) == parts and sum(way) == total and min(way) >= 0 for way in ways)
