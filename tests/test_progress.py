"""Jobs in threads: in order, and no pool of threads within another."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread

import numpy as np
import pytest
from sklearn import config_context, get_config
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from plcp.progress import FEW, in_threads, one_thread_for_few

TIMEOUT = 60  # seconds: only a test that fails waits so long


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


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
    inside = in_threads([blas_threads] * 4, 2, verbose=False, label="")
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
        in_threads([until_the_second_runs], 2, verbose=False, label="")
        first_is_done.set()

    def second():
        second_runs.set()
        return first_is_done.wait(TIMEOUT)

    (before,) = blas_threads()
    set_blas_threads(2)
    told = blas_threads()
    assert 2 in told  # not every library that is loaded lets others set it
    try:
        with ThreadPoolExecutor(2) as pool:
            pool.submit(first)
            assert first_runs.wait(TIMEOUT)
            assert pool.submit(in_threads, [second], 2, False, "").result() == [True]
        assert blas_threads() == told
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


@pytest.mark.parametrize(("rows", "threads"), [(10, 1), (FEW // 2, 2)])
def test_small_arrays_are_worked_on_by_one_thread_and_large_ones_as_before(rows, threads):
    with threadpool_limits(2, user_api="openmp"):
        with one_thread_for_few(np.empty((rows, 2))):
            assert _openmp_effective_n_threads() == threads
        assert _openmp_effective_n_threads() == 2


def test_rows_that_are_no_array_are_not_counted():
    class Dataset:
        def __getitem__(self, row):
            raise AssertionError("rows are not read for their number")

    with one_thread_for_few(Dataset()):
        pass
