"""Ordered partitions: intervals of any regressor, and where to cut them."""

from fractions import Fraction
from itertools import combinations
from math import ceil

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp import LinearQuantile, OrderedPartition
from plcp.partitions.ordered import equal_mass_cuts, interval_of, optimal_cuts
from plcp.quantiles import group_conformal_quantiles, pinball_loss
from strategies import alphas, few


class FirstColumn(RegressorMixin, BaseEstimator):
    """A regressor that is known: the first column."""

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def draw(rng, n=300):
    X = rng.uniform(size=(n, 2))
    return X, X[:, 0] * rng.exponential(size=n)


REGRESSORS = {
    "linear": LinearQuantile(),
    "pipeline": make_pipeline(StandardScaler(), LinearQuantile()),
    "mean": LinearRegression(),
    "boosted": HistGradientBoostingRegressor(loss="quantile", max_iter=10),
    "known": FirstColumn(),
    "constant": DummyRegressor(),
}


@pytest.mark.parametrize("cuts", ["mass", "optimal"])
@pytest.mark.parametrize("regressor", REGRESSORS.values(), ids=REGRESSORS)
def test_groups_are_intervals_of_the_prediction_with_rising_thresholds(rng, regressor, cuts):
    X, scores = draw(rng)
    partition = OrderedPartition(regressor, n_groups=4, cuts=cuts).fit(X, scores)
    g, groups = partition.predict_quantile(X), partition.predict(X)
    raw = np.searchsorted(partition.cuts_, g)
    assert all(len(np.unique(groups[raw == interval])) == 1 for interval in np.unique(raw))
    assert (np.diff(partition.thresholds_) > 0).all()
    assert_array_equal(partition.group_sizes_, np.bincount(groups, minlength=partition.n_groups_))
    assert_array_equal(np.argmax(partition.predict_proba(X), axis=1), groups)
    assert_array_equal(partition.predict_proba(X).sum(axis=1), 1)
    alone = group_conformal_quantiles(scores, groups, partition.n_groups_, 0.1, None, 0.0)
    if partition.n_groups_ == len(partition.cuts_) + 1:
        assert_array_equal(partition.thresholds_, alone)


def test_a_quantile_left_open_is_one_minus_alpha(rng):
    X, scores = draw(rng)
    nested = OrderedPartition(REGRESSORS["pipeline"], alpha=0.2).fit(X, scores)
    assert nested.regressor_[-1].quantile == 0.8
    own = OrderedPartition(LinearQuantile(0.5), alpha=0.2).fit(X, scores)
    assert own.regressor_.quantile == 0.5


def test_a_frozen_regressor_is_left_alone(rng):
    X, scores = draw(rng)
    fitted = LinearRegression().fit(X, scores)
    partition = OrderedPartition(FrozenEstimator(fitted), n_groups=3).fit(X[:99], scores[:99])
    assert_array_equal(partition.predict_quantile(X), fitted.predict(X))
    assert_array_equal(partition.cuts_, equal_mass_cuts(fitted.predict(X[:99]), None, 3))


def test_units_of_the_features_do_not_matter_to_a_linear_regressor(rng):
    X, scores = draw(rng)
    base = OrderedPartition(LinearQuantile(tol=1e-9), n_groups=3).fit(X, scores)
    other = OrderedPartition(LinearQuantile(tol=1e-9), n_groups=3).fit(X * [1e3, -1e-3], scores)
    assert_array_equal(other.predict(X * [1e3, -1e-3]), base.predict(X))


def test_scores_shift_and_scale(rng):
    X, scores = draw(rng)
    scores = np.round(scores * 1024) / 1024  # sums below are exact
    base = OrderedPartition(FirstColumn(), n_groups=5).fit(X, scores)
    for a, b in [(1, 8), (4, 0), (0.5, -16)]:
        other = OrderedPartition(FirstColumn(), n_groups=5).fit(X, a * scores + b)
        assert_array_equal(other.predict(X), base.predict(X))
        assert_array_equal(other.thresholds_, a * base.thresholds_ + b)


def test_row_order_does_not_matter(rng):
    X, scores = draw(rng)
    order = rng.permutation(len(X))
    base = OrderedPartition(LinearQuantile(tol=1e-9), n_groups=4).fit(X, scores)
    other = OrderedPartition(LinearQuantile(tol=1e-9), n_groups=4).fit(X[order], scores[order])
    assert_array_equal(other.predict(X), base.predict(X))
    assert_allclose(other.cuts_, base.cuts_)


