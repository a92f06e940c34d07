"""The command on large files: speed as a share of copying them, peak memory, time to start.

python -m benchmarks.speed.cli [start apply audit]   # apply writes 4 GB below --work
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.shared import save, watched_megabytes

from plcp.datasets import make_nonlinear

PLCP = str(Path(sys.executable).with_name("plcp"))
BATCH = 500_000
# copies without any work between: as pyarrow does by itself, and as our reader and writer do
COPY = """
import sys
import pyarrow.parquet as pq
with pq.ParquetFile(sys.argv[1]) as old, pq.ParquetWriter(sys.argv[2], old.schema_arrow) as new:
    for batch in old.iter_batches():
        new.write_batch(batch)
"""
OWN_COPY = """
import sys
from plcp.tables.io import create_table, open_table
old = open_table(sys.argv[1])
with create_table(sys.argv[2], old.schema, force=True) as new:
    for batch in old.batches():
        new.write(batch)
"""


class Run(NamedTuple):
    """What a command took."""

    seconds: float
    megabytes: float


def run(*command: str | Path) -> Run:
    """Time a command, and the most memory it held."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    with ThreadPoolExecutor(1) as beside:
        peak = beside.submit(watched_megabytes, process.pid)
        error = process.communicate()[1]
        seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}: {error.decode()}")
    return Run(seconds, peak.result())


def table(n: int, seed: int) -> pa.Table:
    """Twenty columns: sixteen numbers, a date, two of text, a prediction; and the outcome."""
    rng = np.random.default_rng(seed)
    task = make_nonlinear(n, random_state=seed)
    columns = {f"x{i}": task.X[:, i] for i in range(16)}
    columns["joined"] = np.datetime64("2020-01-01") + rng.integers(0, 1500, n).astype("m8[D]")
    columns["state"] = rng.choice(["CA", "NY", "TX", "FL", "PA", "IL", "OH"], n)
    columns["job"] = rng.choice([f"job {i}" for i in range(40)], n)
    columns["predicted"] = rng.normal(scale=0.1, size=n)  # a model that nearly knows the mean
    return pa.table({**columns, "y": task.y})


def start(repeats: int = 9) -> dict[str, float]:
    """Seconds to the first word, beside an interpreter that does nothing."""
    helps = [run(PLCP, "--help").seconds for _ in range(repeats)]
    bare = [run(sys.executable, "-c", "pass").seconds for _ in range(repeats)]
    return {
        "help_seconds": statistics.median(helps),
        "help_least_seconds": min(helps),
        "python_seconds": statistics.median(bare),
    }


def apply(work: Path, rows: int, repeats: int) -> dict[str, object]:
    """`apply` beside an unprocessed copy by the same library, in turns."""
    pq.write_table(table(20_000, 0), work / "cal.parquet")
    big = work / "new.parquet"
    with pq.ParquetWriter(big, table(1, 1).drop_columns(["y"]).schema) as writer:
        for i in range(0, rows, BATCH):
            writer.write_table(table(min(BATCH, rows - i), 2 + i).drop_columns(["y"]))
    found: dict[str, object] = {"rows": rows, "file_megabytes": big.stat().st_size / 1e6}
    columns = ("--target", "y", "--prediction", "predicted")
    for method in ("plcp", "split"):
        model = work / f"{method}.plcp"
        calibrate = "calibrate", work / "cal.parquet", *columns, "--method", method, "-o", model
        taught = run(PLCP, *calibrate, "--force")
        copies, own, applies = [], [], []
        for _ in range(repeats):
            copies.append(run(sys.executable, "-c", COPY, big, work / "copy.parquet"))
            own.append(run(sys.executable, "-c", OWN_COPY, big, work / "copy.parquet"))
            applies.append(run(PLCP, "apply", model, big, "-o", work / "out.parquet", "--force"))
        copied, our_copy, applied = (
            min(one.seconds for one in runs) for runs in (copies, own, applies)
        )
        found[method] = {
            "calibrate_seconds": taught.seconds,
            "rows_per_second": rows / applied,
            "copy_rows_per_second": rows / copied,
            "own_copy_rows_per_second": rows / our_copy,
            "share_of_copying_speed": copied / applied,
            "share_of_own_copying_speed": our_copy / applied,
            "peak_megabytes": max(one.megabytes for one in applies),
            "copy_peak_megabytes": max(one.megabytes for one in copies),
        }
    return found


def audit(work: Path, rows: int = 1_000_000) -> dict[str, float]:
    """Seconds and memory to audit a million rows, page included."""
    data = table(rows, 5)
    half = np.quantile(np.abs(data["y"].to_numpy()), 0.9)
    data = data.append_column("lo", pa.array(np.full(rows, -half)))
    pq.write_table(data.append_column("hi", pa.array(np.full(rows, half))), work / "sets.parquet")
    ends = ("--target", "y", "--lower", "lo", "--upper", "hi", "--by", "state,x0:5")
    done = run(PLCP, "audit", work / "sets.parquet", *ends, "-o", work / "audit.html", "--force")
    page = (work / "audit.html").stat().st_size / 1e6
    return {"rows": rows, "columns": 20, **done._asdict(), "page_megabytes": page}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["start", "apply", "audit"])
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        work = Path(folder)
        parts = {
            "start": start,
            "apply": lambda: apply(work, options.rows, options.repeats),
            "audit": lambda: audit(work),
        }
        for name in options.parts:
            results = parts[name]()
            print(name, results, flush=True)
            save("speed/cli", name, results)


if __name__ == "__main__":
    main()
