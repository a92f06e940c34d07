"""The rows of each group of a rule: those that it learned, was given, or has not."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from plcp import (
    PLCP,
    BatchGCP,
    BatchMVP,
    ConditionalCalibration,
    Mondrian,
    SplitConformal,
    TreePartition,
)
from plcp.exceptions import InfiniteThresholdWarning
from plcp.thresholds.base import distinct, members_of_codes, members_of_matrix
from strategies import few

OVERLAPPING = [BatchGCP, BatchMVP, lambda groups: ConditionalCalibration(groups=groups)]


def pairs(rng, n=300):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (2 + X[:, 0]) * rng.exponential(size=n)


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 5))
@few
def test_disjoint_groups(codes, k):
    members = members_of_codes(map(str, range(k)), np.array(codes, dtype=int))
    assert [*members] == [str(i) for i in range(k)]
    for i in range(k):
        assert_array_equal(members[str(i)], np.flatnonzero(np.array(codes) == i))


@given(st.integers(0, 10**6), st.integers(0, 12), st.integers(1, 5))
@few
def test_overlapping_groups(seed, n, k):
    matrix = np.random.default_rng(seed).integers(2, size=(n, k)).astype(float)
    members = members_of_matrix(map(str, range(k)), matrix)
    for i in range(k):
        assert_array_equal(members[str(i)], np.flatnonzero(matrix[:, i]))


@given(st.lists(st.sampled_from(["a", "b", "a (2)", "a (2) (2)", "a (3)"]), max_size=12))
@few
def test_distinct_names_keep_the_first_of_each(names):
    found = distinct(names)
    assert len(set(found)) == len(found) == len(names)
    for name in names:
        assert found[names.index(name)] == name
    assert all(own.startswith(name) for own, name in zip(found, names, strict=True))


def test_learned_groups(rng):
    X, scores = pairs(rng)
    rule = PLCP(TreePartition(min_samples_leaf=5), 3, calibration="split", random_state=0)
    groups = rule.fit(X, scores).groups(X)
    members = rule.members(X)
    assert [*members] == [f"learned group {i}" for i in range(rule.n_groups_)]
    for i, rows in enumerate(members.values()):
        assert_array_equal(rows, np.flatnonzero(groups == i))


def test_cells_of_mondrian(rng):
    X, scores = pairs(rng)
    rule = Mondrian(lambda X: np.where(X[:, 0] > 0, "right", "left")).fit(X, scores)
    assert_array_equal(rule.members(X)["left"], np.flatnonzero(X[:, 0] <= 0))
    by_hand = Mondrian().fit(X, scores, groups=X[:, 0] > 0)
    assert_array_equal(by_hand.members(X, groups=X[:, 1] > 0)["True"], np.flatnonzero(X[:, 1] > 0))


def test_a_cell_never_seen_is_in_no_group(rng):
    X, scores = pairs(rng)
    rule = Mondrian(lambda X: np.sign(X[:, 0])).fit(X, scores)
    rows = np.array([[0.5, 0], [0.0, 0], [-0.5, 0]])
    members = rule.members(rows)
    assert {name: found.tolist() for name, found in members.items()} == {"-1": [2], "1": [0]}
    with pytest.warns(InfiniteThresholdWarning, match=r"groups \[0.0\] were not seen"):
        assert_array_equal(np.isinf(rule.predict(rows)), [False, True, False])


@pytest.mark.parametrize("make", OVERLAPPING)
def test_groups_that_overlap(rng, make):
    X, scores = pairs(rng)
    groups = {"right": lambda X: X[:, 0] > 0, "high": lambda X: X[:, 1] > 0}
    members = make(groups).fit(X, scores).members(X)
    assert_array_equal(members["right"], np.flatnonzero(X[:, 0] > 0))
    assert_array_equal(members["high"], np.flatnonzero(X[:, 1] > 0))
    by_hand = make(None).fit(X, scores, groups=X > 0)
    assert_array_equal(by_hand.members(X, groups=X < 0)["group 1"], np.flatnonzero(X[:, 1] < 0))


@pytest.mark.parametrize("make", OVERLAPPING)
def test_groups_of_one_name_stay_apart(rng, make):
    """A function of two columns names "side 0" itself."""
    X, scores = pairs(rng)
    sides = {"side": lambda X: np.column_stack([X[:, 0] > 0, X[:, 0] <= 0])}
    members = make({**sides, "side 0": lambda X: X[:, 1] > 0}).fit(X, scores).members(X)
    assert [*members] == ["side 0", "side 1", "side 0 (2)"]
    assert_array_equal(members["side 0"], np.flatnonzero(X[:, 0] > 0))
    assert_array_equal(members["side 0 (2)"], np.flatnonzero(X[:, 1] > 0))


def test_most_rules_have_none(rng):
    X, scores = pairs(rng)
    assert SplitConformal().fit(X, scores).members(X) == {}
    assert ConditionalCalibration().fit(X, scores).members(X) == {}
