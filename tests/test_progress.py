"""Jobs in threads: in order, and no pool of threads within another."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from plcp import PLCP, LinearQuantile
from plcp._parallel import FEW, MANY, free_threads, in_threads, jobs_for, threads_for
from plcp.regressors import StackedQuantile

TIMEOUT = 1800  # seconds: only a test that fails waits so long


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def openmp_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}


def set_blas_threads(n):
    """Set them in a thread that ends: the one that set them last is the only one that may."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    thread = Thread(target=lambda: [library.set_num_threads(n) for library in libraries])
    thread.start()
    thread.join()


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_results_come_in_order(n_jobs):
    jobs = [partial(np.square, i) for i in range(20)]
    assert in_threads(jobs, n_jobs, verbose=False, label="") == [i * i for i in range(20)]


def test_threads_multiply_matrices_one_at_a_time_and_leave_no_trace():
    before = blas_threads()
    for n_jobs in (None, 2):  # results must not depend on it
        inside = in_threads([blas_threads] * 4, n_jobs, verbose=False, label="")
        assert inside == [{1}] * 4
    assert in_threads([blas_threads], None, verbose=False, label="") == [before]
    assert blas_threads() == before


def test_runs_that_overlap_leave_the_threads_of_matrices_as_they_were():
    """The first to come is the first to go, and the second found what the first had set."""
    first_runs, second_runs, first_is_done = Event(), Event(), Event()

    def until_the_second_runs():
        first_runs.set()
        second_runs.wait(TIMEOUT)

    def first():
        in_threads([until_the_second_runs, int], 2, verbose=False, label="")
        first_is_done.set()

    def second():
        second_runs.set()
        return first_is_done.wait(TIMEOUT)

    (before,) = blas_threads()
    set_blas_threads(2)
    expected = blas_threads()
    assert 2 in expected  # not every library that is loaded lets others set it
    try:
        with ThreadPoolExecutor(2) as pool:
            pool.submit(first)
            assert first_runs.wait(TIMEOUT)
            assert pool.submit(in_threads, [second, int], 2, False, "").result() == [True, 0]
        assert blas_threads() == expected
    finally:
        set_blas_threads(before)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_filters_of_warnings_are_left_alone(n_jobs):
    filters, seen = list(warnings.filters), []

    def job():
        seen.append(list(warnings.filters))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: in_threads([job] * 20, n_jobs, False, ""), range(8)))
    assert seen == [filters] * 160
    assert warnings.filters == filters


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_jobs_know_the_options_of_scikit_learn(n_jobs):
    with config_context(assume_finite=True):
        found = in_threads([get_config] * 4, n_jobs, verbose=False, label="")
    assert [config["assume_finite"] for config in found] == [True] * 4


class Others(BaseEstimator):
    """A third-party model: how it uses threads is not known."""


@pytest.mark.parametrize(
    ("estimator", "values", "threads"),
    [
        (LinearQuantile(), 10, 1),
        (LinearQuantile(), MANY - 2, 1),
        (LinearQuantile(), MANY, 2),
        (HistGradientBoostingRegressor(), MANY - 2, 1),
        (Others(), FEW - 2, 1),
        (Others(), FEW, 3),
        (StackedQuantile(), FEW, 3),  # which limits its members
    ],
)
def test_threads_of_openmp_by_the_size_of_the_table(monkeypatch, estimator, values, threads):
    monkeypatch.setattr("plcp._parallel.free_threads", lambda: 2)
    table = np.broadcast_to(0.0, (values // 2, 2))
    with threadpool_limits(3, user_api="openmp"):
        with threads_for(table, estimator):
            assert openmp_threads() == {threads}
        assert openmp_threads() == {3}


@pytest.mark.parametrize(("cores", "busy", "free"), [(8, 0, 4), (8, 5, 3), (8, 20, 1), (2, 0, 2)])
def test_threads_that_are_free(monkeypatch, cores, busy, free):
    monkeypatch.setattr("plcp._parallel.cpu_count", lambda: cores)
    monkeypatch.setattr("plcp._parallel._busy", lambda: busy)
    with threadpool_limits(4, user_api="openmp"):  # of the user's own
        assert free_threads() == free


def test_folds_share_the_free_threads_where_tables_are_worth_it(monkeypatch):
    monkeypatch.setattr("plcp._parallel.free_threads", lambda: 2)
    small, large, huge = (np.broadcast_to(0.0, (n, 1)) for n in (FEW - 1, FEW, MANY))
    ours = LinearQuantile()
    assert [jobs_for(X, ours, None) for X in (small, large, huge)] == [None, 2, None]
    assert jobs_for(large, ours, 1) == 1
    assert jobs_for(large, Others(), None) is None


def test_results_do_not_depend_on_the_threads(monkeypatch, rng):
    X, scores = rng.normal(size=(2000, 3)), rng.exponential(size=2000)
    monkeypatch.setattr("plcp._parallel.FEW", 100)
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr("plcp._parallel.free_threads", lambda n=threads: n)
        with threadpool_limits(threads):
            found.append(PLCP(cv=3, random_state=0).fit(X, scores).predict(X))
    assert_array_equal(found[1:], [found[0]] * 2)
