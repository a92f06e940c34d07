"""Numbers of all arrays of a file: those of one type one after the other, in one part each."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

FOLDER = "arrays/"
NUMBERS = "biufc"  # numpy's letters


class FlatArrays:
    """Numbers of each type, in the order in which they were put here."""

    def __init__(self) -> None:
        self.pieces: dict[str, list[NDArray[Any]]] = {}

    def put(self, numbers: NDArray[Any]) -> None:
        """Add numbers behind those of their type, the least byte of each first."""
        little = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False)
        self.pieces.setdefault(little.dtype.str, []).append(little)

    def parts(self) -> dict[str, bytes]:
        """Return one ``.npy`` file a type."""
        return {
            f"{FOLDER}{np.dtype(kind).name}.npy": _npy(np.concatenate(pieces))
            for kind, pieces in sorted(self.pieces.items())
        }


class FlatNumbers:
    """What `FlatArrays` wrote: each number is taken once, in its order."""

    def __init__(self, parts: Mapping[str, bytes]) -> None:
        files = [_flat(part) for name, part in parts.items() if name.startswith(FOLDER)]
        self.left = {numbers.dtype.str: numbers for numbers in files}
        if len(self.left) < len(files):
            raise ValueError("numbers of one type lie in two parts")

    def take(self, dtype: np.dtype[Any], n: int) -> NDArray[Any]:
        """Return a copy of the next numbers of a type."""
        kind = dtype.newbyteorder("<").str
        numbers = self.left.get(kind, np.zeros(0))
        if len(numbers) < n:
            raise ValueError(f"there are fewer numbers of type {kind} than arrays need")
        self.left[kind] = numbers[n:]
        return numbers[:n].astype(dtype)

    def check_empty(self) -> None:
        """Refuse numbers that belong to nothing."""
        kinds = [kind for kind, numbers in self.left.items() if len(numbers)]
        if kinds:
            raise ValueError(f"there are more numbers of type {kinds[0]} than arrays need")


def _npy(numbers: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    npy.write_array(content, numbers, version=(1, 0), allow_pickle=False)
    return content.getvalue()


def _flat(part: bytes) -> NDArray[Any]:
    """Return the numbers of a ``.npy`` file, which are as many as it says, without a copy."""
    content = io.BytesIO(part)
    if npy.read_magic(content) != (1, 0):
        raise ValueError("an array is of no version that is written here")
    shape, _, dtype = npy.read_array_header_1_0(content)
    if len(shape) != 1 or dtype.kind not in NUMBERS:
        raise ValueError(f"an array of {dtype} and shape {shape} is none that is written here")
    start = content.tell()
    if shape[0] * dtype.itemsize != len(part) - start:
        raise ValueError(f"an array says that it has {shape[0]:,} numbers, and has others")
    return np.frombuffer(part, dtype, offset=start)
