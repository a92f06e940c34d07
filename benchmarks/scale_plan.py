"""What a scheduler and a worker have to bear, and what sizes nobody measured would take."""

from drawing import Records, pick, table, unique
from scale_data import FEATURES
from scale_laws import WORKERS, megabytes_law, seconds_law
from scale_rules import title
from scale_words import megabytes, power, seconds

PLANNED = [  # rows, and rows a worker: as many as were measured, and as many as a large machine has
    (rows, each) for rows in (10**8, 10**9, 10**10, 10**11) for each in (15_000_000, 100_000_000)
]
BYTES = 8 * (FEATURES + 1)  # of a row as it stands in memory


def tasks(records: Records) -> str:
    """Passes over the rows, and tasks for each block: what a scheduler has to bear."""
    rows = []
    for rule in unique(records, "rule"):
        run = pick(records, rule=rule)[-1]
        cells = [f"{run['passes']:.1f}", f"{run['tasks'] / run['blocks']:.0f}"]
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


def plan(records: Records) -> str:
    """Sizes nobody measured: fixed costs and costs for each row, from those that were."""
    header = ["rows (extrapolated)", "workers", "rows in memory would be"]
    rules = unique(records, "rule")
    for rule in rules:
        header += [f"{title(rule)}: fit", "a worker's peak"]
    rows = []
    for n, each in PLANNED:
        workers = max(WORKERS, -(-n // each))
        cells = [power(n), f"{workers:,}", f"{n * BYTES / 1e9:,.0f} GB"]
        for rule in rules:
            runs = pick(records, rule=rule)
            cells.append(seconds(seconds_law(runs).at(n, workers)))
            cells.append(megabytes(megabytes_law(runs).at(n, workers)))
        rows.append(cells)
    return table(header, rows)
