"""Which rule it was, and with which versions it was run."""

import platform
import re
import sys
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

LIBRARIES = ("plcp", "numpy", "scipy", "scikit-learn")


def versions_of(rule: Any) -> dict[str, str]:
    """Versions of Python, of what the core stands on, and of the libraries the rule's parts are of.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> list(versions_of(SplitConformal()))
    ['python', 'plcp', 'numpy', 'scipy', 'scikit-learn']
    """
    found = core_versions()
    parts = [rule, *rule.get_params().values()]
    roots = {cls.__module__.split(".")[0] for part in parts for cls in type(part).__mro__}
    for root in sorted(roots - {*LIBRARIES, "sklearn"}):
        number = getattr(sys.modules.get(root), "__version__", None)
        if isinstance(number, str):
            found[root] = number
    return found


def core_versions() -> dict[str, str]:
    """Versions of Python and of what the core stands on."""
    return {
        "python": platform.python_version(),
        **{name: _installed(name) for name in LIBRARIES},
    }


@cache  # metadata are read from disk
def _installed(name: str) -> str:
    return version(name)


def parameters_of(rule: Any) -> dict[str, Any]:
    """Parameters of an estimator: numbers and text as they are, parts of it as they print.

    Examples
    --------
    >>> from plcp import BatchGCP
    >>> parameters_of(BatchGCP(groups=lambda X: X[:, 0] > 0))
    {'alpha': 0.1, 'groups': '<function <lambda>>'}
    """
    return {name: _plain(value) for name, value in rule.get_params(deep=False).items()}


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and abs(value) < float("inf"):
        return value
    # an address in memory says nothing to anybody else
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(value).split()))
