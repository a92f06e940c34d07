"""Blocks of rows that lie on disk: only one of them is in memory at a time."""

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from plcp.blocks import Passes
from plcp.blocks.passes import Block, added
from plcp.files.atomic import told_when_full

ELSEWHERE = "free some space, or name a folder on another disk by the variable TMPDIR"
Place = tuple[np.dtype[Any], tuple[int, ...], int]  # type, shape, and where an array begins


class Stored(Passes):
    """Blocks that are read anew at every pass; what is kept goes to temporary files.

    The files have no name and are gone with the last who looks at them, or with the program.

    Parameters
    ----------
    blocks : callable
        Gives the blocks one by one, whenever it is called.

    Examples
    --------
    >>> halves = Stored(lambda: ((np.arange(n) / 2,) for n in (2, 0, 3)))
    >>> halves.keep(lambda values: (values + 1,)).each(np.sum)
    [np.float64(2.5), np.float64(0.0), np.float64(4.5)]
    """

    def __init__(self, blocks: Callable[[], Iterable[Block]]) -> None:
        self._blocks = blocks

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(*block, *args)`` of every block, in their order: something small."""
        return [function(*block, *args) for block in self._blocks()]

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of ``function(*block, *args)`` over all blocks."""
        return added(function(*block, *args) for block in self._blocks())

    def keep(self, function: Callable[..., Block], *args: Any) -> "Stored":
        """Return the blocks ``function(*block, *args)``, arrays each, kept on disk."""
        kept = Kept()
        for block in self._blocks():
            kept.append(function(*block, *args))
        return Stored(kept.blocks)

    def gather(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call ``function(blocks, *args)`` with a list of all blocks."""
        return function(list(self._blocks()), *args)

    def fetch(self, reference: Any) -> Any:
        """Return the reference: all is here."""
        return reference

    def beside(self, *blocks: Block) -> "Stored":
        """Return these blocks and more."""
        return Stored(lambda: chain(self._blocks(), blocks))


class Kept:
    """Blocks of arrays in temporary files, one for each place in a block."""

    def __init__(self) -> None:
        self._files: list[IO[bytes]] = []
        self._arrays: list[list[Place]] = []
        self._open = ExitStack()
        weakref.finalize(self, self._open.close)

    def append(self, block: Block) -> None:
        """Write one more block."""
        while len(self._files) < len(block):
            file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (the stack closes it)
            self._files.append(self._open.enter_context(file))
        with told_when_full(f"temporary files in {tempfile.gettempdir()}", ELSEWHERE):
            self._arrays.append([*map(_written, self._files, block)])

    def blocks(self) -> Iterator[Block]:
        """Give the blocks one by one, as arrays that are mapped into memory."""
        for arrays in self._arrays:
            yield tuple(map(_mapped, self._files, *zip(*arrays, strict=True)))


def _written(file: IO[bytes], array: NDArray[Any]) -> Place:
    place = file.seek(0, os.SEEK_END)
    left = np.ascontiguousarray(array).data.cast("B") if array.size else b""
    while left:  # without a buffer a file may take a part only
        left = left[file.write(left) :]
    return array.dtype, array.shape, place


def _mapped(
    file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], place: int
) -> NDArray[Any]:
    if 0 in shape:  # nothing cannot be mapped
        return np.empty(shape, dtype)
    return np.memmap(file, dtype, "r", place, shape)
