"""Density-weighted quantile regression: the formula by brute force, and what it reduces to."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp import PLCP, LinearQuantile, OrderedPartition, Rectified, SplitConformal
from plcp.datasets import make_toy
from plcp.regressors import ColorfulQuantile
from plcp.regressors.base import at_quantile
from plcp.regressors.colorful import density_weights, neighbours
from plcp.regressors.crossfit import make_folds


class KnownScale(RegressorMixin, BaseEstimator):
    """Quantiles of an exponential score whose mean is the first column; keeps its weights."""

    def __init__(self, quantile=None):
        self.quantile = quantile

    def fit(self, X, y, sample_weight=None):
        self.sample_weight_ = sample_weight
        return self

    def predict(self, X):
        return -np.log1p(-self.quantile) * X[:, 0]


@pytest.mark.parametrize("delta", [None, 0.02])
@pytest.mark.parametrize("mixing", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_weights_are_the_true_density_where_the_quantiles_are_true(rng, level, mixing, delta):
    """The density of an exponential score at its quantile is (1 - level) / mean."""
    X = rng.uniform(1, 3, size=(60, 1))
    regressor = ColorfulQuantile(KnownScale(), level, delta=delta, mixing=mixing)
    regressor.fit(X, np.ones(60))
    density = (1 - level) / X[:, 0]
    expected = 1 - mixing + mixing * density / density.mean()
    assert_allclose(regressor.density_weights_, expected, rtol=1e-12)
    assert_array_equal(regressor.regressor_.sample_weight_, regressor.density_weights_)
    assert regressor.regressor_.quantile == level


def test_given_weights_multiply_the_density(rng):
    X, given = rng.uniform(1, 3, size=(60, 1)), rng.uniform(size=60)
    regressor = ColorfulQuantile(KnownScale(), 0.9, mixing=1.0).fit(X, np.ones(60), given)
    expected = 1 / X[:, 0] / np.average(1 / X[:, 0], weights=given)
    assert_allclose(
        regressor.regressor_.sample_weight_, given / given.mean() * expected, rtol=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("delta", "levels"), [(0.1, (0.9, 0.7)), (None, (0.9, 0.4))])
def test_the_formula_by_brute_force(rng, delta, levels, weighted):
    X = rng.uniform(size=(90, 2))
    scores = (0.5 + X[:, 0]) * rng.exponential(size=90)
    given = rng.uniform(0.1, 2, size=90) if weighted else np.ones(90)
    regressor = ColorfulQuantile(LinearQuantile(), 0.8, delta=delta, mixing=1.0, random_state=7)
    regressor.fit(X, scores, given if weighted else None)
    seed = np.random.RandomState(7).randint(np.iinfo(np.int32).max)
    gaps = np.zeros(90)
    for learn, hold in make_folds(X, scores, 3, 1, np.random.RandomState(seed)):
        high, low = (
            LinearQuantile(quantile=q).fit(X[learn], scores[learn], given[learn]).predict(X[hold])
            for q in levels
        )
        gaps[hold] = high - low
    least = np.median(gaps[gaps > 0]) / 5
    density = np.array([1 / max(gap, least) for gap in gaps])
    expected = density / (given @ density / given.sum())
    assert_allclose(regressor.density_weights_, expected, rtol=1e-9)
    shares = given / given.mean()
    model = LinearQuantile(quantile=0.8).fit(X, scores, shares * regressor.density_weights_)
    assert_array_equal(regressor.predict(X), model.predict(X))


def test_levels_go_no_further_than_half_way():
    assert neighbours(0.5, 0.125) == (0.375, 0.625)
    assert neighbours(0.25, 0.5) == (0.125, 0.625)
    assert neighbours(0.75, 0.5) == (0.375, 0.875)


@pytest.mark.parametrize("regressor", [LinearQuantile(), KnownScale()])
def test_a_constant_density_is_the_index_itself(rng, regressor):
    """Nothing in X tells the rows apart, so all gaps of a fold are one."""
    X, scores = np.ones((64, 1)), np.tile([1.0, 2.0, 5.0, 9.0], 16)
    colorful = ColorfulQuantile(regressor, 0.9, cv=2, mixing=1.0).fit(X, scores)
    plain = clone(regressor).set_params(quantile=0.9).fit(X, scores)
    if isinstance(regressor, KnownScale):
        assert_array_equal(colorful.density_weights_, np.ones(64))
    assert_array_equal(colorful.predict(X), plain.predict(X))


def test_without_mixing_any_index_is_itself(rng):
    X, scores = rng.normal(size=(200, 2)), rng.exponential(size=200)
    base = HistGradientBoostingRegressor(loss="quantile", quantile=0.9, random_state=0)
    colorful = ColorfulQuantile(base, 0.9, mixing=0.0, random_state=0).fit(X, scores)
    assert_array_equal(colorful.predict(X), base.fit(X, scores, np.ones(200)).predict(X))


def test_no_row_rules_and_crossing_quantiles_weigh_the_most():
    weights = density_weights(np.array([1.0, 1.0, 1.0, 1e-9, -3.0]), None)
    assert_allclose(weights, np.array([1, 1, 1, 5, 5]) / 2.6)
    assert_array_equal(density_weights(np.array([-1.0, -2.0]), None), [1.0, 1.0])
    assert_array_equal(density_weights(np.zeros(3), None), np.ones(3))


def test_scale_of_the_scores_does_not_matter(rng):
    X, scores = rng.uniform(size=(120, 2)), rng.exponential(size=120)
    regressor = ColorfulQuantile(LinearQuantile(), 0.9, random_state=0)
    weights = regressor.fit(X, scores).density_weights_
    assert_allclose(regressor.fit(X, 1024 * scores).density_weights_, weights, rtol=1e-9)


def test_rows_without_weight_are_not_there(rng):
    X, scores = rng.uniform(size=(120, 2)), rng.exponential(size=120)
    weights = np.r_[np.zeros(40), np.full(80, 2.0)]
    regressor = ColorfulQuantile(LinearQuantile(), 0.9, random_state=0)
    kept = clone(regressor).fit(X[40:], scores[40:], weights[40:])
    assert_array_equal(regressor.fit(X, scores, weights).predict(X), kept.predict(X))


def test_levels_and_pipelines_reach_the_index(rng):
    X, scores = rng.uniform(size=(120, 2)), rng.exponential(size=120)
    colorful = ColorfulQuantile(make_pipeline(StandardScaler(), LinearQuantile(quantile=0.3)))
    assert at_quantile(colorful, 0.9).quantile == 0.9
    fitted = at_quantile(colorful, 0.9).fit(X, scores)
    assert fitted.regressor_[-1].quantile == 0.9


RULES = [
    Rectified(ColorfulQuantile(), random_state=0),
    Rectified(ColorfulQuantile(LinearQuantile()), random_state=0),
    PLCP(OrderedPartition(ColorfulQuantile(LinearQuantile())), 4, random_state=0),
]


@pytest.mark.parametrize("rule", RULES)
def test_in_rules_and_partitions(rule):
    task, test = make_toy(2000, random_state=0), make_toy(2000, random_state=1)
    split = SplitConformal().fit(task.X, task.scores)
    rule.fit(task.X, task.scores)
    assert rule.score(test.X, test.scores) > split.score(test.X, test.scores)


def test_frames_with_gaps_and_categories(rng):
    frame = pd.DataFrame({"age": rng.uniform(size=300), "kind": rng.choice(["a", "b"], 300)})
    frame.loc[::7, "kind"] = None
    frame.loc[::5, "age"] = np.nan
    regressor = ColorfulQuantile(quantile=0.9).fit(frame, rng.exponential(size=300))
    assert np.isfinite(regressor.predict(frame)).all()


@pytest.mark.parametrize(
    ("regressor", "message"),
    [
        (ColorfulQuantile(LinearRegression()), "parameter quantile, got LinearRegression"),
        (ColorfulQuantile(quantile=1.0), "quantile must lie in"),
        (ColorfulQuantile(delta=0.0), "delta must lie in"),
        (ColorfulQuantile(mixing=1.5), r"mixing must lie in \[0, 1\], got 1.5"),
        (ColorfulQuantile(mixing="half"), r"mixing must lie in \[0, 1\], got 'half'"),
        (ColorfulQuantile(cv=1), "cv must be a whole number, at least 2"),
    ],
)
def test_bad_options(rng, regressor, message):
    with pytest.raises(ValueError, match=message):
        regressor.fit(rng.normal(size=(60, 1)), np.arange(60.0))


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_rows_are_refused_by_their_number(rng, n):
    with pytest.raises(ValueError, match=f"n_samples={n}: give 3"):
        ColorfulQuantile().fit(rng.normal(size=(n, 1)), np.arange(float(n)))
    assert np.isfinite(ColorfulQuantile().fit(np.eye(3), np.arange(3.0)).predict(np.eye(3))).all()
