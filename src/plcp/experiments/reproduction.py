"""From a name to trials, and from trials to a page, figures and tables."""

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from plcp.datasets.files import data_directory
from plcp.experiments.catalogue import check_installed, find_experiment
from plcp.experiments.experiment import Experiment, Record, Settings
from plcp.experiments.ledger import Ledger
from plcp.experiments.overview import write_overview
from plcp.experiments.page import to_text, write_page
from plcp.experiments.report import Report
from plcp.experiments.trials import run_trials
from plcp.validation import check_count

QUICK_TRIALS = 2


@dataclass(frozen=True, repr=False)
class Reproduction:
    """What came of an experiment: its report, its records, and the files that were written."""

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
    """
    check_installed("filelock", "matplotlib", *(["tqdm"] if verbose else []))
    experiment = find_experiment(name)
    usual = QUICK_TRIALS if quick else experiment.trials
    count = check_count("trials", usual if trials is None else trials, 1)
    first = check_count("seed", seed, 0)
    settings = full_settings(experiment, quick, None if data_dir is None else Path(data_dir))
    # workers may have another current directory, or another PLCP_DATA
    data = data_directory(data_dir)[0].absolute()
    stem, directory = f"{name}-quick" if quick else name, check_directory(Path(out))
    ledger = Ledger(directory / f"{stem}.jsonl")
    seeds = range(first, first + count)
    records = run_trials(experiment, settings, seeds, ledger, data, n_jobs, verbose)
    report = replace(experiment.report(records), quick=quick)
    files = [ledger.path, *write_page(stem, report, records, directory)]
    return Reproduction(report, records, files if quick else [*files, write_overview(directory)])


def full_settings(experiment: Experiment, quick: bool, data_dir: Path | None) -> Settings:
    """All that tells records apart but the seed: settings, SHA-256 of the data, our version."""
    settings = experiment.quick if quick else experiment.settings
    files = experiment.files(data_dir)
    return settings | {"plcp": version("plcp")} | ({"data": files} if files else {})


def check_directory(out: Path) -> Path:
    """Return the directory of results, which need not be there yet."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file: results go into a directory")
    return out
