"""Well-formed files with altered values for ``plcp.load`` and ``predict``; prints the results.

    python fuzz/altered.py [--seconds 600] [--seed 0]

Every type that a file may hold (``examples.py``) is altered by knowledge of the format
(``alterations.py``), with right checksums. Each file is loaded without ``trusted=`` and its model
predicts for a few fixed rows, in a process of its own. A finding is

- an end of that process: an abort, a signal, or an exit;
- more than 30 seconds of computing;
- more than 1 GB of memory in all, of which imported packages take some 600 MB;
- a change of the rows, compared byte by byte;
- an error of ``load`` other than a `ValueError` or `ImportError` of one sentence with the path;
- an error of a prediction that is no `Exception`, or a `MemoryError` (4 GB can be allocated).

It is reported by its number, and the file is kept in ``--keep`` (by default ``fuzz/findings``).
``--seed S --only N`` repeats the input with that number in this process.
"""

import argparse
import faulthandler
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from alterations import Archive, altered
from examples import Example, check_complete, examples, predict
from load import megabytes

import plcp

SECONDS_PER_INPUT = 30  # of computing: those of a clock depend on other processes
HANG = 1800  # seconds of a clock, for an input that waits and computes nothing
MEGABYTES = 1000
ALLOCATED = 2**32  # bytes beyond those of the packages, so that no input can fill the machine
MAX_MESSAGE = 1100  # characters of a message beside the path
FINDINGS = Path(__file__).parent / "findings"


class Finding(Exception):  # noqa: N818
    """What must not happen."""


def fuzz(options: argparse.Namespace) -> dict[str, Any]:
    """Open altered files in processes of their own; return counts, the slowest and the largest."""
    given = examples(small=options.small)
    if not options.small:
        check_complete(given)
    counts = Counter(dict.fromkeys(("inputs", "loaded", "predicted", "refused"), 0))
    findings: list[str] = []
    largest = {"slowest_cpu_seconds": 0.0, "megabytes": 0.0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").write_bytes(pickle.dumps(given))
        end = time.monotonic() + options.seconds if options.rounds is None else float("inf")
        rounds = 2**63 if options.rounds is None else options.rounds
        while counts["inputs"] < rounds and time.monotonic() < end:
            command = [sys.executable, __file__, "--worker", name, str(counts["inputs"])]
            command += [str(rounds), str(end), "--seed", str(options.seed)]
            with (folder / "stderr").open("w") as log:
                worker = subprocess.Popen(
                    [*command, "--keep", str(options.keep)],
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
                for line in worker.stdout or ():
                    result = json.loads(line)
                    counts["inputs"] += 1
                    counts[result["outcome"]] += 1
                    counts["predicted"] += result["predictions"] > 0
                    for largest_of in largest:
                        largest[largest_of] = max(largest[largest_of], result[largest_of])
                    if "finding" in result:
                        findings.append(result["finding"])
            if worker.wait():  # at the input after the last that was reported
                n = counts["inputs"]
                _keep(options.keep, options.seed, n, (folder / "model.plcp").read_bytes())
                last = (folder / "stderr").read_text()[-2000:]
                findings.append(f"input {n}: the process ended with {worker.returncode}\n{last}")
                counts["inputs"] += 1
    counts.pop("finding", None)
    return {**counts, **largest, "findings": findings}


def work(folder: Path, start: int, rounds: int, end: float, options: argparse.Namespace) -> None:
    """Open altered files from a number on, and report each as a line of JSON."""
    report = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # LightGBM writes there
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    given = pickle.loads((folder / "examples").read_bytes())
    archives = [Archive(example.content) for example in given]
    path = folder / "model.plcp"
    for example in given:  # the first one imports the packages that it needs
        path.write_bytes(example.content)
        _opened(path, example)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ALLOCATED,) * 2)
    n = start
    while n < rounds and time.monotonic() < end:
        example, content = _input(options.seed, n, given, archives)
        path.write_bytes(content)
        result = _reported(path, example)
        if "finding" in result:
            result["finding"] = f"input {n}, {example.name}: {result['finding']}"
            _keep(options.keep, options.seed, n, content)
            given = pickle.loads((folder / "examples").read_bytes())
        report.write(json.dumps(result) + "\n")
        n += 1
    os._exit(0)  # all models were freed before


