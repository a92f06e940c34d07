"""Trials of an experiment, as many at once as are wanted, each kept as soon as it is finished."""

import time
from collections.abc import Sequence
from pathlib import Path

from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from plcp.experiments.experiment import Experiment, Record, Settings
from plcp.experiments.ledger import Ledger, plain
from plcp.experiments.provenance import versions
from plcp.progress import counted


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
    them over machines; only the process that calls writes to the ledger.
    """
    with ledger.opened():
        done = ledger.of(settings)
        left = [seed for seed in seeds if seed not in done]
        jobs = [delayed(run_trial)(experiment, settings, seed, data_dir) for seed in left]
        finished = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs)
        for record in counted(finished, len(left), verbose and bool(left), experiment.name):
            ledger.append(record)
            done[record["seed"]] = record
    return [done[seed] for seed in seeds]


def run_trial(
    experiment: Experiment, settings: Settings, seed: int, data_dir: Path | None
) -> Record:
    """One trial, on one thread: so its results do not depend on how many run beside it."""
    start = time.perf_counter()
    with threadpool_limits(1):
        results = experiment.run(settings, seed, data_dir)
    return plain(
        {
            "experiment": experiment.name,
            "seed": seed,
            "settings": settings,
            "versions": versions(),
            "seconds": round(time.perf_counter() - start, 3),
            "results": results,
        }
    )
