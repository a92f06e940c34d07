"""Predictions do not depend on copies, on other rows, or on weights that say nothing."""

import copy
import multiprocessing
import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter

import plcp
import plcp.partitions.torch
import plcp.regressors
import plcp.scores
from estimators import CASES, INDICES, N_ROWS, NEVER_ASKED, PARTITIONS, RULES, answer, make_rows
from plcp._base import Estimator
from plcp._validation import FEW
from plcp.exceptions import InfiniteThresholdWarning, SmallGroupWarning

X = make_rows(1, 100)[0]
# whose predictions neither are drawn row after row nor come out of a product of matrices
ROW_BY_ROW = (
    *("split", "mondrian", "plcp", "plcp, split", "plcp, joint", "plcp, tree", "plcp, lightgbm"),
    *("plcp, levels", "plcp, shared levels", "rectified", "ordered"),
)
WEIGHED = [
    name for name, case in CASES.items() if has_fit_parameter(case.estimator, "sample_weight")
]
COUNTS_ROWS = {"tree"}  # whose leaves must hold so many
SHARES = [name for name in (*INDICES, *PARTITIONS, "batch gcp", "band") if name not in COUNTS_ROWS]
ROWS_ALONE = ["split", "mondrian", "batch gcp", "batch mvp", "plcp, joint", "tree"]  # no folds
DRAWN = np.random.default_rng(1).uniform(0.5, 3.0, N_ROWS)


def test_every_public_estimator_is_a_case_and_fits_in_one_step():
    modules = (plcp, plcp.regressors, plcp.partitions.torch)
    public = {
        cls
        for cls in (getattr(module, name) for module in modules for name in module.__all__)
        if isinstance(cls, type)
        and issubclass(cls, BaseEstimator)
        and not issubclass(cls, plcp.scores.Score)
    }
    found = {type(case.estimator).__name__ for case in CASES.values()}
    assert found == {cls.__name__ for cls in public} - NEVER_ASKED
    assert all(issubclass(cls, Estimator) for cls in public)


@pytest.fixture(scope="module")
def fitted(rows):
    """Return every estimator fitted, the networks among them in the mode they were left in."""
    return {name: case.fit(rows) for name, case in CASES.items()}


def test_copies_predict_alike_and_share_nothing_that_a_new_fit_changes(fitted, rows):
    other = make_rows(3)
    for name, case in CASES.items():
        expected = answer(fitted[name], X)
        for again in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
            copied = again(fitted[name])
            assert_array_equal(answer(copied, X), expected, strict=True)
            copied.fit(other[0], other[2] if case.classes else other[1])
            assert_array_equal(answer(fitted[name], X), expected, strict=True)


def predict_all(estimators):
    """Predictions of fitted estimators that came here as a pickle."""
    return [answer(each, X) for each in estimators]


@pytest.mark.slow
def test_a_spawned_process_predicts_alike(fitted):
    expected = predict_all(fitted.values())
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(predict_all, list(fitted.values())).result()
    for there, here in zip(found, expected, strict=True):
        assert_array_equal(there, here, strict=True)


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_a_row_alone_is_predicted_as_among_others(name):
    fitted = CASES[name].fit(make_rows())
    alone = np.concatenate([answer(fitted, X[i : i + 1]) for i in range(20)])
    assert_array_equal(alone, answer(fitted, X)[:20])


@pytest.mark.parametrize("n", [1, FEW])
def test_few_rows_are_refused_as_many_are(n):
    X, scores, _ = make_rows()
    fitted, new = CASES["plcp, joint"].fit((X, scores, None)), make_rows(1, n)[0]
    for wrong, expected in [
        (np.where(np.arange(new.shape[1]) == 0, np.nan, new), "contains NaN"),
        (np.where(np.arange(new.shape[1]) == 0, np.inf, new), "contains infinity"),
        (new[:, 1:], "features"),
        (new[:0], "0 sample"),
        (new[0], "Expected 2D array"),
    ]:
        with pytest.raises(ValueError, match=expected):
            fitted.predict(wrong)


def test_a_row_without_the_names_of_fit_warns():
    X, scores, _ = make_rows()
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    fitted = CASES["split"].fit((frame, scores, None))
    with pytest.warns(UserWarning, match="feature names"):
        fitted.predict(X[:1])


def weighted(name, rows, weights=None):
    with warnings.catch_warnings():
        for little in (InfiniteThresholdWarning, SmallGroupWarning):
            warnings.simplefilter("ignore", little)
        return answer(CASES[name].fit(rows, weights), make_rows(2)[0])


def test_rules_indices_partitions_and_models_take_weights():
    assert {*CASES} - {*WEIGHED} == {"groups", "group probabilities"}


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_of_one_are_none(name):
    rows = make_rows()
    assert_array_equal(weighted(name, rows, np.ones(N_ROWS)), weighted(name, rows))


@pytest.mark.parametrize("name", RULES)
def test_weights_of_one_and_zero_are_the_rows_of_one(name):
    rows, kept = make_rows(), np.arange(N_ROWS) % 6 > 0
    fewer = tuple(column[kept] for column in rows)
    assert_array_equal(weighted(name, rows, kept * 1.0), weighted(name, fewer))


@pytest.mark.parametrize("name", SHARES)
def test_where_shares_count_equal_weights_are_none(name):
    rows, expected = make_rows(), weighted(name, make_rows())
    for weight in (2.0, 1 / 3):
        assert_array_equal(weighted(name, rows, np.full(N_ROWS, weight)), expected)


@pytest.mark.parametrize("name", SHARES)
def test_where_shares_count_weights_have_no_unit(name):
    rows, expected = make_rows(), weighted(name, make_rows(), DRAWN)
    for power in (1, 30, -30):
        assert_array_equal(weighted(name, rows, DRAWN * 2.0**power), expected)


@pytest.mark.parametrize("name", ROWS_ALONE)
def test_where_rows_count_a_weight_of_two_is_two_rows(name):
    rows = make_rows()
    repeated = tuple(np.repeat(column, 2, axis=0) for column in rows)
    assert_array_equal(weighted(name, rows, np.full(N_ROWS, 2.0)), weighted(name, repeated))
