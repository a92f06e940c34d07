"""Names that a package fetches when they are first asked for.

The command line must answer before scikit-learn is imported. Beside the homes of its names, such a
package has the same imports under ``TYPE_CHECKING``, for editors and type checkers.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def fetched_from(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names live in these modules.

    Examples
    --------
    >>> fetch = fetched_from("plcp", {"plcp.quantiles": ("pinball_loss",)})
    >>> fetch("pinball_loss").__module__
    'plcp.quantiles'
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def fetch(name: str) -> Any:
        if name not in home_of:
            return _submodule(package, name)
        value = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)  # asked for once
        return value

    return fetch


def _submodule(package: str, name: str) -> Any:
    """``plcp.metrics`` works without an import of its own."""
    path = f"{package}.{name}"
    if not name.startswith("_"):
        try:
            return import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
