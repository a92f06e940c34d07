"""Independent jobs in threads, as many as are worth it, and a progress bar."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from math import prod
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from joblib import Parallel, cpu_count, delayed
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
FEW = 1_000_000  # values of a table: trees of fewer grow faster in one thread than in two
MANY = 50_000_000  # 400 MB, of which several folds at once would each hold a copy
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

    with one_thread_for_matrices() if len(jobs) > 1 else nullcontext():
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        results = parallel(delayed(done)(job) for job in jobs)
        return list(counted(results, len(jobs), verbose, label))


@contextmanager
def one_thread_for_matrices() -> Iterator[None]:
    """Multiply matrices in one thread: several may add in another order, and wait for each other.

    The limit holds for the whole process, and the thread that has set it is the one to lift it: a
    second to come finds it set.
    """
    if not _LIMITED.acquire(blocking=False):
        yield
        return
    try:
        with _pools().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITED.release()


@contextmanager
def threads_for(X: Any, estimator: Any) -> Iterator[None]:
    """Let an estimator that learns or predicts have as many threads as X is worth, and are free.

    Threads of OpenMP wait for each other in a loop, and matrix products do as well: on a busy
    machine they use ten times the processor time of one thread. Estimators of this package and of
    scikit-learn use one thread up to ``MANY`` values, so that results do not depend on the number
    of threads; folds are fitted side by side instead (``jobs_for``). Above, boosted trees have the
    cores that are free. Others, networks among them, are limited below ``FEW`` values alone, and
    those with ``n_jobs`` never: they share out their threads themselves. Nor are fitted lines,
    which predict a row in less time than a limit takes.
    """
    values, ours = _count_values(X), _is_ours(estimator)
    apart = hasattr(estimator, "n_jobs") or hasattr(estimator, "coef_")
    if values is None or apart or (values >= FEW and not ours):
        yield
    elif values >= MANY:
        with _pools().limit(limits=free_threads(), user_api="openmp"):
            yield
    else:
        with one_thread_for_matrices(), _pools().limit(limits=1, user_api="openmp"):
            yield


def jobs_for(X: Any, estimator: Any, n_jobs: int | None) -> int | None:
    """``n_jobs``; if None, as many as a table of this size is worth and cores are free."""
    values = _count_values(X)
    shares = hasattr(estimator, "n_jobs")
    if n_jobs is not None or values is None or shares or not _is_ours(estimator):
        return n_jobs
    return free_threads() if FEW <= values < MANY else None


def free_threads() -> int:
    """Cores that this process may use (affinity, limits of its container) and no other one does.

    Never more than OpenMP was limited to, by OMP_NUM_THREADS or by a caller.
    """
    pools = _pools().select(user_api="openmp").lib_controllers
    allowed = max((pool.num_threads for pool in pools), default=cpu_count())
    return max(1, min(cpu_count() - _busy(), allowed))


def _busy() -> int:
    """Threads of other processes that run at this moment, or did in the last minute on average."""
    try:
        running = Path("/proc/loadavg").read_text().split()[3].partition("/")[0]
        return int(running) - 1  # this one
    except OSError:
        return round(os.getloadavg()[0]) - 1 if hasattr(os, "getloadavg") else 0


def _is_ours(estimator: Any) -> bool:
    """Whether it belongs to this package or to scikit-learn, and is no network."""
    module = type(estimator).__module__
    is_network = module.startswith("plcp.partitions.torch")
    return module.startswith(("plcp.", "sklearn.")) and not is_network


def _count_values(X: Any) -> int | None:
    """Number of values of a table; None where that is not known without reading it."""
    shape: Any = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or not all(isinstance(size, int) for size in shape):
        return None
    return int(prod(shape))


def _pools() -> ThreadpoolController:
    """Pools of threads, found again once a library with threads of its own has been imported."""
    return _pools_beside(tuple(name in sys.modules for name in ("lightgbm", "torch", "xgboost")))


@cache  # to find them takes longer than a small tree
def _pools_beside(_: tuple[bool, ...]) -> ThreadpoolController:
    return ThreadpoolController()
