"""Weights of one are no weights; where only shares of weight count, neither are any equal ones."""

import warnings

import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter

from estimators import CASES, INDICES, N_ROWS, PARTITIONS, RULES, answer, make_rows
from plcp.exceptions import InfiniteThresholdWarning, SmallGroupWarning

WEIGHED = [
    name for name, case in CASES.items() if has_fit_parameter(case.estimator, "sample_weight")
]
COUNTS_ROWS = {"tree"}  # whose leaves must hold so many
SHARES = [name for name in (*INDICES, *PARTITIONS, "batch gcp", "band") if name not in COUNTS_ROWS]
ROWS_ALONE = ["split", "mondrian", "batch gcp", "batch mvp", "plcp, joint", "tree"]  # no folds
DRAWN = np.random.default_rng(1).uniform(0.5, 3.0, N_ROWS)


def answers(name, rows, weights=None):
    with warnings.catch_warnings():
        for little in (InfiniteThresholdWarning, SmallGroupWarning):
            warnings.simplefilter("ignore", little)
        return answer(CASES[name].fit(rows, weights), make_rows(2)[0])


def test_rules_indices_partitions_and_models_take_weights():
    assert {*CASES} - {*WEIGHED} == {"groups", "group probabilities"}


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_of_one_are_none(name):
    rows = make_rows()
    np.testing.assert_array_equal(answers(name, rows, np.ones(N_ROWS)), answers(name, rows))


@pytest.mark.parametrize("name", RULES)
def test_weights_of_one_and_zero_are_the_rows_of_one(name):
    rows, kept = make_rows(), np.arange(N_ROWS) % 6 > 0
    fewer = tuple(column[kept] for column in rows)
    np.testing.assert_array_equal(answers(name, rows, kept * 1.0), answers(name, fewer))


@pytest.mark.parametrize("name", SHARES)
def test_where_shares_count_equal_weights_are_none(name):
    rows, expected = make_rows(), answers(name, make_rows())
    for weight in (2.0, 1 / 3):
        np.testing.assert_array_equal(answers(name, rows, np.full(N_ROWS, weight)), expected)


@pytest.mark.parametrize("name", SHARES)
def test_where_shares_count_weights_have_no_unit(name):
    rows, expected = make_rows(), answers(name, make_rows(), DRAWN)
    for power in (1, 30, -30):
        np.testing.assert_array_equal(answers(name, rows, DRAWN * 2.0**power), expected)


@pytest.mark.parametrize("name", ROWS_ALONE)
def test_where_rows_count_a_weight_of_two_is_two_rows(name):
    rows = make_rows()
    repeated = tuple(np.repeat(column, 2, axis=0) for column in rows)
    np.testing.assert_array_equal(
        answers(name, rows, np.full(N_ROWS, 2.0)), answers(name, repeated)
    )
