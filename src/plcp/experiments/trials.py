"""Trials of an experiment, as many at once as are wanted, each kept as soon as it is finished."""

import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from plcp.experiments.experiment import Experiment, Record, Settings
from plcp.experiments.ledger import Ledger, plain
from plcp.experiments.provenance import versions
from plcp.progress import counted

# what belongs to the whole process: limits of threads, warnings, torch's random numbers
_PROCESS = Lock()


def run_trials(
    experiment: Experiment,
    settings: Settings,
    seeds: Sequence[int],
    ledger: Ledger,
    data_dir: Path | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> list[Record]:
    """Records of these seeds in order: those in the ledger as they are, the others run and added.

    Trials are joblib tasks, so ``joblib.parallel_config(backend="dask")`` or Ray's backend spreads
    them over machines; only the process that calls writes to the ledger. Workers should be
    processes: those that are threads of one process take turns.
    """
    with ledger.opened():
        done = ledger.of(settings)
        left = [seed for seed in seeds if seed not in done]
        jobs = [delayed(run_trial)(experiment, settings, seed, data_dir) for seed in left]
        # none waits in a queue, where workers would find it even after this process was killed
        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs")
        shown, before = verbose and bool(left), len(seeds) - len(left)
        for record in counted(workers(jobs), len(seeds), shown, experiment.name, before):
            ledger.append(record)
            done[record["seed"]] = record
    return [done[seed] for seed in seeds]


def run_trial(
    experiment: Experiment, settings: Settings, seed: int, data_dir: Path | None
) -> Record:
    """One trial, on one thread: so its results do not depend on how many run beside it."""
    with _PROCESS, threadpool_limits(1):
        start = time.perf_counter()
        results = experiment.run(settings, seed, data_dir)
        seconds = round(time.perf_counter() - start, 3)
    return plain(
        {
            "experiment": experiment.name,
            "seed": seed,
            "settings": settings,
            "versions": versions(),
            "seconds": seconds,
            "results": results,
        }
    )