def test_weightless_rows_are_not_there(rng):
    X, scores = draw(rng)
    weights = (np.arange(len(X)) % 2).astype(float)
    ours = OrderedPartition(LinearQuantile(), n_groups=3).fit(X, scores, weights)
    alone = OrderedPartition(LinearQuantile(), n_groups=3).fit(X[1::2], scores[1::2])
    assert_array_equal(ours.predict(X), alone.predict(X))
    assert_array_equal(ours.thresholds_, alone.thresholds_)


class Broken(FirstColumn):
    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 0.5, np.nan, 0.0)


class TwoColumns(FirstColumn):
    def predict(self, X):
        return np.asarray(X)


@pytest.mark.parametrize(
    ("regressor", "message"),
    [
        (Broken(), "must predict finite numbers, got NaN at row"),
        (TwoColumns(), r"one number per row, shape \(300,\), got \(300, 2\)"),
    ],
)
def test_a_regressor_without_one_finite_number_per_row_is_refused(rng, regressor, message):
    with pytest.raises(ValueError, match=message):
        OrderedPartition(regressor).fit(*draw(rng))


# --- cuts


@few
@given(st.permutations(range(60)), st.integers(1, 60), st.integers(1, 70))
def test_equal_masses_differ_by_at_most_one(order, n, m):
    regressor = np.sort(np.array(order[:n], dtype=float))
    cuts = equal_mass_cuts(regressor, None, m)
    ends = sorted({ceil(Fraction(n * k, m)) for k in range(1, m)} - {n})
    assert_array_equal(cuts, regressor[np.array(ends, dtype=int) - 1])


@few
@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 8))
def test_no_interval_is_empty_and_ties_stay_together(regressor, m):
    regressor = np.array(regressor, dtype=float)
    cuts = equal_mass_cuts(regressor, None, m)
    groups = np.searchsorted(cuts, regressor)
    assert len(np.unique(groups)) == len(cuts) + 1 <= m
    assert all(len(np.unique(groups[regressor == value])) == 1 for value in regressor)


@few
@given(st.lists(st.integers(1, 4), min_size=1, max_size=30), st.integers(1, 8))
def test_whole_weights_are_repeated_rows(weights, m):
    regressor, weights = np.arange(len(weights), dtype=float), np.array(weights)
    repeated = equal_mass_cuts(np.repeat(regressor, weights), None, m)
    assert_array_equal(equal_mass_cuts(regressor, weights.astype(float), m), repeated)


def least_loss(scores, weights, alpha):
    """Loss of the best single threshold, which is one of the scores."""
    return min(weights @ pinball_loss(q, scores, alpha) for q in scores)


def loss_of_cuts(cuts, regressor, scores, weights, alpha):
    groups = np.searchsorted(cuts, regressor)
    parts = [groups == g for g in np.unique(groups)]
    return sum(least_loss(scores[part], weights[part], alpha) for part in parts)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 0.5])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_optimal_cuts_are_those_of_enumeration(rng, weighted, alpha, m):
    for _ in range(10):
        n = int(rng.integers(m, 60))
        regressor = rng.integers(0, 12, n).astype(float)
        scores = rng.exponential(size=n) * (1 + regressor)
        weights = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
        found = optimal_cuts(regressor, scores, weights if weighted else None, m, alpha)
        ours = loss_of_cuts(found, regressor, scores, weights, alpha)
        values = np.unique(regressor)
        few_groups = min(m, len(values))
        best = min(
            loss_of_cuts(np.array(cuts), regressor, scores, weights, alpha)
            for cuts in combinations(values[:-1], few_groups - 1)
        )
        assert len(found) == few_groups - 1
        assert_allclose(ours, best, rtol=1e-9)


@few
@given(alphas)
def test_optimal_cuts_find_a_step(alpha):
    regressor = np.arange(100.0)
    scores = np.where(regressor < 37, 1.0, 5.0)
    assert_array_equal(optimal_cuts(regressor, scores, None, 2, alpha), [36.0])


@pytest.mark.parametrize("n", [5, 5000])
@pytest.mark.parametrize("n_cuts", [0, 7, 100])
def test_intervals_count_the_cuts_below_however_they_are_found(rng, n, n_cuts):
    cuts = np.sort(rng.normal(size=n_cuts))
    values = np.append(rng.normal(size=n), cuts)  # a value on a cut lies below it
    below = (values[:, None] > cuts).sum(axis=1)
    assert_array_equal(interval_of(values, cuts), below)
