"""How many groups: the search itself, and what it leaves behind."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

from plcp import PLCP, ClassifierPartition, LinearQuantile, OrderedPartition, SoftmaxPartition
from plcp.thresholds._plcp_learning import (
    MOST_CONSTANTS,
    MOST_FOLLOWING,
    most_groups,
    search_n_groups,
)
from strategies import few


@few
@given(st.integers(1, 300), st.integers(1, 300), st.floats(0.1, 10), st.floats(0.1, 10))
def test_search_finds_the_minimum_of_what_falls_then_rises(best, most, down, up):
    def loss(m):
        return down * (best - m) if m < best else up * (m - best)

    found, tried = search_n_groups(loss, most)
    assert found == min(best, most)
    assert {step["n_groups"]: step["held_out"] for step in tried} == {
        step["n_groups"]: loss(step["n_groups"]) for step in tried
    }


@few
@given(st.integers(1, 500), st.integers(1, 500))
def test_search_tries_few_numbers_and_none_twice(best, most):
    tried = []

    def loss(m):
        tried.append(m)
        return abs(m - best)

    search_n_groups(loss, most)
    assert len(tried) == len(set(tried)) <= 3 * (np.log2(most) + 1)
    assert max(tried) <= most


@few
@given(st.lists(st.floats(0, 1), min_size=64, max_size=64), st.integers(1, 64))
def test_search_returns_the_best_it_tried_whatever_the_loss(losses, most):
    found, tried = search_n_groups(lambda m: losses[m - 1], most)
    assert losses[found - 1] == min(step["held_out"] for step in tried)
    assert 1 <= found <= most


@pytest.mark.parametrize(("n", "most"), [(1, 1), (199, 1), (400, 2), (10**9, MOST_FOLLOWING)])
def test_groups_need_rows(n, most):
    assert most_groups(n) == most
    assert most_groups(10**9, MOST_CONSTANTS) == MOST_CONSTANTS


def step(rng, n):
    """Noise with a jump: two groups are right."""
    X = rng.uniform(-1, 1, size=(n, 1))
    return X, np.where(X[:, 0] > 0, 5.0, 1.0) * rng.exponential(size=n)


PARTITIONS = {
    "default": None,
    "linear": OrderedPartition(LinearQuantile()),
    "softmax": SoftmaxPartition(n_starts=1, max_rounds=5),
    "classifier": ClassifierPartition(LogisticRegression(), n_rounds=2),
}


@pytest.mark.parametrize("calibration", ["joint", "split", "cross"])
@pytest.mark.parametrize("name", PARTITIONS)
def test_auto_tries_and_keeps_what_it_tried(rng, name, calibration):
    X, scores = step(rng, 1200)
    rule = PLCP(PARTITIONS[name], within="constant", calibration=calibration, random_state=0)
    rule.fit(X, scores)
    tried = {t["n_groups"]: t["held_out"] for t in rule.history_ if "n_groups" in t}
    assert len(tried) >= 2
    assert min(tried, key=tried.get) > 1
    assert rule.n_groups_ > 1
    assert rule.n_groups_ <= min(tried, key=tried.get)
    left, right = rule.predict([[-0.9], [0.9]])
    assert left < right


def test_auto_takes_one_group_where_rows_are_few(rng):
    X, scores = step(rng, 150)
    for calibration in ("joint", "split", "cross"):
        rule = PLCP(PARTITIONS["linear"], calibration=calibration, random_state=0)
        assert rule.fit(X, scores).n_groups_ == 1


def test_a_chosen_number_is_not_searched(rng):
    X, scores = step(rng, 300)
    rule = PLCP(PARTITIONS["linear"], 2, random_state=0).fit(X, scores)
    assert rule.history_ == []
    descent = PLCP(PARTITIONS["softmax"], 2, calibration="joint", random_state=0).fit(X, scores)
    assert all(set(record) == {"objective", "held_out"} for record in descent.history_)
    assert_array_equal(descent.thresholds_, descent.partition_.thresholds_)
