"""One measurement of scale in a process of its own: its options and its results are JSON.

python -m benchmarks.scale.jobs '{"job": "fit", "rule": "split", "rows": 100000, "repeats": 3}'
"""

import hashlib
import json
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from benchmarks.scale.data import collections, new_rows, rows_made, through, whole
from benchmarks.scale.rules import ALPHA, RIVALS, RULES
from benchmarks.shared import peak_megabytes
from dask.base import compute
from distributed import Client, LocalCluster
from distributed.diagnostics.plugin import SchedulerPlugin

from plcp.metrics import msce
from plcp.out_of_core.samples import in_hash_order

WORKERS = 2
WARM = 4_000  # rows of a fit before the one that counts: imports and threads are there then


@contextmanager
def local_cluster(processes: bool = True) -> Iterator[Client]:
    """Two workers of one thread each; the scheduler lives in this process."""
    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            processes=processes,
            dashboard_address="127.0.0.1:0",  # any free port: another cluster may be up
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def timed(action: Callable[[], Any], repeats: int = 1) -> tuple[Any, list[float]]:
    """Return the last result, and the seconds of every repeat."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = action()
        seconds.append(time.perf_counter() - start)
    return result, seconds


def judged(q: np.ndarray, covered: np.ndarray) -> dict[str, Any]:
    """Exact conditional coverage error of thresholds of new rows, with its 95 % interval."""
    error = msce(covered, ALPHA)
    return {
        "msce": float(error),
        "msce_low": float(error.low),
        "msce_high": float(error.high),
        "coverage": float(covered.mean()),
        "points": len(q),
        "digest": hashlib.sha256(np.ascontiguousarray(q).tobytes()).hexdigest()[:16],
    }


def predict_and_judge(
    rule: Any, points: int, keep: str | None = None, few: int = 0
) -> dict[str, Any]:
    """Predict thresholds of new rows and judge them; all of them, and the first.

    They are kept in a file if one is named.
    """
    new = new_rows(points)
    q, (seconds,) = timed(lambda: rule.predict(new.X))
    if keep:
        np.save(keep, q)
    covered = new.conditional_coverage(q)
    first = {"few": few, "msce_of_few": float(msce(covered[:few], ALPHA))} if few else {}
    return {"predict_seconds": seconds, **judged(q, covered), **first}


def levels(rule: Any) -> list[float]:
    """Thresholds of the groups, or the one threshold."""
    return np.atleast_1d(getattr(rule, "thresholds_", getattr(rule, "threshold_", None))).tolist()


class Finished(SchedulerPlugin):
    """Counts tasks that were done."""

    count = 0

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        self.count += start == "processing" and finish == "memory"


def rows_made_by_all(client: Client) -> int:
    # by process: workers that are threads share one count
    return sum(dict(client.run(rows_made).values()).values())


def fit(
    client: Client, rule: str, rows: int, repeats: int, points: int, keep: str | None = None
) -> dict[str, Any]:
    """Fit on the cluster: seconds, peak memory of every worker and here, what was learned."""
    make, finished = RULES[rule].on_dask, Finished()
    make().fit(*collections(min(rows, WARM)))
    warm, before = client.run(peak_megabytes), rows_made_by_all(client)
    client.cluster.scheduler.add_plugin(finished)
    fitted, seconds = timed(lambda: make().fit(*collections(rows)), repeats)
    workers, own = client.run(peak_megabytes), peak_megabytes()
    passes = (rows_made_by_all(client) - before) / (rows * repeats)
    tasks = finished.count / repeats
    _, alone = timed(lambda: compute(*through(*collections(rows))), repeats)
    local = fitted.to_local()
    return {
        "fit_seconds": min(seconds),
        "all_seconds": seconds,
        "pass_seconds": min(alone),
        "passes": passes,
        "blocks": collections(rows)[1].npartitions,
        "tasks": tasks,
        "warm_worker_megabytes": max(warm.values()),
        "worker_megabytes": sorted(workers.values()),
        "client_megabytes": own,
        "rule_megabytes": len(pickle.dumps(local)) / 1e6,
        "thresholds": levels(local),
        **predict_and_judge(local, points, keep),
    }


def memory(rule: str, rows: int, repeats: int, points: int, keep: str | None = None) -> Any:
    """Fit in memory on the same rows, in the order of their hashes.

    Time and error are those of the ordinary rule. A rule that has other folds in memory gives the
    thresholds of the rule on Dask when it is given the arrays, without a cluster.
    """
    make, (X, y) = RULES[rule].in_memory, in_hash_order(*whole(rows))
    make().fit(X[:WARM], y[:WARM])
    fitted, seconds = timed(lambda: make().fit(X, y), repeats)
    found = {"fit_seconds": min(seconds), "all_seconds": seconds, "megabytes": peak_megabytes()}
    found |= predict_and_judge(fitted, points, keep)
    if RULES[rule].other_folds:
        fitted = RULES[rule].on_dask().fit(X, y).to_local()
        predict_and_judge(fitted, points, keep)
    return {**found, "thresholds": levels(fitted)}


def predict(client: Client, rule: str, rows: int, repeats: int, taught: int) -> dict[str, Any]:
    """Lazy thresholds summed block by block, and the same blocks only made and read."""
    fitted = RULES[rule].on_dask().fit(*collections(taught))
    fitted.predict(collections(min(rows, WARM))[0]).sum().compute()
    _, passes = timed(lambda: compute(*through(*collections(rows))), repeats)
    _, seconds = timed(lambda: fitted.predict(collections(rows)[0]).sum().compute(), repeats)
    return {
        "taught": taught,
        "seconds": min(seconds),
        "pass_seconds": min(passes),
        "worker_megabytes": sorted(client.run(peak_megabytes).values()),
    }


def rival(rule: str, rows: int, points: int, few: int) -> dict[str, Any]:
    """Fit and predict in memory, a rival or a rule of ours."""
    make = RIVALS[rule] if rule in RIVALS else RULES[rule].in_memory
    X, y = whole(rows)
    warm = make().fit(X[:1000], y[:1000])
    warm.predict(X[:2])
    fitted, (seconds,) = timed(lambda: make().fit(X, y))
    found = predict_and_judge(fitted, points, few=few)
    return {"fit_seconds": seconds, **found, "megabytes": peak_megabytes()}


ON_A_CLUSTER = {"fit": fit, "predict": predict}
IN_MEMORY = {"memory": memory, "rival": rival}


def run(job: str, client: Client | None = None, **options: Any) -> dict[str, Any]:
    """Do one measurement, on the workers of a client where it needs them."""
    found = IN_MEMORY[job](**options) if job in IN_MEMORY else ON_A_CLUSTER[job](client, **options)
    return {"rule": options["rule"], "rows": options["rows"], **found}


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    with local_cluster() if options["job"] in ON_A_CLUSTER else nullcontext() as workers:
        # before the cluster is closed, which may fail: that would not undo a measurement
        print(json.dumps(run(client=workers, **options)), flush=True)
