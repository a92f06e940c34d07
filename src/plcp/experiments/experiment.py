"""An experiment: settings, one trial of them from a seed, and what all trials say together."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plcp.experiments.report import Report

Settings = dict[str, Any]
Record = dict[str, Any]


def no_files(data_dir: Path | None) -> dict[str, str]:
    """Generated data: nothing is read."""
    return {}


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper, as pure functions of its settings, a seed and a data directory.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    settings, quick : dict
        All that a trial depends on but seed and data, as JSON values: the paper's, and small ones
        that take seconds. Records of different settings are never mixed.
    trials : int
        How many trials the paper, or our committed results, have.
    run : callable
        ``run(settings, seed, data_dir)`` gives the results of one trial as JSON values.
    report : callable
        ``report(records)`` gives tables, figures and sentences; each record has ``settings``,
        ``seed``, ``results``, ``versions`` and ``seconds``.
    files : callable
        ``files(data_dir)`` gives the names and SHA-256 of the files that are read, and raises where
        they are missing, before any work is done. It becomes part of the settings.
    """

    name: str
    settings: Settings
    quick: Settings
    trials: int
    run: Callable[[Settings, int, Path | None], dict[str, Any]]
    report: Callable[[list[Record]], Report]
    files: Callable[[Path | None], dict[str, str]] = no_files
