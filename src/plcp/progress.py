"""Independent jobs in threads, with a bar for those who asked for one."""

from typing import Any

from sklearn.utils.parallel import Parallel


def in_threads(jobs: list[Any], n_jobs: int | None, verbose: bool, label: str) -> list[Any]:
    """Results of delayed ``jobs``, in order; a progress bar called ``label`` if ``verbose``."""
    results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(jobs)
    if not verbose:
        return list(results)
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "verbose=True shows a progress bar with tqdm: pip install 'plcp[progress]'"
        ) from error
    return list(tqdm(results, total=len(jobs), desc=label))
