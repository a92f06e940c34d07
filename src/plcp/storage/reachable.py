"""All objects within others."""

from collections.abc import Iterator
from typing import Any

import numpy as np


def reachable(root: Any) -> Iterator[Any]:
    """Go through an object, its attributes and items, theirs, and so on, each once.

    Examples
    --------
    >>> sorted(each for each in reachable([1, {"a": (2, 1)}]) if isinstance(each, int))
    [1, 2]
    """
    seen: set[int] = set()
    left = [root]
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        left += _within(value)


def _within(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    if isinstance(value, list | tuple):
        return [*value]
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else []
    return [] if isinstance(value, type) else [*getattr(value, "__dict__", {}).values()]
