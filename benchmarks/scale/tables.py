"""Tables of what was measured at scale, and of sizes that were not measured."""

from typing import Any

from benchmarks.scale.data import FEATURES, N_TEST
from benchmarks.scale.laws import (
    WORKERS,
    growth,
    megabytes,
    megabytes_law,
    power,
    rate,
    ratio_without_making,
    seconds,
    seconds_law,
    total_seconds,
)
from benchmarks.scale.rules import RULES, title
from benchmarks.shared import Records, pick, table, unique

COMPARED = 1_000_000  # rows of the fits that are compared with fits in memory


def summary(fits: Records, memory: Records, predictions: Records) -> str:
    """One row a rule: how time grows, the largest worker, and a fit in memory compared."""
    rows = []
    for rule in unique(fits, "rule"):
        runs = pick(fits, rule=rule)
        time = growth([run["rows"] for run in runs], [run["fit_seconds"] for run in runs])
        largest = max(runs, key=lambda run: run["rows"])
        cells = [f"{time.exponent:.2f} ({time.worst_step:.2f})"]
        cells.append(f"{megabytes(max(largest['worker_megabytes']))} ({power(largest['rows'])})")
        beside = pick(memory, rule=rule, rows=COMPARED)
        cells += [f"{difference(run)} ({RULES[rule].beside})" for run in beside]
        cells += [f"{run['msce_ratio']:.4f}" for run in beside]
        cells += [f"{run['time_ratio']:.2f} ({ratio_without_making(run):.2f})" for run in beside]
        cells += [f"{rate(run, alone=False):,.0f}" for run in pick(predictions, rule=rule)] or ["–"]
        rows.append([title(rule), *cells])
    header = ["", "exponent of time (worst step)", "largest peak of a worker (rows)"]
    header += ["thresholds, compared with those …", "MSCE relative to in memory"]
    header += ["time relative to in memory (without making rows)", "rows predicted per second"]
    return table(header, rows)


def difference(run: dict[str, Any]) -> str:
    """How far the thresholds compared lie apart, of groups and of new rows."""
    if run["same_thresholds"] and run["same_predictions"]:
        return "equal, all bits"
    return f"at most {run['largest_relative_difference']:.2%} apart"


BLOCKS = {10**8: 250_000, 10**9: 1_000_000, 10**10: 4_000_000, 10**11: 4_000_000}  # rows of each
PLANNED = [  # rows, and rows a worker: as many as were measured, and as many as a large machine has
    (rows, each) for rows in BLOCKS for each in (15_000_000, 100_000_000)
]
BYTES = 8 * (FEATURES + 1)  # of a row as it stands in memory
COPIES = 3  # of a block that a worker holds at once
TASK_SECONDS = 1e-3  # of a scheduler's time, about


def tasks(records: Records) -> str:
    """Passes over the rows, and tasks for each block: what a scheduler has to bear."""
    rows = []
    for rule in unique(records, "rule"):
        run = pick(records, rule=rule)[-1]
        cells = [f"{run['passes']:.1f}", f"{tasks_of_a_block(run):.0f}"]
        rows.append([title(rule), power(run["rows"]), *cells])
    return table(["", "rows", "passes over the rows", "tasks for each block"], rows)


def formula(records: Records) -> str:
    """Memory of a worker as base + rows × bytes, with the numbers measured."""
    rows = []
    for rule in unique(records, "rule"):
        runs = pick(records, rule=rule)
        law = megabytes_law(runs)
        warm = max(run["warm_worker_megabytes"] for run in runs)
        rule_size = max(run["rule_megabytes"] for run in runs)
        cells = [megabytes(warm), megabytes(law.fixed), f"{1e6 * law.per_row:.0f} bytes"]
        rows.append([title(rule), *cells, f"{1000 * rule_size:,.0f} kB"])
    header = ["", "after a first small fit", "whatever the rows", "for each row of a worker"]
    return table([*header, "fitted rule"], rows)


def tasks_of_a_block(run: dict[str, Any]) -> float:
    return run["tasks"] / run["blocks"]


