"""Eight threads that predict by one fitted object at once get what each would get alone."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from torch import nn

from estimators import CASES, RULES, answer, make_rows
from plcp.partitions.torch import embed
from plcp.regressors import crossfit

THREADS = 8
TURNS = 3
MOMENT = 0.3  # seconds to wait for a thread that must not come
TIMEOUT = 1800  # seconds to wait for one that must


@pytest.fixture(autouse=True)
def _threads_take_turns_often(monkeypatch):
    """Switch between threads at every chance; make tables of LightGBM's trees for few rows."""
    monkeypatch.setattr(crossfit, "ROWS_FOR_LIGHTGBM", 96)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def batches():
    """Rows of each thread, of several sizes."""
    sizes = [32 + 16 * thread for thread in range(THREADS)]
    return [make_rows(seed, n)[0] for seed, n in enumerate(sizes, start=1)]


def at_once(fitted, tables):
    """Predictions for all tables, begun in the same moment, several times over."""
    start = Barrier(len(tables))

    def predict(X):
        start.wait()
        return [answer(fitted, X) for _ in range(TURNS)]

    with ThreadPoolExecutor(len(tables)) as pool:
        return list(pool.map(predict, tables))


def test_the_first_predictions_may_all_begin_at_once(case, rows):
    fitted, tables = case.fit(rows), batches()
    alone = pickle.loads(pickle.dumps(fitted))  # whose first call leaves the other's to come
    found = at_once(fitted, tables)
    for X, turns in zip(tables, found, strict=True):
        expected = answer(alone, X)
        for each in turns:
            assert_array_equal(each, expected, strict=True)


def test_rows_are_predicted_alike_before_and_after_others(case, rows):
    """Tables made for a large batch serve small ones afterwards: to the same bit."""
    fitted = case.fit(rows)
    some, many = make_rows(1, 50)[0], make_rows(2, 200)[0]
    first = answer(fitted, some)
    answer(fitted, many)
    assert_array_equal(answer(fitted, some), first, strict=True)


@pytest.mark.parametrize("name", ["conditional", "local", "rlcp", "posterior"])
def test_rules_that_use_threads_themselves_predict_in_several(name, rows):
    X, scores, _ = rows
    fitted = clone(RULES[name]).set_params(n_jobs=2).fit(X, scores)
    tables = batches()
    found = at_once(fitted, tables)
    for X, turns in zip(tables, found, strict=True):
        assert_array_equal(turns[-1], answer(fitted, X), strict=True)


def test_a_fit_beside_others_learns_what_it_would_alone(rows):
    """Fits in threads share no stream of numbers, no filter of warnings and no cache."""
    names = ["plcp", "plcp, network", "plcp, softmax", "local", "rectified", "batch mvp"]
    X = make_rows(1, 50)[0]
    alone = [answer(CASES[name].fit(rows), X) for name in names]
    with ThreadPoolExecutor(len(names)) as pool:
        beside = list(pool.map(lambda name: answer(CASES[name].fit(rows), X), names))
    for expected, found in zip(alone, beside, strict=True):
        assert_array_equal(found, expected)


class Meeting(nn.Module):
    """Doubles its rows in training; the first call ends in the middle of the second."""

    def __init__(self):
        super().__init__()
        self.first_came, self.second_came, self.first_left = Event(), Event(), Event()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 1:
            self.first_came.set()
            self.second_came.wait(MOMENT)
        else:
            self.second_came.set()
            self.first_left.wait(TIMEOUT)
        return x * (2 if self.training else 1)


def test_a_network_in_training_predicts_as_if_it_were_not():
    network, X = Meeting().train(), np.ones((3, 2))

    def first():
        found = embed(network, X)
        network.first_left.set()
        return found

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(first)]
        assert network.first_came.wait(TIMEOUT)
        answers.append(pool.submit(embed, network, X))
        for each in answers:
            assert_array_equal(each.result(), X)
    assert network.training  # as its owner left it


@pytest.mark.parametrize("name", ["network, softmax", "network quantile"])
def test_a_fitted_network_is_not_in_training(name, rows):
    fitted = CASES[name].fit(rows)
    assert not any(part.training for part in fitted.network_.modules())
