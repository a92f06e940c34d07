"""Names of the experiments, and the module that holds each."""

from importlib import import_module

from plcp.experiments.experiment import Experiment

# A name is a module's, with a dash for its underscore: none is imported before it is asked for.
NAMES = ("toy", "synthetic", "synthetic-deviation", "census", "mnist", "rxrx1", "gas-drift")
_MODULES = {"synthetic-deviation": "synthetic"}


def find_experiment(name: str) -> Experiment:
    """Return the experiment of this name.

    """
    if name not in NAMES:
        raise ValueError(f"no experiment is called {name!r}: take one of {', '.join(NAMES)}")
    module = import_module(f"plcp.experiments.{_MODULES.get(name, name).replace('-', '_')}")
    return next(one for one in module.EXPERIMENTS if one.name == name)
