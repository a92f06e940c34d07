"""The excess risk of the target coverage, where it is known."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from bands import FALSE_ALARM
from plcp.metrics import ert


def test_ert_of_what_is_known_is_the_mean_absolute_error(rng):
    x = rng.integers(0, 4, 4000)
    coverage = np.array([0.5, 0.85, 0.95, 1.0])[x]
    covered = rng.uniform(size=4000) < coverage
    found = ert(x[:, None], covered, 0.1, DecisionTreeClassifier())
    # a mean of independent terms of deviation at most 0.5, about its expectation
    band = norm.isf(FALSE_ALARM / 2) * 0.5 / np.sqrt(4000)
    assert abs(found - np.abs(coverage - 0.9).mean()) < band


def test_ert_of_noise_is_nothing_but_noise(rng):
    covered = rng.uniform(size=4000) < 0.9
    band = norm.isf(FALSE_ALARM / 2) * 0.5 / np.sqrt(4000)
    assert abs(ert(rng.normal(size=(4000, 2)), covered, 0.1)) < band


def test_ert_without_a_predictor_is_the_marginal_error():
    covered = np.arange(100) % 4 > 0
    prior = DummyClassifier(strategy="prior")
    assert ert(np.zeros((100, 1)), covered, 0.1, prior) == pytest.approx(0.15)


@pytest.mark.parametrize(("covered", "expected"), [(True, 0.1), (False, 0.9)])
def test_ert_of_all_or_nothing(covered, expected):
    assert ert(np.zeros((10, 1)), np.full(10, covered), 0.1) == pytest.approx(expected)


@pytest.mark.parametrize("missed", [1, 3])
def test_ert_of_few_misses_needs_no_more_folds_than_misses(rng, missed):
    covered = np.arange(200) >= missed
    assert np.isfinite(ert(rng.normal(size=(200, 1)), covered, 0.1, DecisionTreeClassifier()))


def test_ert_is_the_same_twice(rng):
    X, covered = rng.normal(size=(300, 2)), rng.uniform(size=300) < 0.8
    assert ert(X, covered, 0.1) == ert(X, covered, 0.1)
