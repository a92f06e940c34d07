"""Blocks of rows that can be gone through again and again."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

Block = tuple[Any, ...]


class Passes(ABC):
    """Blocks of rows, in memory, in files or on a cluster, to be gone through as often as needed.

    A block is a tuple of arrays or frames with as many rows each. Functions are given a block's
    parts one by one, then the arguments; they must be known by name where other processes are to
    call them. A block may have no rows, and there may be no block.
    """

    @abstractmethod
    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(*block, *args)`` of every block, in their order: something small."""

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of ``function(*block, *args)`` over all blocks."""
        return reduce(add, self.each(function, *args))

    @abstractmethod
    def keep(self, function: Callable[..., Block], *args: Any) -> "Passes":
        """Return the blocks ``function(*block, *args)``, each kept where it was made."""


class Held(Passes):
    """Blocks in memory.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = Held([(np.array([1.0, 2.0]),), (np.array([3.0]),)])
    >>> blocks.total(len), blocks.keep(lambda values: (values + 1,)).each(max)
    (3, [np.float64(3.0), np.float64(4.0)])
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = list(blocks)

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(*block, *args)`` of every block, in their order."""
        return [function(*block, *args) for block in self.blocks]

    def keep(self, function: Callable[..., Block], *args: Any) -> "Held":
        """Return the blocks ``function(*block, *args)``."""
        return Held(self.each(function, *args))
