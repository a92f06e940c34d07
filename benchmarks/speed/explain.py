"""CPU seconds of `plcp calibrate`: the fit, and the explanation of its groups, by columns.

python -m benchmarks.speed.explain [--rows 2000] [--columns 16 50 250 500 2000]
"""

import argparse
import time
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from benchmarks.shared import save

from plcp.explain import explain_groups
from plcp.tables import calibrate, calibration, choose_roles

COLUMNS = (16, 50, 250, 500, 2_000)
ROWS_OF_16 = 6_000  # beside the rows of all widths


def table(n: int, d: int, seed: int = 0) -> pa.Table:
    """Three columns that decide the noise, among numbers, whole numbers and categories."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scale = 1 + np.abs(X[:, 0]) + 2 * (X[:, 1] > 0) * (X[:, 2] > 0)
    columns: dict[str, Any] = {f"x{i}": X[:, i] for i in range(d)}
    for i in range(3, d, 4):
        columns[f"x{i}"] = rng.choice([*"abcdefgh"], n)
    for i in range(4, d, 4):
        columns[f"x{i}"] = np.round(20 * X[:, i]).astype(int)
    return pa.table({**columns, "predicted": np.zeros(n), "y": scale * rng.normal(size=n)})


def measure(n: int, d: int) -> dict[str, float]:
    """CPU seconds of all threads for one calibration, and the predictions of its explanation."""
    data = table(n, d)
    roles = choose_roles(data.column_names, target="y", prediction="predicted")
    explaining = {"seconds": 0.0, "predictions": 0}

    def timed(rule: Any, X: Any, **options: Any) -> Any:
        groups = rule.groups

        def counted(rows: Any) -> Any:
            explaining["predictions"] += 1
            return groups(rows)

        start = time.process_time()
        with mock.patch.object(rule, "groups", counted):
            words = explain_groups(rule, X, **options)
        explaining["seconds"] = time.process_time() - start
        return words

    start = time.process_time()
    with mock.patch.object(calibration, "explain_groups", timed):
        model = calibrate(data, roles)
    total = time.process_time() - start
    fit = total - explaining["seconds"]
    return {
        "rows": n,
        "columns": d,
        "groups": len(model.groups_table()),
        "calibrate_cpu_seconds": total,
        "fit_cpu_seconds": fit,
        "explain_cpu_seconds": explaining["seconds"],
        "explain_over_fit": explaining["seconds"] / fit,
        "predictions": explaining["predictions"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    options = parser.parse_args()
    results = []
    for n, d in [(ROWS_OF_16, 16), *((options.rows, d) for d in options.columns)]:
        results.append(measure(n, d))
        print(results[-1], flush=True)
    save("speed/explain", "calibrate", results)


if __name__ == "__main__":
    main()
