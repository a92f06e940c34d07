"""What a scheduler and a worker have to bear, and what sizes nobody measured would take."""

from typing import Any

from drawing import Records, pick, table, unique
from scale_data import FEATURES
from scale_laws import WORKERS, megabytes_law, seconds_law
from scale_rules import title
from scale_words import megabytes, power, seconds

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
    """Sizes nobody measured: fixed costs and costs for each row, from those that were."""
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
