"""Blocks of rows, in memory, in files or on a cluster, and passes over them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

Block = tuple[Any, ...]


class Passes(ABC):
    """Blocks of rows, in memory, in files or on a cluster, which functions are applied to.

    A block is a tuple of arrays or frames with the same number of rows. Functions are given the
    members of a block, then the arguments; other processes must be able to import them. A block
    may have no rows, and there may be no block.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.out_of_core import Held
    >>> blocks = Held([(np.array([1.0, 2.0]),), (np.array([3.0]),)])
    >>> blocks.total(np.sum), blocks.then(lambda values: (values * 2,)).each(len)
    (np.float64(6.0), [2, 1])
    """

    @abstractmethod
    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(*block, *args)`` of every block, in their order: something small."""

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of ``function(*block, *args)`` over all blocks; 0, if there is none."""
        return added(self.each(function, *args))

    @abstractmethod
    def keep(self, function: Callable[..., Block], *args: Any) -> "Passes":
        """Return the blocks ``function(*block, *args)``, each kept where it was made."""

    def then(self, function: Callable[..., Block], *args: Any) -> "Passes":
        """Return the blocks ``function(*block, *args)``, made again at every pass."""
        return Then(self, function, args)


def added(parts: Iterable[Any]) -> Any:
    """Sum of anything that can be added; 0 if there is nothing."""
    parts = iter(parts)
    return reduce(add, parts, next(parts, 0))


class Then(Passes):
    """Blocks that a function makes of other blocks at every pass."""

    def __init__(
        self, source: Passes, function: Callable[..., Block], args: tuple[Any, ...]
    ) -> None:
        self.source, self.function, self.args = source, function, args

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(*block, *args)`` of every block, in their order."""
        return self.source.each(InTurn(self.function, function, len(args)), *self.args, *args)

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of ``function(*block, *args)`` over all blocks."""
        return self.source.total(InTurn(self.function, function, len(args)), *self.args, *args)

    def keep(self, function: Callable[..., Block], *args: Any) -> Passes:
        """Return the blocks ``function(*block, *args)``, each kept where it was made."""
        return self.source.keep(InTurn(self.function, function, len(args)), *self.args, *args)


@dataclass(frozen=True)
class InTurn:
    """Composition of two functions of blocks; the arguments of the first come first."""

    first: Callable[..., Block]
    second: Callable[..., Any]
    n_second: int

    def __call__(self, *given: Any) -> Any:
        """Call the second function on the result of the first."""
        middle = len(given) - self.n_second
        block = self.first(*given[:middle])
        return self.second(*block, *given[middle:])


class Held(Passes):
    """Blocks in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.out_of_core import Held
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
