"""Run the trials of an experiment, keep their records in a ledger, and write its page."""

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any

from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from plcp._options import check_count
from plcp._parallel import counted
from plcp.datasets._files import data_directory
from plcp.experiments.catalogue import NAMES, check_installed, find_experiment
from plcp.experiments.report import (
    Experiment,
    Line,
    Record,
    Report,
    Settings,
    comparison,
    to_text,
    write_page,
)

LIBRARY = Path(__file__).resolve().parents[1]
PACKAGES = ("plcp", "numpy", "scipy", "scikit-learn", "torch")


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on, as far as they are there."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    commit, changes = _git("log", "-1", "--format=%h"), _git("status", "--porcelain")
    state = f"{commit} with changes" if changes else f"{commit}"
    return found | {"code": _code()} | ({"commit": state} if commit else {})


def _code() -> str:
    """Hash of the library's own source, which differs between two installed copies of a version."""
    digest = hashlib.sha256()
    for path in sorted(LIBRARY.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _git(*command: str) -> str | None:
    """Output of git on the library's own files; None where it was installed, not checked out."""
    try:
        done = subprocess.run(
            ["git", *command, "--", "."], cwd=LIBRARY, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip() or None


class Ledger:
    """Records of trials in a file that only ever grows, one JSON line each.

    What a killed run left unfinished at the end is cut off when the file is opened for writing.
    Records of other settings stay where they are, unread.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def of(self, settings: dict[str, Any]) -> dict[int, Record]:
        """Records of these settings by seed; the first, should a seed be there twice."""
        wanted = as_json_values(settings)
        own: dict[int, Record] = {}
        for record in self:
            if record["settings"] == wanted:
                own.setdefault(record["seed"], record)
        return own

    def __iter__(self) -> Iterator[Record]:
        if not self.path.exists():
            return
        *lines, end = self.path.read_bytes().split(b"\n")
        for number, line in enumerate([*lines, end] if _record(end) else lines, 1):
            record = _record(line)
            if record is None:
                raise ValueError(
                    f"line {number} of {self.path} is no record of a trial: correct or remove it, "
                    "and its trial is run again"
                )
            yield record

    def append(self, record: Record) -> None:
        """Write a record to disk, wholly, before this returns."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        with self.path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep other runs from writing to the file, and see that it ends with a line."""
        from filelock import FileLock, Timeout

        self.path.parent.mkdir(parents=True, exist_ok=True)
        # a file of its own: locking would empty the records; the system frees it if we are killed
        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise RuntimeError(
                f"another run is writing to {self.path}: wait for it, or choose another directory"
            ) from None
        try:
            self._end_with_a_line()
            yield
        finally:
            lock.release()

    def _end_with_a_line(self) -> None:
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        start = content.rfind(b"\n") + 1
        if _record(content[start:]):  # whole: an editor took its newline
            with self.path.open("ab") as file:
                file.write(b"\n")
        else:
            os.truncate(self.path, start)


def _record(line: bytes) -> Record | None:
    """Return the record of a line; None if it is cut short, or something else."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(found, dict) and {"seed", "settings", "results"} <= found.keys()
    return found if whole else None


def as_json_values(value: Any) -> Any:
    """Return a value as JSON gives it back: tuples as lists, keys as texts."""
    return json.loads(json.dumps(value, allow_nan=False))


# what belongs to the whole process: limits of threads, warnings, torch's random numbers
_PROCESS = Lock()


def run_trials(
    experiment: Experiment,
    settings: Settings,
    seeds: Sequence[int],
    ledger: Ledger,
    data_dir: Path | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> list[Record]:
    """Records of these seeds in order: those in the ledger as they are, the others run and added.

    Trials are joblib tasks, so ``joblib.parallel_config(backend="dask")`` or Ray's backend spreads
    them over machines; only the process that calls writes to the ledger. Workers should be
    processes: those that are threads of one process take turns.
    """
    with ledger.opened():
        done = ledger.of(settings)
        left = [seed for seed in seeds if seed not in done]
        jobs = [delayed(run_trial)(experiment, settings, seed, data_dir) for seed in left]
        # none waits in a queue, where workers would find it even after this process was killed
        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs")
        shown, before = verbose and bool(left), len(seeds) - len(left)
        for record in counted(workers(jobs), len(seeds), shown, experiment.name, before):
            ledger.append(record)
            done[record["seed"]] = record
    return [done[seed] for seed in seeds]


def run_trial(
    experiment: Experiment, settings: Settings, seed: int, data_dir: Path | None
) -> Record:
    """One trial, on one thread: so its results do not depend on how many run beside it."""
    with _PROCESS, threadpool_limits(1):
        start = time.perf_counter()
        results = experiment.run(settings, seed, data_dir)
        seconds = round(time.perf_counter() - start, 3)
    return as_json_values(
        {
            "experiment": experiment.name,
            "seed": seed,
            "settings": settings,
            "versions": versions(),
            "seconds": seconds,
            "results": results,
        }
    )


INTRODUCTION = (
    "The experiments of Kiyani, Pappas and Hassani, *Conformal Prediction with Learned Features* "
    "(ICML 2024), run again by `plcp reproduce NAME`: the paper's algorithm with the paper's "
    "settings, this library's cross-fitted rule, and the methods that the paper compares, all on "
    "the same data. The table puts the paper's numbers beside ours; below it, each experiment has "
    "a section with its question, its result and its picture, and a page with all tables and notes."
    "\n\nThe paper gives numbers in its Tables 1 and 2 alone; what else it says is quoted. It does "
    "not state its blurs, its optimiser and how sets are cut to possible values: the notes of each "
    "page say what was used instead. Each section counts the aims that were reached, and names "
    "those that were not."
)


def write_overview(out: Path) -> Path:
    """Write ``README.md`` from the JSON of each experiment that the directory holds."""
    pages = [
        json.loads(path.read_text(encoding="utf-8"))
        for name in NAMES
        if (path := out / f"{name}.json").exists()
    ]
    path = out / "README.md"
    path.write_text(to_markdown(pages), encoding="utf-8", newline="\n")
    return path


def redraw(out: str | Path) -> None:
    """Write the pages of all experiments whose trials a directory holds, and the overview."""
    for name in NAMES:
        if (path := Path(out, f"{name}.jsonl")).exists():
            records = sorted(Ledger(path), key=lambda record: record["seed"])
            write_page(name, find_experiment(name).report(records), records, Path(out))
    write_overview(Path(out))


def to_markdown(pages: list[dict[str, Any]]) -> str:
    """Return the page as Markdown."""
    lines = {
        f"[{page['name']}]({page['name']}.md)": [Line(**line) for line in page["lines"]]
        for page in pages
    }
    table = comparison(lines, "experiment")
    parts = ["# Results of the paper", INTRODUCTION, table.to_markdown(), *map(_part, pages)]
    return "\n\n".join(parts) + "\n"


def _part(page: dict[str, Any]) -> str:
    name = page["name"]
    words = [page["question"], " ".join(page["reading"]), _verdict(page["claims"])]
    parts = [f"## [{page['title']}]({name}.md)", *words, f"![{page['title']}]({name}.svg)"]
    return "\n\n".join(part for part in parts if part)


def _verdict(claims: list[dict[str, Any]]) -> str:
    """How much of what was to be reached was, and what was not."""
    missed = [claim["text"] for claim in claims if not claim["holds"]]
    if not claims:
        return ""
    held = f"Reached: {len(claims) - len(missed)} of {len(claims)} aims."
    return held + (f" Not reached: {'; '.join(missed)}." if missed else "")


QUICK_TRIALS = 2


@dataclass(frozen=True, repr=False)
class Reproduction:
    """What came of an experiment: its report, its records, and the files that were written.

    Attributes
    ----------
    report : Report
        Tables, figures and sentences.
    records : list of dict
        Settings, seed and results of each trial.
    files : list of Path
        What was written.

    Examples
    --------
    >>> import tempfile
    >>> from plcp.experiments import Reproduction, reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = reproduce("toy", trials=1, quick=True, out=folder)
    >>> isinstance(done, Reproduction), len(done.records), done.report.quick
    (True, 1, True)
    """

    report: Report
    records: list[Record]
    files: list[Path]

    def __repr__(self) -> str:
        return f"<{self.report.title}: {len(self.records)} trials, page in {self.files[1]}>"

    def _repr_markdown_(self) -> str:
        """Return what a notebook shows."""
        return to_text(self.report)


def reproduce(
    name: str,
    trials: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    data_dir: str | Path | None = None,
    out: str | Path = "results",
    quick: bool = False,
    verbose: bool = False,
) -> Reproduction:
    """Run an experiment of the paper, or go on with it, and write what came of it.

    Every finished trial is a line of ``<out>/<name>.jsonl`` at once. Trials that are there, of the
    same settings and data, are not run again, so an interrupted call goes on where it stopped.
    Files of a quick run are called ``<name>-quick``, and leave those of a full run alone.

    Parameters
    ----------
    name : str
        One of ``plcp.experiments.NAMES``.
    trials : int or None
        How many, of seeds ``seed``, ``seed + 1``, …; None: as many as the experiment has by itself,
        two if ``quick``.
    seed : int, default=0
        Of the first trial.
    n_jobs : int or None
        Trials at once, as joblib counts them; a joblib backend for Dask or Ray spreads them. Each
        runs on one thread, so that results do not depend on it.
    data_dir : path or None
        Where data files lie; None: the variable ``PLCP_DATA``, else the user's cache.
    out : path, default="results"
        Directory of the results.
    quick : bool, default=False
        Small settings that take seconds: to see that it works, not for its numbers.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).

    Examples
    --------
    >>> import tempfile
    >>> from plcp.experiments import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = reproduce("toy", trials=1, quick=True, out=folder)
    ...     sorted(path.suffix for path in done.files)
    ['.json', '.jsonl', '.md', '.png', '.svg']
    """
    check_installed("filelock", "matplotlib", *(["tqdm"] if verbose else []))
    experiment = find_experiment(name)
    usual = QUICK_TRIALS if quick else experiment.trials
    count = check_count("trials", usual if trials is None else trials, 1)
    first = check_count("seed", seed, 0)
    settings = full_settings(experiment, quick, None if data_dir is None else Path(data_dir))
    # workers may have another current directory, or another PLCP_DATA
    data = data_directory(data_dir)[0].absolute()
    stem, directory = f"{name}-quick" if quick else name, Path(out)
    if directory.exists() and not directory.is_dir():
        raise NotADirectoryError(f"{out} is a file: results go into a directory")
    ledger = Ledger(directory / f"{stem}.jsonl")
    seeds = range(first, first + count)
    records = run_trials(experiment, settings, seeds, ledger, data, n_jobs, verbose)
    report = replace(experiment.report(records), quick=quick)
    files = [ledger.path, *write_page(stem, report, records, directory)]
    return Reproduction(report, records, files if quick else [*files, write_overview(directory)])


def full_settings(experiment: Experiment, quick: bool, data_dir: Path | None) -> Settings:
    """All that distinguishes records but the seed: settings, SHA-256 of the data, our version."""
    settings = experiment.quick if quick else experiment.settings
    files = experiment.files(data_dir)
    return settings | {"plcp": version("plcp")} | ({"data": files} if files else {})
