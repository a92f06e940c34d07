"""A bar on long work, for those who asked for one, and independent jobs in threads."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.parallel import Parallel
from threadpoolctl import ThreadpoolController, threadpool_limits

Item = TypeVar("Item")
FEW = 1_000_000  # values of a table: trees of fewer grow faster in one thread than in two


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


def in_threads(jobs: list[Any], n_jobs: int | None, verbose: bool, label: str) -> list[Any]:
    """Results of delayed ``jobs``, in order; a progress bar called ``label`` if ``verbose``."""
    # several threads that each multiply matrices in several threads stall each other
    with nullcontext() if n_jobs in (None, 1) else threadpool_limits(1, user_api="blas"):
        results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(jobs)
        return list(counted(results, len(jobs), verbose, label))


def one_thread_for_few(X: Any) -> AbstractContextManager[Any]:
    """Grow trees of a small array in one thread: several wait for each other more than they work.

    On a busy machine they wait many times as long.
    """
    is_small = isinstance(X, np.ndarray) and X.size < FEW
    return _pools().limit(limits=1, user_api="openmp") if is_small else nullcontext()


@cache  # to look for them takes longer than a small tree
def _pools() -> ThreadpoolController:
    return ThreadpoolController()
