"""Eight threads that ask one fitted object at once hear what each would hear alone."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from estimators import CASES, RULES, answer, make_rows
from plcp.regressors import crossfit

THREADS = 8
TURNS = 3


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


def at_once(fitted, questions):
    """Answers to all questions, begun in the same moment, several times over."""
    start = Barrier(len(questions))

    def ask(X):
        start.wait()
        return [answer(fitted, X) for _ in range(TURNS)]

    with ThreadPoolExecutor(len(questions)) as pool:
        return list(pool.map(ask, questions))


def test_the_first_questions_may_all_come_at_once(case, rows):
    fitted, questions = case.fit(rows), batches()
    alone = pickle.loads(pickle.dumps(fitted))  # whose first call leaves the other's to come
    heard = at_once(fitted, questions)
    for X, turns in zip(questions, heard, strict=True):
        expected = answer(alone, X)
        for found in turns:
            assert_array_equal(found, expected, strict=True)


def test_a_question_asked_alone_and_after_others_is_answered_alike(case, rows):
    """Tables made for a large batch serve small ones afterwards: to the same bit."""
    fitted = case.fit(rows)
    some, many = make_rows(1, 50)[0], make_rows(2, 200)[0]
    first = answer(fitted, some)
    answer(fitted, many)
    assert_array_equal(answer(fitted, some), first, strict=True)


@pytest.mark.parametrize("name", ["conditional", "local", "rlcp", "posterior"])
def test_rules_that_use_threads_themselves_are_asked_by_several(name, rows):
    X, scores, _ = rows
    fitted = clone(RULES[name]).set_params(n_jobs=2).fit(X, scores)
    questions = batches()
    heard = at_once(fitted, questions)
    for X, turns in zip(questions, heard, strict=True):
        assert_array_equal(turns[-1], answer(fitted, X), strict=True)


def test_a_fit_beside_others_learns_what_it_would_alone(rows):
    """Fits in threads share no stream of numbers, no filter of warnings and no cache."""
    names = ["plcp", "plcp, network", "plcp, softmax", "local", "rectified", "batch mvp"]
    X = make_rows(1, 50)[0]
    alone = [answer(CASES[name].fit(rows), X) for name in names]
    with ThreadPoolExecutor(len(names)) as pool:
        beside = list(pool.map(lambda name: answer(CASES[name].fit(rows), X), names))
    for expected, found in zip(alone, beside, strict=True):
        np.testing.assert_array_equal(found, expected)
