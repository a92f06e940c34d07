"""Faults done on purpose to fits, saves, files and threads, and what came of each.

The faults are those of tests/trust and fuzz/, in larger numbers. What must not happen (a mix of two
fits, a file that is neither the old nor the new one, an answer that differs) ends the measurement
with an error, so that a count that is here is one of faults that did no harm.
"""

import copy
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import plcp
from plcp.storage.files import model_bytes

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "trust"), str(ROOT / "fuzz")]

import own_process  # noqa: E402
from stopping import (  # noqa: E402
    Lines,
    killed_while_saving,
    left_after,
    moments,
    own_files,
    room_for,
    seconds_of,
    state,
    stopped_after,
)

from estimators import CASES, answer, make_rows  # noqa: E402

THREADS = 8
SIGNALLED = ("plcp", "plcp, lightgbm", "plcp, softmax", "local", "intervals", "rectified")


class Sizes(NamedTuple):
    """How many faults of each kind."""

    lines: int  # an estimator
    signals: int  # an estimator of some
    stopped_saves: int
    kills: int
    full_disks: int
    fuzz_seconds: int
    fits: int


FULL = Sizes(6, 10, 100, 10, 20, 600, 1000)
QUICK = Sizes(1, 1, 4, 1, 2, 3, 64)
Counts = dict[str, int]


def measure(quick: bool) -> dict[str, Any]:
    """Counts by kind of fault, figures of the fuzzer, and what many fits leave behind."""
    sizes, rng = QUICK if quick else FULL, np.random.default_rng(0)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        faults = {
            "fit stopped at a line": stopped_at_lines(sizes.lines, rng),
            "fit stopped by Ctrl-C": stopped_by_signals(sizes.signals, rng),
            "save stopped by Ctrl-C": stopped_saves(sizes.stopped_saves, Path(folder), rng),
            "save killed": killed_saves(sizes.kills, Path(folder), rng),
            "save on a full disk": full_disks(sizes.full_disks, Path(folder), rng),
            "eight threads at once": predictions_at_once(),
        }
    return {"faults": faults, "fuzz": fuzz(sizes.fuzz_seconds), "fits": many_fits(sizes.fits)}


def stopped_at_lines(n: int, rng: np.random.Generator) -> Counts:
    """Every estimator, fitted again, and stopped at lines of its own code."""
    rows, other, X = make_rows(), make_rows(5), make_rows(1, 50)[0]
    counts: Counter[str] = Counter()
    for case in CASES.values():
        target = other[2] if case.classes else other[1]
        lines, fitted = Lines(own_files(case.estimator)), case.fit(rows)
        after = answer(case.fit(other), X)
        with lines.watched():
            case.fit(other)
        for stop_at in moments(lines.seen, n, 1, rng):
            stop = Lines(lines.files, stop_at)
            fit = partial(_fit, other[0], target)
            counts[left_after(fit, copy.copy(fitted), stop, X, after)] += 1
    return {"left as before": counts["old"], "finished": counts["new"] + counts["whole"]}


def _fit(X: Any, y: Any, estimator: Any) -> None:
    estimator.fit(X, y)


def stopped_by_signals(n: int, rng: np.random.Generator) -> Counts:
    """A signal at any moment of a fit, threads and foreign code included."""
    rows, other, X = make_rows(), make_rows(5), make_rows(1, 50)[0]
    counts = Counter({"left as before": 0, "finished": 0})
    for name in SIGNALLED:
        case = CASES[name]
        fitted, after = case.fit(rows), answer(case.fit(other), X)
        seconds, answered = seconds_of(partial(case.fit, other)), answer(fitted, X)
        for moment in rng.uniform(0, seconds, n):
            estimator = copy.copy(fitted)
            stopped_after(moment, partial(estimator.fit, *other[:2]))
            old = state(estimator) == state(fitted)
            np.testing.assert_array_equal(answer(estimator, X), answered if old else after)
            counts["left as before" if old else "finished"] += 1
    return dict(counts)


