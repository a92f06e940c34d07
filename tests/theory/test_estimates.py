"""Plug-ins: exact where the regressor knows the truth, marked as estimates everywhere."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor

from plcp.regressors import LinearQuantile
from plcp.theory import lipschitz_constant, population_msce, quantile_variance

ESTIMATORS = [quantile_variance, lipschitz_constant]
CONSTANT = DummyRegressor(strategy="quantile", quantile=0.9)


class FirstColumn(RegressorMixin, BaseEstimator):
    """A regressor that is given the conditional quantile."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.fixture
def uniform(rng):
    """The true 0.9-quantile of each row, and scores that are uniform below and above it."""
    scale = rng.uniform(1, 2, 2000)
    return 0.9 * scale[:, None], scale * rng.uniform(size=2000)


def slope_over_every_run(scores, steps):
    ordered = sorted(scores)
    runs = [ordered[i + steps] - ordered[i] for i in range(len(ordered) - steps)]
    return steps / len(scores) / min(runs)


def test_variance_is_that_of_the_regressor(uniform):
    X, scores = uniform
    found = quantile_variance(X, scores, regressor=FirstColumn())
    assert float(found) == pytest.approx(X.var())


def test_lipschitz_is_the_steepest_of_the_bins(uniform):
    X, scores = uniform
    found = lipschitz_constant(X, scores, regressor=FirstColumn(), n_bins=4)
    bins = np.array_split(np.argsort(X[:, 0]), 4)  # 500 rows each, and 500^(2/3) = 62.996
    steepest = max(slope_over_every_run(scores[rows], 63) for rows in bins)
    assert float(found) == pytest.approx(steepest)


@pytest.mark.parametrize("estimate", ESTIMATORS)
def test_default_regressor_finds_what_there_is(estimate, uniform):
    """Var q = 0.81 / 12 and L = 1: between a half and twice, on 1,000 rows."""
    X, scores = (rows[:1000] for rows in uniform)
    truth = 0.81 / 12 if estimate is quantile_variance else 1.0
    assert truth / 2 < float(estimate(X, scores, random_state=0)) < 2 * truth


def test_ties_have_no_lipschitz_constant(uniform):
    X, scores = uniform
    assert float(lipschitz_constant(X, np.round(scores), regressor=FirstColumn())) == np.inf


def test_an_estimate_goes_into_a_bound(uniform):
    variance, steep = (f(*uniform, regressor=FirstColumn()) for f in ESTIMATORS)
    expected = population_msce(4, variance.value, steep.value)
    assert population_msce(4, variance, steep) == expected


@pytest.mark.parametrize("estimate", ESTIMATORS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": np.ones(9)}, "inconsistent numbers of samples"),
        ({"scores": np.r_[np.nan, np.ones(1999)]}, "scores must be finite"),
        ({"X": np.zeros((0, 1)), "scores": []}, "calibration set is empty"),
        ({"X": np.zeros((1, 1)), "scores": [1.0]}, "one row has no spread"),
        ({"alpha": 1.0}, "alpha must lie in"),
        ({"cv": 1}, "cv must be a whole number, at least 2"),
    ],
)
def test_bad_input_is_named(estimate, change, message, uniform):
    X, scores = uniform
    with pytest.raises(ValueError, match=message):
        estimate(**{"X": X, "scores": scores, "regressor": FirstColumn()} | change)


@pytest.mark.parametrize(("n_bins", "message"), [(0, "n_bins must be"), (501, "lower n_bins")])
def test_bins_must_hold_rows(n_bins, message, uniform):
    with pytest.raises(ValueError, match=message):
        lipschitz_constant(*uniform, regressor=FirstColumn(), n_bins=n_bins)


@pytest.mark.parametrize("power", [-500, -1, 400, 500])
@pytest.mark.parametrize(("estimate", "degree"), [(quantile_variance, 2), (lipschitz_constant, -1)])
def test_scores_times_a_power_of_two_give_it_times_its_power_to_the_bit(
    uniform, estimate, degree, power
):
    X, scores = uniform
    one = float(estimate(X, scores, regressor=LinearQuantile(), random_state=0))
    other = float(estimate(X, np.ldexp(scores, power), regressor=LinearQuantile(), random_state=0))
    assert other == np.ldexp(one, degree * power)


@pytest.mark.parametrize(
    ("estimate", "power", "way"),
    [
        (quantile_variance, 990, "large"),
        (quantile_variance, -990, "small"),
        (lipschitz_constant, -1040, "large"),
    ],
)
def test_what_no_float_holds_is_refused_with_the_remedy(uniform, estimate, power, way):
    X, scores = uniform
    with pytest.raises(ValueError, match=rf"too {way} for a float.*divide all of them"):
        estimate(X, np.ldexp(scores, power), regressor=LinearQuantile(), random_state=0)


def test_a_constant_regressor_has_no_variance():
    """Exactly none: the mean of equal numbers may be rounded, their differences are not."""
    scores = np.full(60, 0.1)
    assert float(quantile_variance(np.zeros((60, 1)), scores, regressor=CONSTANT, cv=2)) == 0
