"""Jobs in threads: in order, and no pool of threads within another."""

import numpy as np
import pytest
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.parallel import delayed
from threadpoolctl import threadpool_info, threadpool_limits

from plcp.progress import FEW, in_threads, one_thread_for_few


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_results_come_in_order(n_jobs):
    jobs = [delayed(np.square)(i) for i in range(20)]
    assert in_threads(jobs, n_jobs, verbose=False, label="") == [i * i for i in range(20)]


def test_threads_multiply_matrices_one_at_a_time_and_leave_no_trace():
    before = blas_threads()
    inside = in_threads([delayed(blas_threads)()] * 4, 2, verbose=False, label="")
    assert inside == [{1}] * 4
    assert in_threads([delayed(blas_threads)()], None, verbose=False, label="") == [before]
    assert blas_threads() == before


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
