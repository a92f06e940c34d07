"""Jobs in threads: in order, and no pool of threads within another."""

import numpy as np
import pytest
from sklearn.utils.parallel import delayed
from threadpoolctl import threadpool_info

from plcp.progress import in_threads


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
