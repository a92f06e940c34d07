"""The paper's experiments: each by one call, beside what the library does by default.

``reproduce(name)`` is what the command ``plcp reproduce NAME`` runs.
"""

import typing

from plcp.lazily import fetched_from as _fetched_from

if typing.TYPE_CHECKING:
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

_HOMES = {
    "plcp.experiments.catalogue": ("NAMES", "find_experiment"),
    "plcp.experiments.experiment": ("Experiment",),
    "plcp.experiments.report": ("Claim", "Line", "Report", "Table"),
    "plcp.experiments.reproduction": ("Reproduction", "reproduce"),
}
__getattr__ = _fetched_from(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