def _two_models() -> list[Any]:
    X, scores, _ = make_rows(n=3000)
    return [plcp.LocalCP(alpha=alpha, calibrated=False).fit(X, scores) for alpha in (0.1, 0.2)]


def _found(path: Path, old: bytes, new: bytes) -> str:
    """Return which of two files is there, whole; any other is an error."""
    return {old: "left as before", new: "finished"}[path.read_bytes()]


def stopped_saves(n: int, folder: Path, rng: np.random.Generator) -> Counts:
    models, path = _two_models(), folder / "stopped.plcp"
    old, new = (model_bytes(model) for model in models)
    counts = Counter({"left as before": 0, "finished": 0})
    seconds = seconds_of(partial(plcp.save, models[1], path))
    for moment in rng.uniform(0, seconds, n):
        path.write_bytes(old)
        stopped_after(moment, partial(plcp.save, models[1], path))
        counts[_found(path, old, new)] += 1
    return dict(counts)


def killed_saves(n: int, folder: Path, rng: np.random.Generator) -> Counts:
    path, sources = folder / "killed.plcp", [folder / "old.plcp", folder / "new.plcp"]
    old, new = (model_bytes(model) for model in _two_models())
    for source, content in zip(sources, (old, new), strict=True):
        source.write_bytes(content)
    counts = Counter({"left as before": 0, "finished": 0})
    for moment in rng.uniform(0, 0.3, n):
        path.write_bytes(old)
        killed_while_saving(path, sources, moment)
        counts[_found(path, old, new)] += 1
    return dict(counts)


def full_disks(n: int, folder: Path, rng: np.random.Generator) -> Counts:
    models, path = _two_models(), folder / "full.plcp"
    old, new = (model_bytes(model) for model in models)
    path.write_bytes(old)
    refused = 0
    for room in rng.integers(0, len(new), n):
        with room_for(int(room)):
            try:
                plcp.save(models[1], path)
            except OSError as error:
                refused += f"no room for {path}" in str(error)
        assert _found(path, old, new) == "left as before"
    return {"left as before": n, "refused in words": refused}


def predictions_at_once() -> Counts:
    """Answers of every estimator to eight threads, each equal to the one given alone."""
    from test_threads import at_once, batches

    rows, counts = make_rows(), Counter({"answers": 0, "different": 0})
    for case in CASES.values():
        fitted, questions = case.fit(rows), batches()
        for X, turns in zip(questions, at_once(fitted, questions), strict=True):
            alone = answer(fitted, X)
            counts["answers"] += len(turns)
            counts["different"] += sum(not np.array_equal(turn, alone) for turn in turns)
    assert counts["different"] == 0
    return {"estimators": len(CASES), "threads": THREADS, **counts}


def fuzz(seconds: int) -> dict[str, Any]:
    """Files with altered values, damaged by hypothesis (a tenth of the time), led by coverage."""
    drawn = _run("fuzz/load.py", "--random", "--seconds", str(max(1, seconds // 10)))
    found = {"hypothesis": json.loads(drawn.stdout.splitlines()[-1])}
    altered = _run("fuzz/altered.py", "--seconds", str(seconds))
    found["altered values"] = json.loads(altered.stdout.splitlines()[-1])
    if find_spec("atheris"):
        led = _run("fuzz/load.py", "--seconds", str(seconds))
        figures = dict(re.findall(r"stat::(\w+):\s+(\d+)", led.stderr))
        found["atheris"] = {
            "seconds": seconds,
            "executions": int(figures["number_of_executed_units"]),
            "slowest_seconds": int(figures["slowest_unit_time_sec"]),
            "megabytes": int(figures["peak_rss_mb"]),
        }
    return found


def many_fits(n: int) -> dict[str, Any]:
    """Return what the second half of many fits added to a process, first window to last."""
    held = own_process.run("held", str(n))
    return {"fits": n, **{f"{what} added": each[-1] - each[0] for what, each in held.items()}}


def _run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script; one that fails ends the measurement, in its own words."""
    command = [sys.executable, "-W", "ignore", ROOT / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{script} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done
