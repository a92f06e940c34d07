"""Names of the experiments, and the module that holds each."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plcp.experiments.report import Experiment

# A name is a module's, with a dash for its underscore: none is imported before it is needed.
ABOUT = {
    "toy": "Figure 1: noise that doubles at zero, and the boundary PLCP finds",
    "synthetic": "section 4.2: 100 covariates, 20 groups, noise as the paper's text has it",
    "synthetic-deviation": "the same, noise as the code of Jung et al. has it",
    "census": "section 4.1, Table 1: income by race, sex and state (needs data)",
    "mnist": "section 4.1, Table 2: digits at five blurs (10 MB, downloaded)",
    "rxrx1": "section 4.2: images of cells, held-out experiments (needs data)",
    "gas-drift": "the protocol of rxrx1 on drifting gas sensors, a stand-in (needs data)",
}
NAMES = tuple(ABOUT)
_MODULES = {"synthetic-deviation": "synthetic"}


def find_experiment(name: str) -> Experiment:
    """Return the experiment of this name.

    Examples
    --------
    >>> from plcp.experiments import find_experiment
    >>> find_experiment("toy").name
    'toy'
    """
    if name not in NAMES:
        raise ValueError(f"no experiment is called {name!r}: take one of {', '.join(NAMES)}")
    try:
        module = import_module(f"plcp.experiments.{_MODULES.get(name, name).replace('-', '_')}")
    except ModuleNotFoundError as error:
        raise _lacking(str(error.name)) from error
    return next(one for one in module.EXPERIMENTS if one.name == name)


def check_installed(*packages: str) -> None:
    """Raise before any work if a package is missing."""
    for package in packages:
        if find_spec(package) is None:
            raise _lacking(package)


def _lacking(package: str) -> ImportError:
    return ImportError(
        f"experiments need {package}, which is not here: pip install 'plcp[experiments]'"
    )
