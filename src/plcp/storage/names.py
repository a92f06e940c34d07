"""Names by which classes and functions are found again."""

import sys
from typing import Any

import numpy as np


def full_name(thing: Any) -> str:
    """Return module and name of a class or function.

    Examples
    --------
    >>> from collections import Counter
    >>> full_name(Counter)
    'collections.Counter'
    """
    if isinstance(thing, np.ufunc):  # has no module of its own
        home = "numpy" if getattr(np, thing.__name__, None) is thing else "scipy.special"
        return f"{home}.{thing.__name__}"
    return f"{thing.__module__}.{thing.__qualname__}"


def public_name(thing: Any) -> str:
    """Return the shortest name by which a class or function can be imported.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> full_name(SVC), public_name(SVC)
    ('sklearn.svm._classes.SVC', 'sklearn.svm.SVC')
    """
    home, _, name = full_name(thing).rpartition(".")
    parts = home.split(".")
    homes = (".".join(parts[:i]) for i in range(1, len(parts) + 1))
    found = (each for each in homes if getattr(sys.modules.get(each), name, None) is thing)
    return f"{next(found, home)}.{name}"


def can_be_found(thing: Any) -> bool:
    """Whether a class or function stands at the top of its module, under its own name.

    Examples
    --------
    >>> can_be_found(full_name), can_be_found(lambda X: X)
    (True, False)
    """
    module = sys.modules.get(str(getattr(thing, "__module__", None)))
    name = getattr(thing, "__qualname__", None)
    return isinstance(name, str) and getattr(module, name, None) is thing
