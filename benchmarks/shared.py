"""What every benchmark uses: results as JSON, tables in Markdown, time and memory."""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory

ROOT = Path(__file__).parents[1]
PACKAGES = ("plcp", "numpy", "scipy", "scikit-learn", "lightgbm", "torch")


def provenance() -> dict[str, Any]:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    versions = {package: version(package) for package in PACKAGES}
    return {"commit": commit, "python": platform.python_version(), "versions": versions}


def results_file(name: str) -> Path:
    """Return the file of results that is named by its folder and its own name, as "speed/cli"."""
    folder, _, file = name.partition("/")
    return ROOT / "benchmarks" / folder / "results" / f"{file}.json"


def load(name: str) -> dict[str, Any]:
    return json.loads(results_file(name).read_text(encoding="utf-8"))


def save(name: str, part: str, results: Any) -> None:
    """Put one part of a benchmark's results into its file, beside the other parts."""
    path = results_file(name)
    content = load(name) if path.exists() else {}
    content[part] = {"provenance": provenance(), "results": results}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


Records = list[dict[str, Any]]


def kept_by_package(name: str) -> Memory:
    """Return where finished cells of a benchmark are kept, by the committed code of the package."""
    package = ["git", "rev-parse", "HEAD:src/plcp"]
    code = subprocess.run(package, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return Memory(ROOT / "build" / name / code[:12], verbose=0)


def pick(records: Records, **wanted: Any) -> Records:
    return [r for r in records if all(r[key] == value for key, value in wanted.items())]


def mean(records: Records, key: str) -> float:
    return float(np.mean([record[key] for record in records]))


def unique(records: Records, key: str) -> list[Any]:
    return list(dict.fromkeys(record[key] for record in records))


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def peak_megabytes(pid: int | str = "self") -> float | None:
    """Return that of a process so far; None if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None
    found = status.partition("VmHWM:")[2].split()
    # a process that has ended, but was not waited for, has none
    return int(found[0]) * 1024 / 1e6 if found else None


def watched_megabytes(pid: int, pause: float = 0.01) -> float:
    """Read the peak of another process until it ends, and return the last: peaks only rise."""
    peak = 0.0
    while (found := peak_megabytes(pid)) is not None:
        peak = found
        time.sleep(pause)
    return peak


def best_time(action: Callable[[], Any], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def fill(text: str, drawn: dict[str, str]) -> str:
    """Put drawn blocks between <!-- name --> and <!-- /name --> of a page."""
    for name, block in drawn.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        head, _, rest = text.partition(start)
        _, found, tail = rest.partition(end)
        if not found:
            raise ValueError(f"the page has no block {start} … {end}")
        text = f"{head}{start}\n{block}{end}{tail}"
    return text


def run_each(package: str, names: Sequence[str], description: str) -> None:
    """Run the benchmarks of a folder one after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", help=f"all by default: {', '.join(names)}")
    for name in parser.parse_args().names or names:
        subprocess.run([sys.executable, "-m", f"benchmarks.{package}.{name}"], cwd=ROOT, check=True)
