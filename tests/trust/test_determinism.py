"""The same data and seed give the same answers: in any process, with any number of threads."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from answer_digests import digests, with_tests
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin

from estimators import CASES, N_ROWS, answer, make_rows
from plcp import PLCP, LinearQuantile, OrderedPartition, TreePartition

# torch adds up in as many parts as it has threads: the last digits of a network tell their number
NETWORKS = ("network, softmax", "network quantile")
ELSEWHERE = {
    "PYTHONHASHSEED": "7",
    "OMP_NUM_THREADS": "2",
    "OPENBLAS_NUM_THREADS": "2",
    "OMP_WAIT_POLICY": "passive",  # else two threads on busy cores wait for each other, spinning
}
SEEDS = range(10)


@pytest.mark.slow
def test_other_hashes_and_other_numbers_of_threads_change_nothing():
    names = [name for name in CASES if name not in NETWORKS]
    script = Path(__file__).with_name("answer_digests.py")
    done = subprocess.run(
        [sys.executable, script, str(N_ROWS), *names],
        env=with_tests() | ELSEWHERE,
        capture_output=True,
        text=True,
        check=True,
    )
    there = json.loads(done.stdout)
    here = digests(names, N_ROWS)
    assert [name for name in names if there[name] != here[name]] == []


def numbers_of_jobs(estimator):
    """Parameters called n_jobs, at any depth, of estimators of ours."""
    params = estimator.get_params()
    names = [name for name in params if name.split("__")[-1] == "n_jobs"]
    owners = {name: params.get(name.removesuffix("__n_jobs"), estimator) for name in names}
    return [name for name, owner in owners.items() if type(owner).__module__.startswith("plcp")]


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if numbers_of_jobs(case.estimator)]
)
def test_n_jobs_changes_nothing(name, rows):
    case, X = CASES[name], make_rows(1, 100)[0]
    one = case.fit(rows)
    two = case.fit(rows, **dict.fromkeys(numbers_of_jobs(case.estimator), 2))
    assert_array_equal(answer(two, X), answer(one, X), strict=True)


class FirstColumn(RegressorMixin, BaseEstimator):
    """An index that learns nothing, but remembers which rows it was shown, by their last column."""

    def fit(self, X, y, sample_weight=None):
        self.shown_ = X[:, -1].astype(int)
        return self

    def predict(self, X):
        return X[:, 0]


def numbered(seed):
    """Rows with their own number as the last column, and scores."""
    X, scores, _ = make_rows(seed)
    return np.column_stack([X, np.arange(len(X))]), scores


def learned(rule, X, scores, *weights):
    rule.fit(X, scores, *weights)
    return np.column_stack([rule.thresholds_, rule.group_sizes_]), rule.predict(
        X[X[:, -1].argsort()]
    )


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("within", ["constant", "regressor"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_joint_thresholds_know_no_order_of_rows(within, weighted, seed, rng):
    """Nothing is divided, and thresholds are order statistics: equal to the last bit."""
    X, scores = numbered(seed)
    order = rng.permutation(len(X))
    weights = rng.integers(1, 4, len(X)).astype(float)  # whole: their sums are exact in any order
    rule = PLCP(OrderedPartition(FirstColumn()), 5, calibration="joint", within=within)
    first, second = (
        learned(rule, X[rows], scores[rows], *([weights[rows]] if weighted else []))
        for rows in (np.arange(len(X)), order)
    )
    assert_same(second, first)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "partition",
    [OrderedPartition(LinearQuantile()), TreePartition(min_samples_leaf=20, random_state=0)],
    ids=["line", "tree"],
)
def test_joint_groups_of_an_index_that_draws_nothing_know_no_order(partition, seed, rng):
    """Sums are rounded otherwise, but no score is so near a cut that its group would change."""
    X, scores = numbered(seed)
    order = rng.permutation(len(X))
    rule = PLCP(partition, 5, calibration="joint", within="constant")
    first = learned(rule, X, scores)
    assert_same(learned(rule, X[order], scores[order]), first)


@pytest.mark.parametrize("within", ["constant", "regressor"])
@pytest.mark.parametrize("seed", SEEDS)
def test_split_thresholds_know_no_order_within_the_parts(within, seed, rng):
    """Parts are drawn by position: rows that stay in their part may stand anywhere in it."""
    X, scores = numbered(seed)
    partition = OrderedPartition(FirstColumn())
    rule = PLCP(partition, 5, calibration="split", within=within, random_state=seed)
    first = learned(rule, X, scores)
    shown = rule.partition_.regressor_.shown_
    order = np.arange(len(X))
    for part in (shown, np.setdiff1d(order, shown)):
        order[part] = rng.permutation(part)
    assert_same(learned(rule, X[order], scores[order]), first)


def test_split_rows_in_another_order_are_divided_otherwise():
    """As the documentation says; rows in the same order with another seed are, too."""
    X, scores = numbered(0)
    rule = PLCP(OrderedPartition(FirstColumn()), 5, calibration="split", random_state=0)

    def shown(rule, order):
        return set(rule.fit(X[order], scores[order]).partition_.regressor_.shown_)

    order, reverse = np.arange(len(X)), np.arange(len(X))[::-1]
    assert shown(rule, order) == shown(rule, order)
    assert shown(rule, reverse) == {len(X) - 1 - row for row in shown(rule, order)}
    assert shown(rule, reverse) != shown(rule, order)
