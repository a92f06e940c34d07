"""Estimated groups as a class of shifts."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from plcp import ConditionalCalibration, GroupProbabilities
from plcp.groups.features import feature_columns


def batches(rng, n):
    """Rows whose batch can only be guessed from X."""
    batch = rng.integers(3, size=n)
    return rng.normal(size=(n, 2)) + 2 * np.eye(3)[batch, :2], batch


def test_default_is_penalised_multinomial_regression_of_standardised_features(rng):
    X, batch = batches(rng, 300)
    scaler = StandardScaler().fit(X)
    direct = LogisticRegression(max_iter=1000).fit(scaler.transform(X), batch)
    found = GroupProbabilities().fit(X, batch).transform(X)
    assert_allclose(found, direct.predict_proba(scaler.transform(X)))
    weak = GroupProbabilities(LogisticRegression(C=1e-4)).fit(X, batch).transform(X)
    assert np.ptp(weak) < np.ptp(found)


def test_coverage_weighted_by_each_probability_over_all_places_of_the_test_row(rng):
    """Leaving each row out in turn, Σ p_g(x_j) 1{covered} ≥ (1 - alpha) Σ p_g(x_j): no chance."""
    X, batch = batches(rng, 240)
    shifts = FrozenEstimator(GroupProbabilities().fit(X[:200], batch[:200]))
    X, batch = X[200:], batch[200:]
    scores = rng.exponential(1.0 + batch)
    covered = np.empty(len(X), dtype=bool)
    for j in range(len(X)):
        others = np.arange(len(X)) != j
        rule = ConditionalCalibration(shifts, alpha=0.2).fit(X[others], scores[others])
        assert rule.n_columns_ == 3  # the probabilities add up to the constant
        covered[j] = scores[j] <= rule.predict(X[[j]])[0]
    probabilities = shifts.transform(X)
    assert (covered @ probabilities >= 0.8 * probabilities.sum(axis=0) - 1e-9).all()
    assert covered.mean() < 1


def test_columns_of_many_kinds(rng):
    X = rng.normal(size=(6, 2))
    for values in (X, csr_array(X), pd.DataFrame(X), X.tolist()):
        assert_array_equal(feature_columns(X, lambda _, values=values: values), X)
    assert feature_columns(X, lambda X: X[:, 0]).shape == (6, 1)