def scheduler_seconds(runs: Records, rows: int) -> float:
    """Time of a scheduler for the tasks of all blocks: one process, however many the workers."""
    return TASK_SECONDS * tasks_of_a_block(runs[-1]) * -(-rows // BLOCKS[rows])


def peak_megabytes(runs: Records, rows: int, workers: int) -> float:
    """Peak of a worker by what was measured, and what its larger blocks add."""
    measured = runs[-1]["rows"] / runs[-1]["blocks"]
    larger = COPIES * BYTES * max(BLOCKS[rows] - measured, 0) / 1e6
    return megabytes_law(runs).at(rows, workers) + larger


def plan(records: Records) -> str:
    """Sizes that were not measured: fixed costs and costs for each row, from those that were."""
    header = ["rows (extrapolated)", "workers", "rows in memory would be", "a block"]
    rules = unique(records, "rule")
    for rule in rules:
        header += [f"{title(rule)}: fit", "and the scheduler", "a worker's peak"]
    rows = []
    for n, each in PLANNED:
        workers = max(WORKERS, -(-n // each))
        cells = [power(n), f"{workers:,}", f"{n * BYTES / 1e9:,.0f} GB"]
        cells.append(f"{BLOCKS[n]:,} rows, {megabytes(BLOCKS[n] * BYTES / 1e6)}")
        for rule in rules:
            runs = pick(records, rule=rule)
            cells.append(seconds(seconds_law(runs).at(n, workers)))
            cells.append(seconds(scheduler_seconds(runs, n)))
            cells.append(megabytes(peak_megabytes(runs, n, workers)))
        rows.append(cells)
    return table(header, rows)


def fits(records: Records) -> str:
    """Every rule at every size."""
    header = ["", "rows", "fit", "passes", "one pass without learning", "peak of a worker"]
    header += ["peak of client and scheduler", "MSCE", "of Split's"]
    rows = []
    for run in sorted(records, key=lambda run: list(unique(records, "rule")).index(run["rule"])):
        split = pick(records, rule="split", rows=run["rows"])
        rows.append(
            [
                title(run["rule"]),
                power(run["rows"]),
                seconds(run["fit_seconds"]),
                f"{run['passes']:.1f}",
                seconds(run["pass_seconds"]),
                megabytes(max(run["worker_megabytes"])),
                megabytes(run["client_megabytes"]),
                f"{run['msce']:.2e}",
                f"{run['msce'] / split[0]['msce']:.3f}" if split else "–",
            ]
        )
    return table(header, rows)


def growths(records: Records) -> str:
    """How time and memory grow with n."""
    rows = []
    for rule in unique(records, "rule"):
        runs = pick(records, rule=rule)
        n = [run["rows"] for run in runs]
        if len(n) < 2:
            continue
        time = growth(n, [run["fit_seconds"] for run in runs])
        peak = growth(n, [max(run["worker_megabytes"]) for run in runs])
        cells = [f"{value:.2f}" for value in (*time, *peak)]
        rows.append([title(rule), *cells])
    header = ["exponent of n", "time", "time, worst step", "memory", "memory, worst step"]
    return table(header, rows)


def beside_memory(records: Records) -> str:
    """Dask and memory on the same rows."""
    header = ["", "rows", "Dask", "memory", "ratio", "… without making rows"]
    header += ["thresholds (and those)", "MSCE ratio", "peak of a worker", "peak in memory"]
    rows = [
        [
            title(run["rule"]),
            power(run["rows"]),
            seconds(run["dask"]["fit_seconds"]),
            seconds(run["memory"]["fit_seconds"]),
            f"{run['time_ratio']:.2f}",
            f"{ratio_without_making(run):.2f}",
            f"{difference(run)} ({RULES[run['rule']].beside})",
            f"{run['msce_ratio']:.4f}",
            megabytes(max(run["dask"]["worker_megabytes"])),
            megabytes(run["memory"]["megabytes"]),
        ]
        for run in records
    ]
    return table(header, rows)


def predictions(records: Records) -> str:
    header = ["", "rows", "rows per second", "… without making them", "peak of a worker"]
    rows = [
        [
            title(run["rule"]),
            power(run["rows"]),
            f"{rate(run, alone=False):,.0f}",
            f"{rate(run, alone=True):,.0f}",
            megabytes(max(run["worker_megabytes"])),
        ]
        for run in records
    ]
    return table(header, rows)


def beside_rivals(records: Records) -> str:
    """In memory, one process each; a cost that was not waited for is marked."""
    header = ["", "rows", "fit", "a prediction", f"{N_TEST:,} predictions", "peak of the process"]
    header += ["MSCE (95 % interval)", "MSCE of the first", "exponent of fit and predictions"]
    rows = []
    for rule in unique(records, "rule"):
        runs = pick(records, rule=rule)
        n, times = [run["rows"] for run in runs], [total_seconds(run) for run in runs]
        exponent = f"{growth(n, times).exponent:.2f}" if len(n) > 1 else "–"
        for run in runs:
            each = run["predict_seconds"] / run["points"]
            guess = "" if run["points"] == N_TEST else f" (extrapolated from {run['points']})"
            rows.append(
                [
                    title(rule),
                    power(run["rows"]),
                    seconds(run["fit_seconds"]),
                    f"{1e6 * each:,.1f} µs",
                    seconds(each * N_TEST) + guess,
                    megabytes(run["megabytes"]),
                    f"{run['msce']:.2e} ({run['msce_low']:.1e} to {run['msce_high']:.1e})",
                    f"{run['few']}: {run['msce_of_few']:.2e}",
                    exponent if run is runs[-1] else "",
                ]
            )
    return table(header, rows)
