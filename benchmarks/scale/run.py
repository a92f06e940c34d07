"""Time and memory against the number of rows, on two workers, beside memory and beside rivals.

Parts, each kept in results/scale.json with the commit it was measured on: ``fit`` (four rules
on Dask, from 10^5 to 3·10^7 rows), ``memory`` (the same rules in memory, in turns with Dask),
``predict`` (rows a second) and ``rivals``. Every measurement is a process of its own. The table
and the plot beside it, and the numbers in docs/explanation/scale.md, are drawn at the end.

    pip install -e '.[bench,rivals]' -c constraints.txt
    python -m benchmarks.scale.run [--part fit --part memory …] [--quick] [--out FOLDER]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.scale.data import N_TEST
from benchmarks.scale.page import RESULTS, draw, load, plot, results_page
from benchmarks.scale.rules import RIVALS, RULES
from benchmarks.shared import ROOT, provenance

PACKAGES = ("dask", "distributed", "lightgbm", "mapie", "crepes")
ONCE = 1_000_000  # rows above which one measurement must do


class Sizes(NamedTuple):
    """How many rows each part goes through."""

    fit: tuple[int, ...]
    memory: tuple[int, ...]
    predict: dict[str, int]
    taught: int
    # a program for every new row: few rows must show how long many take
    mapie_points: dict[int, int]
    points: int


FULL = Sizes(
    fit=(100_000, 1_000_000, 10_000_000, 30_000_000),
    memory=(100_000, 1_000_000),
    predict={"linear": 10_000_000, "default": 3_000_000, "lightgbm": 3_000_000},
    taught=1_000_000,
    mapie_points={10_000: 500, 30_000: 200, 100_000: 60},
    points=N_TEST,
)
QUICK = Sizes(
    fit=(4_000, 8_000),
    memory=(4_000,),
    predict=dict.fromkeys(("linear", "default", "lightgbm"), 8_000),
    taught=4_000,
    mapie_points={1_000: 5, 2_000: 5},
    points=500,
)


def measured(job: str, **options: Any) -> dict[str, Any]:
    """Do one measurement in a process of its own: what it printed counts, however it ended."""
    request = json.dumps({"job": job, **options})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale.jobs", request],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not found:
        raise RuntimeError(f"{request} ended with {done.returncode}: {done.stderr}")
    return json.loads(found[-1])


def repeats(rows: int) -> int:
    return 3 if rows <= ONCE else 1


def fit(sizes: Sizes) -> Iterator[dict[str, Any]]:
    for rows in sizes.fit:
        for rule in RULES:
            yield measured("fit", rule=rule, rows=rows, repeats=repeats(rows), points=sizes.points)


def memory(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Dask and memory in turns; how far their thresholds of new rows lie apart."""
    for rows in sizes.memory:
        for rule in RULES:
            with tempfile.TemporaryDirectory() as folder:
                files = {job: f"{folder}/{job}.npy" for job in ("fit", "memory")}
                options = {"rule": rule, "rows": rows, "points": sizes.points}
                options["repeats"] = repeats(rows)
                on_dask, held = (measured(job, keep=files[job], **options) for job in files)
                q, own = (np.load(file) for file in files.values())
            yield {
                "rule": rule,
                "rows": rows,
                "dask": on_dask,
                "memory": held,
                "time_ratio": on_dask["fit_seconds"] / held["fit_seconds"],
                "msce_ratio": on_dask["msce"] / held["msce"],
                "same_thresholds": on_dask["thresholds"] == held["thresholds"],
                "same_predictions": bool(np.array_equal(q, own)),
                "largest_relative_difference": float(np.max(np.abs(q / own - 1))),
            }


def predict(sizes: Sizes) -> Iterator[dict[str, Any]]:
    for rule, rows in sizes.predict.items():
        yield measured("predict", rule=rule, rows=rows, repeats=3, taught=sizes.taught)


def rivals(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Rivals, and ours in memory, on the same rows."""
    for rows, few in sizes.mapie_points.items():
        for rule in (*RIVALS, "default", "linear"):
            points = few if rule == "mapie" else sizes.points
            yield measured("rival", rule=rule, rows=rows, points=points, few=few)


PARTS = {"fit": fit, "memory": memory, "predict": predict, "rivals": rivals}


def surroundings() -> dict[str, Any]:
    """Commit, versions, day and cores of a run."""
    here = provenance()
    here["versions"] |= {package: version(package) for package in PACKAGES if find_spec(package)}
    return {**here, "date": f"{datetime.now(UTC):%Y-%m-%d}", "cores": os.cpu_count()}


def save(folder: Path, part: str, records: list[dict[str, Any]]) -> None:
    """Put what a part has measured so far beside the other parts."""
    path = folder / "scale.json"
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    content[part] = {"provenance": surroundings(), "results": records}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=list(PARTS), help="all by default")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument(
        "--out", type=Path, help="benchmarks/scale/results, a new folder with --quick"
    )
    options = parser.parse_args(arguments)
    folder = options.out or (Path(tempfile.mkdtemp()) if options.quick else RESULTS)
    folder.mkdir(parents=True, exist_ok=True)
    for part in options.part or PARTS:
        records = []
        for record in PARTS[part](QUICK if options.quick else FULL):
            print(part, json.dumps(record), flush=True)
            records.append(record)
            save(folder, part, records)
    if folder == RESULTS:
        draw()
    else:
        plot(load(folder), folder / "scale.png")
        (folder / "scale.md").write_text(results_page(load(folder)), encoding="utf-8")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
