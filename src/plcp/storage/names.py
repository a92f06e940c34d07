"""Names by which classes and functions are found again."""

import sys
from typing import Any


def full_name(thing: Any) -> str:
    """Return module and name of a class or function.

    Examples
    --------
    >>> from collections import Counter
    >>> full_name(Counter)
    'collections.Counter'
    """
    return f"{thing.__module__}.{thing.__qualname__}"


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
