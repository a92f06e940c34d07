"""A bar on long work, for those who asked for one, and independent jobs in threads."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, TypeVar

from sklearn.utils.parallel import Parallel
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")


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
