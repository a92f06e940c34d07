"""Rows are divided at random, and copies of a row stay together."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import betabinom
from sklearn.model_selection import GroupKFold, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from bands import FALSE_ALARM, binomial_band
from plcp import PLCP, ConformalRegressor, OrderedPartition, Rectified, SplitConformal
from plcp._folds import copy_ids, given_folds, remaining_folds, shuffled_folds, split_rows
from plcp.metrics import ert
from strategies import few


def same(numbers):
    """Which rows have the same number, as a matrix."""
    return numbers[:, None] == numbers


@few
@given(hnp.arrays(float, st.tuples(st.integers(2, 12), st.just(2))), st.integers(1, 4))
def test_copies_have_one_number_and_other_rows_their_own(X, times):
    X = np.unique(np.nan_to_num(X) + 0.0, axis=0)
    assume(len(X) > times)  # rows that recur more often than there are others are no copies
    y = np.arange(float(len(X)))
    numbers = copy_ids(np.repeat(X, times, axis=0), np.repeat(y, times))
    owner = np.repeat(np.arange(len(X)), times)
    np.testing.assert_array_equal(same(numbers), same(owner))


def test_copies_are_found_in_any_container(rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    frame = pd.DataFrame(X, columns=["a", "b"])
    text = frame.assign(b=np.where(X[:, 1] > 0, "x", None))
    for rows in (frame, text):
        twice = pd.concat([rows, rows], ignore_index=True)
        np.testing.assert_array_equal(*np.split(copy_ids(twice, np.tile(y, 2)), 2))


def test_no_seed_holds_out_more_of_one_kind_of_row():
    """Over tables of two kinds of rows, a seed holds out as many of each as chance does."""
    held, n = 0, 100
    for k in range(200):
        X = np.random.default_rng(k).integers(0, 2, size=(n, 1)).astype(float)
        ids = copy_ids(X, np.random.default_rng(k).normal(size=n))
        held += int(X[split_rows(ids, 0.5, np.random.RandomState(0))[1]].sum())
    low, high = binomial_band(200 * n // 2, 0.5)
    assert low <= held <= high


def test_rows_that_recur_by_chance_are_rows_of_their_own(rng):
    """Few categories and few scores: equal rows are other observations, not copies."""
    X, y = rng.integers(0, 2, size=(60, 1)), rng.integers(0, 3, size=60)
    assert len(np.unique(copy_ids(X, y))) == 60


def test_an_outcome_does_not_make_copies(rng):
    """One cell of few is always covered: its rows are as many observations as the others."""
    X = rng.integers(0, 2, size=(400, 1))
    covered = (X[:, 0] == 0) | (rng.random(400) < 0.6)
    assert len(np.unique(copy_ids(X, covered))) == 400
    assert len(np.unique(copy_ids(np.zeros((400, 1)), rng.poisson(3, size=400)))) == 400
    assert len(np.unique(copy_ids(X, X[:, 0]))) == 400


@few
@given(hnp.arrays(np.intp, st.integers(2, 30), elements=st.integers(0, 8)), st.integers(2, 5))
def test_folds_hold_each_row_once_and_each_set_in_one(labels, n_folds):
    ids = np.unique(labels, return_inverse=True)[1]
    folds = shuffled_folds(ids, n_folds, 0)
    held = np.concatenate([hold for _, hold in folds])
    np.testing.assert_array_equal(np.sort(held), np.arange(len(ids)))
    for learn, hold in folds:
        assert len(learn) + len(hold) == len(ids)
        if ids.max() + 1 >= n_folds:
            assert not np.intersect1d(ids[learn], ids[hold]).size


def test_both_parts_of_a_split_have_rows_and_no_set_in_common(rng):
    for k in range(20):
        ids = np.unique(rng.integers(0, 6, size=40), return_inverse=True)[1]
        first, second = split_rows(ids, 0.3, np.random.RandomState(k))
        assert len(first)
        assert len(second)
        assert not np.intersect1d(ids[first], ids[second]).size
    first, second = split_rows(np.zeros(10, dtype=int), 0.3, np.random.RandomState(0))
    assert (len(first), len(second)) == (7, 3)


@pytest.mark.parametrize(
    ("cv", "complaint"),
    [
        ([([0, 1], [2, 9])], "row 9 of 4 rows"),
        ([([0, 1], [2])], "holds out only 1 of 4 rows"),
        ([([0, 1, 2], [2, 3, 1, 0])], "also learns from"),
        ([([0.5], [1.0])], "row numbers"),
        ([], "no folds"),
    ],
)
def test_folds_that_cannot_be_are_refused(cv, complaint):
    with pytest.raises(ValueError, match=complaint):
        given_folds(cv, np.zeros((4, 1)), np.zeros(4))


def test_folds_of_rows_that_remain():
    folds = remaining_folds([*KFold(2).split(np.zeros(6))], np.array([0, 2, 5]))
    assert [(a.tolist(), b.tolist()) for a, b in folds] == [([2], [0, 1]), ([0, 1], [2])]


class Nosy(KNeighborsRegressor):
    """Keeps the rows it was fitted on, and notes whether it ever predicts one of them."""

    met = False

    def fit(self, X, y):
        self.rows_ = {tuple(row) for row in np.asarray(X).tolist()}
        return super().fit(X, y)

    def predict(self, X):
        if any(tuple(row) in self.rows_ for row in np.asarray(X).tolist()):
            type(self).met = True
        return super().predict(X)


def copied(rng, n=40, d=3, times=5):
    X, scores = rng.normal(size=(n, d)), rng.exponential(size=n)
    return np.repeat(X, times, axis=0), np.repeat(scores, times)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, s: PLCP(OrderedPartition(Nosy()), 2, random_state=0).fit(X, s),
        lambda X, s: Rectified(Nosy(), random_state=0).fit(X, s),
        lambda X, s: ConformalRegressor(Nosy(), threshold=SplitConformal()).fit(X, s),
    ],
    ids=["cross", "rectified", "model"],
)
def test_no_model_predicts_a_copy_of_a_row_it_was_fitted_on(rng, fit):
    Nosy.met = False
    fit(*copied(rng))
    assert not Nosy.met


def test_copies_of_all_rows_cost_no_coverage(rng):
    """With five copies of each row a deep tree knows each score by a copy, if folds let it."""
    X, scores = copied(rng, n=60, d=60)
    rule = PLCP(OrderedPartition(DecisionTreeRegressor(random_state=0)), 1, random_state=0)
    rule.fit(X, scores)
    new = rng.exponential(size=2000)
    covered = new <= rule.predict(rng.normal(size=(2000, 60)))
    # thresholds from 60 rows: coverage has the beta law of 55 of 60 in the best case
    low = betabinom(2000, 55, 6).ppf(FALSE_ALARM)
    assert covered.sum() >= low


def test_listed_folds_are_those_of_all_rows(rng):
    """Rows without weight are not there, whatever folds they were in."""
    X, scores = rng.normal(size=(60, 2)), rng.exponential(size=60)
    weights = np.ones(60)
    weights[::7] = 0
    folds = [*KFold(3).split(X)]
    kept = np.flatnonzero(weights)
    rule = PLCP(OrderedPartition(KNeighborsRegressor()), 2, cv=folds, random_state=0)
    other = PLCP(
        OrderedPartition(KNeighborsRegressor()), 2, cv=remaining_folds(folds, kept), random_state=0
    )
    rule.fit(X, scores, weights)
    other.fit(X[kept], scores[kept])
    np.testing.assert_array_equal(rule.predict(X), other.predict(X))


def test_cv_takes_what_scikit_learn_takes(rng):
    X, scores = rng.normal(size=(90, 2)), rng.exponential(size=90)
    sites = np.repeat(np.arange(9), 10)
    folds = GroupKFold(3).split(X, groups=sites)
    assert PLCP(n_groups=2, cv=folds, random_state=0).fit(X, scores).predict(X).shape == (90,)
    assert PLCP(n_groups=2, cv=KFold(4), random_state=0).fit(X, scores).predict(X).shape == (90,)
    for cv, complaint in [(1, "at least 2"), (0.5, "cv must be a whole number of folds")]:
        with pytest.raises(ValueError, match=complaint):
            PLCP(cv=cv).fit(X, scores)
    with pytest.raises(ValueError, match="splitter such as KFold"):
        PLCP(cv=[*KFold(3).split(X)], calibration="split").fit(X, scores)
    for calibration in ("rotate", "cross", "split"):
        with pytest.raises(ValueError, match="divides rows by groups, and none are given"):
            PLCP(cv=GroupKFold(3), calibration=calibration).fit(X, scores)


def test_an_audit_learns_nothing_from_copies(rng):
    """Coverage by chance, ten copies of each row: trees that meet copies could predict it."""
    X, covered = rng.normal(size=(100, 3)), rng.random(100) < 0.6
    assert ert(np.tile(X, (10, 1)), np.tile(covered, 10), 0.4).low <= 0
