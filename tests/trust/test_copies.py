"""A fitted object answers the same after a copy, a pickle, and a journey to another process."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest
from numpy.testing import assert_array_equal

from estimators import CASES, answer, make_rows

X = make_rows(1, 100)[0]


@pytest.fixture(scope="module")
def fitted(rows):
    """Return every estimator fitted, the networks among them in the mode they were left in."""
    return {name: case.fit(rows) for name, case in CASES.items()}


def test_copies_answer_alike_and_share_nothing_that_a_new_fit_changes(fitted, rows):
    other = make_rows(3)
    for name, case in CASES.items():
        expected = answer(fitted[name], X)
        for again in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
            copied = again(fitted[name])
            assert_array_equal(answer(copied, X), expected, strict=True)
            copied.fit(other[0], other[2] if case.classes else other[1])
            assert_array_equal(answer(fitted[name], X), expected, strict=True)


def ask_all(estimators):
    """Answers of fitted estimators that came here as a pickle."""
    return [answer(each, X) for each in estimators]


@pytest.mark.slow
def test_a_spawned_process_answers_alike(fitted):
    expected = ask_all(fitted.values())
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(ask_all, list(fitted.values())).result()
    for there, here in zip(found, expected, strict=True):
        assert_array_equal(there, here, strict=True)
