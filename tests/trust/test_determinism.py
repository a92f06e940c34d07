"""The same data and seed give the same answers: in any process, with any number of threads."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from own_process import digests, run
from sklearn.base import BaseEstimator, RegressorMixin

from estimators import CASES, N_ROWS, answer, make_rows
from plcp import PLCP, LinearQuantile, OrderedPartition, TreePartition

# torch adds up in as many parts as it has threads: the last digits of a network depend on it
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
    there, here = run("digests", str(N_ROWS), *names, **ELSEWHERE), digests(N_ROWS, *names)
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
    """Learns nothing, but remembers which rows it was fitted to, by their last column."""

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
    """Thresholds and sizes of the groups, and the predictions of the rows by their number."""
    rule.fit(X, scores, *weights)
    groups = [*rule.thresholds_, *rule.group_sizes_]
    return np.concatenate([groups, rule.predict(X[X[:, -1].argsort()])])


@pytest.mark.parametrize("within", ["constant", "regressor"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_joint_thresholds_do_not_depend_on_the_order_of_rows(within, weighted, seed, rng):
    """Nothing is divided, and thresholds are order statistics: equal to the last bit."""
    X, scores = numbered(seed)
    order = rng.permutation(len(X))
    weights = rng.integers(1, 4, len(X)).astype(float)  # whole: their sums are exact in any order
    rule = PLCP(OrderedPartition(FirstColumn()), 5, calibration="joint", within=within)
    given, permuted = ([weights], [weights[order]]) if weighted else ([], [])
    first = learned(rule, X, scores, *given)
    assert_array_equal(learned(rule, X[order], scores[order], *permuted), first)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "partition",
    [OrderedPartition(LinearQuantile()), TreePartition(min_samples_leaf=20, random_state=0)],
    ids=["line", "tree"],
)
def test_joint_groups_of_a_regressor_without_draws_do_not_depend_on_the_order(partition, seed, rng):
    """Sums are rounded otherwise, but no score is so near a cut that its group would change."""
    X, scores = numbered(seed)
    order = rng.permutation(len(X))
    rule = PLCP(partition, 5, calibration="joint", within="constant")
    first = learned(rule, X, scores)
    assert_array_equal(learned(rule, X[order], scores[order]), first)


@pytest.mark.parametrize("within", ["constant", "regressor"])
@pytest.mark.parametrize("seed", SEEDS)
def test_split_thresholds_do_not_depend_on_the_order_within_the_parts(within, seed, rng):
    """Parts are drawn by position: rows that stay in their part may stand anywhere in it."""
    X, scores = numbered(seed)
    partition = OrderedPartition(FirstColumn())
    rule = PLCP(partition, 5, calibration="split", within=within, random_state=seed)
    first = learned(rule, X, scores)
    shown = rule.partition_.regressor_.shown_
    order = np.arange(len(X))
    for part in (shown, np.setdiff1d(order, shown)):
        order[part] = rng.permutation(part)
    assert_array_equal(learned(rule, X[order], scores[order]), first)


def test_split_rows_in_another_order_are_divided_otherwise():
    X, scores = numbered(0)
    rule = PLCP(OrderedPartition(FirstColumn()), 5, calibration="split", random_state=0)

    def shown(order):
        return set(rule.fit(X[order], scores[order]).partition_.regressor_.shown_)

    order = np.arange(len(X))
    first, reverse = shown(order), shown(order[::-1])
    assert first == shown(order) != reverse == {len(X) - 1 - row for row in first}
