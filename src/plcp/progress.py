"""A bar on long work, for those who asked for one, and independent jobs in threads."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController, threadpool_limits

Item = TypeVar("Item")
FEW = 1_000_000  # values of a table: trees of fewer grow faster in one thread than in two
_LIMITED = Lock()


def counted(
    items: Iterable[Item], total: int, verbose: bool, label: str, done: int = 0
) -> Iterable[Item]:
    """Return ``items``, with a bar called ``label`` if ``verbose``; ``done`` came before them."""
    if not verbose:
        return items
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "verbose=True shows a progress bar with tqdm: pip install 'plcp[progress]'"
        ) from error
    return tqdm(items, total=total, desc=label, initial=done)


def in_threads(
    jobs: Iterable[Callable[[], Item]], n_jobs: int | None, verbose: bool, label: str
) -> list[Item]:
    """Results of ``jobs``, in order; a progress bar called ``label`` if ``verbose``.

    scikit-learn's own ``Parallel`` puts filters of warnings in place around every job, and out of
    place where several threads do so at once.
    """
    config, jobs = get_config(), list(jobs)

    def done(job: Callable[[], Item]) -> Item:
        with config_context(**config):
            return job()

    with nullcontext() if n_jobs in (None, 1) else _one_thread_for_matrices():
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        results = parallel(delayed(done)(job) for job in jobs)
        return list(counted(results, len(jobs), verbose, label))


@contextmanager
def _one_thread_for_matrices() -> Iterator[None]:
    """Several threads that each multiply matrices in several threads stall each other.

    Who comes while another has limited the process finds it done, and leaves it to him to undo it:
    restored by each in turn, it would end as the last had found it.
    """
    if not _LIMITED.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        _LIMITED.release()


def one_thread_for_few(X: Any) -> AbstractContextManager[Any]:
    """Grow trees of a small array in one thread: several wait for each other more than they work.

    On a busy machine they wait many times as long.
    """
    is_small = isinstance(X, np.ndarray) and X.size < FEW
    return _pools().limit(limits=1, user_api="openmp") if is_small else nullcontext()


@cache  # to look for them takes longer than a small tree
def _pools() -> ThreadpoolController:
    return ThreadpoolController()
