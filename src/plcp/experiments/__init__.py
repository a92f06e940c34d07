"""The paper's experiments: each by one call, beside what the library does by default.

``reproduce(name)`` is what the command ``plcp reproduce NAME`` runs.
"""

from plcp.experiments.catalogue import NAMES, find_experiment
from plcp.experiments.experiment import Experiment
from plcp.experiments.report import Claim, Line, Report, Table
from plcp.experiments.reproduction import Reproduction, reproduce

__all__ = [
    "NAMES",
    "Claim",
    "Experiment",
    "Line",
    "Report",
    "Reproduction",
    "Table",
    "find_experiment",
    "reproduce",
]