def _input(
    seed: int, n: int, given: list[Example], archives: list[Archive]
) -> tuple[Example, bytes]:
    rng = Random(f"{seed}-{n}")
    i = rng.randrange(len(given))
    return given[i], altered(archives[i], archives, rng)


def _reported(path: Path, example: Example) -> dict[str, Any]:
    """Open one file under all limits."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory is from now on
    signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_INPUT)
    faulthandler.dump_traceback_later(HANG, exit=True)
    start = time.process_time()
    result: dict[str, Any] = {"predictions": 0}
    try:
        result["outcome"], result["predictions"] = _opened(path, example)
        if megabytes() > MEGABYTES:
            raise Finding(f"{megabytes():.0f} MB")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        result |= {"outcome": "finding", "finding": f"{type(error).__name__}: {error}"[:2000]}
    faulthandler.cancel_dump_traceback_later()
    signal.setitimer(signal.ITIMER_PROF, 0)
    result["slowest_cpu_seconds"] = time.process_time() - start
    result["megabytes"] = megabytes()
    return result


def _opened(path: Path, example: Example) -> tuple[str, int]:
    """Load a file and predict: "loaded" or "refused", and how many predictions there were."""
    before = _bytes(example.X)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = plcp.load(path)
        except (ValueError, ImportError) as error:
            _check_message(str(error), str(path))
            return "refused", 0
        predictions = predict(model, example.X)
        del model
    if _bytes(example.X) != before:
        raise Finding("the rows were changed")
    return "loaded", predictions


def _check_message(message: str, path: str) -> None:
    if path not in message or "\n" in message or len(message) > len(path) + MAX_MESSAGE:
        raise Finding(f"not one sentence with the path: {message[:500]!r}")
    if "does not fit into memory" in message:
        raise Finding(message)


def _bytes(X: Any) -> Any:
    """Return the bytes that rows are made of."""
    if isinstance(X, pd.DataFrame):
        return [(name, _bytes(X[name].to_numpy())) for name in X], list(X.index)
    if isinstance(X, pa.RecordBatch):
        return [bytes(part or b"") for column in X.columns for part in column.buffers()]
    if isinstance(X, np.ndarray):
        plain = [*map(repr, X.ravel())] if X.dtype == object else X.tobytes()
        return X.dtype.str, X.shape, X.strides, plain
    return X


def _keep(folder: Path, seed: int, n: int, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"altered-{seed}-{n}.plcp").write_bytes(content)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rounds", type=int, help="number of inputs, in place of seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="without models that are slow to fit")
    parser.add_argument("--only", type=int, help="repeat the input with this number")
    parser.add_argument("--keep", type=Path, default=FINDINGS)
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Fuzz, repeat one input, or do the work of a process of its own."""
    options = _options()
    if options.worker:
        folder, start, rounds, end = options.worker
        work(Path(folder), int(start), int(rounds), float(end), options)
    elif options.only is not None:
        given = examples(small=options.small)
        archives = [Archive(example.content) for example in given]
        example, content = _input(options.seed, options.only, given, archives)
        _keep(options.keep, options.seed, options.only, content)
        path = options.keep / f"altered-{options.seed}-{options.only}.plcp"
        faulthandler.enable()
        print(example.name, path, _opened(path, example))
    else:
        found = fuzz(options)
        print("\n".join(found["findings"]), file=sys.stderr)
        print(json.dumps(found | {"findings": len(found["findings"])}))
        sys.exit(1 if found["findings"] else 0)


if __name__ == "__main__":
    main()
