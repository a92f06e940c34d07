"""The table of entries that a model is stored as: each made of values and of entries before it.

A `Codec` turns values of one type into JSON and back. An `Encoder` writes the table of a model, a
`Decoder` makes the model again, entry by entry, within bounds on memory, depth and sharing. Numbers
of arrays lie apart, in one ``.npy`` part per type.
"""

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from plcp._options import shown

MODEL = "model.json"
ARRAYS = "arrays/"
NUMBERS = "biufc"  # numpy's letters
PLAIN = (bool, int, float, str)
FLOAT = "float"  # of an infinity or nan, which JSON cannot hold
FREE_BYTES = 2**26
MAX_RATIO = 16  # of memory to parts: trees are packed tightly
MAX_DEPTH = 64  # of values in values; freeing a chain of object arrays recurses in C
FREE_VALUES = 2**22  # in the model, where a shared part counts as often as it occurs
# bytes that Python takes for what begins with these characters of a JSON text
JSON_BYTES = {b"{": 240, b"[": 64, b",": 16, b'"': 32}
MAX_JSON_BYTES = 2**28


@dataclass(frozen=True)
class Codec:
    """How values of one type become JSON, and back.

    ``encode`` returns what JSON can hold, with ``encoder.value`` for all that a value contains;
    ``decode`` makes the value again, with ``decoder.value``, and calls nothing that the file names.
    """

    name: str
    matches: Callable[[Any], bool]
    encode: Callable[[Any, "Encoder"], Any]
    decode: Callable[[Any, "Decoder"], Any]


class Encoder:
    """Collects the entries of a model, and the parts that are not JSON.

    The first of ``codecs`` that matches a value encodes it. An object that occurs twice is written
    once, so that it stays one object. No entry refers to a later one: a file has no depth and no
    cycles.
    """

    def __init__(self, codecs: Sequence[Codec]) -> None:
        self.codecs = codecs
        self.numbers: dict[str, list[NDArray[Any]]] = {}  # by type, in the order of the entries
        self.unlisted: dict[int, Any] = {}  # classes and functions that `load` must be given
        self.tensors: dict[str, Any] = {}  # for safetensors
        self.texts: dict[str, bytes] = {}  # parts of their own
        self.packages: set[str] = set()  # whose versions matter
        self.visited: list[Any] = []  # kept alive: the address of a freed object may come again
        self._entries: list[dict[str, Any]] = []
        self._places: dict[int, int | None] = {}  # None while under way
        self._path: list[str] = []

    def value(self, value: Any, step: str) -> Any:
        """Return what stands for a value; ``step`` leads to it from the one around it."""
        if type(value) is float and not math.isfinite(value):
            return {FLOAT: repr(value)}
        if value is None or type(value) in PLAIN:
            return value
        self._path.append(step)
        if id(value) not in self._places:
            self._places[id(value)] = None
            codec = next((codec for codec in self.codecs if codec.matches(value)), None)
            if codec is None:
                remedy = "leave it out, or make it of numbers, text and estimators"
                raise self.refusal(value, remedy)
            entry = {codec.name: codec.encode(value, self)}
            self.visited.append(value)
            self._places[id(value)] = len(self._entries)
            self._entries.append(entry)
        place = self._places[id(value)]
        if place is None:
            raise self.refusal(value, "it is part of itself, which no file can hold")
        self._path.pop()
        return [place]

    def add_numbers(self, numbers: NDArray[Any]) -> None:
        """Append numbers to those of their type, little-endian."""
        little = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False)
        self.numbers.setdefault(little.dtype.str, []).append(little)

    def needs_trust(self, thing: Any) -> None:
        """Note a class or function without which, as one of ``trusted``, a file does not load."""
        self.unlisted[id(thing)] = thing

    def parts(self) -> dict[str, bytes]:
        """Return the entries as JSON, one ``.npy`` file per type of numbers, and the texts."""
        entries = json.dumps(self._entries, separators=(",", ":"), allow_nan=False).encode()
        parts = {MODEL: entries}
        for dtype, pieces in sorted(self.numbers.items()):
            content = io.BytesIO()
            npy.write_array(content, np.concatenate(pieces), version=(1, 0), allow_pickle=False)
            parts[f"{ARRAYS}{np.dtype(dtype).name}.npy"] = content.getvalue()
        return parts | self.texts

    def refusal(self, value: Any, remedy: str) -> TypeError:
        """Return the error that says where a value is that cannot be stored."""
        name = getattr(value, "__qualname__", None)
        what = f"a {type(value).__module__}.{type(value).__qualname__}"
        if callable(value) and name is not None:
            what = "a lambda" if "<lambda>" in name else f"the function {name}"
        place = "".join(self._path)
        return TypeError(f"{place} is {what}, which cannot be stored: {remedy}")


class Decoder:
    """Makes the entries of a file from its parts, one after the other.

    Entries may name ``codecs``, and beside what plcp lists the classes and functions ``trusted``.
    """

    def __init__(
        self, parts: Mapping[str, bytes], codecs: Sequence[Codec], trusted: Sequence[Any] = ()
    ) -> None:
        self.parts, self.trusted = parts, trusted
        self.codecs = {codec.name: codec for codec in codecs}
        self.cache: dict[str, Any] = {}  # of parts that are unpacked at once
        arrays = [_flat(part) for name, part in parts.items() if name.startswith(ARRAYS)]
        self._numbers = {numbers.dtype.str: numbers for numbers in arrays}  # not taken so far
        if len(self._numbers) < len(arrays):
            raise ValueError("numbers of one type lie in two parts")
        n_bytes = sum(map(len, parts.values()))
        self._budget = FREE_BYTES + MAX_RATIO * n_bytes
        self._max_values = FREE_VALUES + n_bytes
        self._made: list[Any] = []
        # of each entry: values in it, shared ones as often as they occur, and its nesting depth
        self._sizes: list[int] = []
        self._depths: list[int] = []
        self._size = self._depth = 0  # of the entry that is being made

    def model(self) -> Any:
        """Return the last entry, which all others are for."""
        for entry in parse_json(self.parts[MODEL]):
            ((name, content),) = entry.items()
            if name not in self.codecs:
                raise ValueError(f"no value is of the type {shown(name)}")
            self._size = self._depth = 0
            self._made.append(self.codecs[name].decode(content, self))
            self._sizes.append(self._size + 1)
            self._depths.append(self._depth + 1)
            if self._sizes[-1] > self._max_values or self._depths[-1] > MAX_DEPTH:
                raise ValueError("its values are nested deeper, or shared more often, than any's")
        for dtype, numbers in self._numbers.items():
            if len(numbers):
                raise ValueError(f"there are more numbers of type {dtype} than arrays need")
        return self._made[-1]

    def value(self, stored: Any) -> Any:
        """Return the value that an item of an entry stands for."""
        self._size += 1
        if stored is None or type(stored) in PLAIN:
            return stored
        if type(stored) is list:
            (place,) = stored
            if type(place) is not int or not 0 <= place < len(self._made):
                raise ValueError(f"there is no entry {shown(place)} before this one")
            self._size += self._sizes[place]
            self._depth = max(self._depth, self._depths[place])
            return self._made[place]
        if stored.keys() != {FLOAT}:
            raise ValueError(f"{shown(sorted(stored))} stands for no value")
        return float(stored[FLOAT])

    def take_numbers(self, dtype: np.dtype[Any], n: int) -> NDArray[Any]:
        """Return a copy of the next numbers of a type; each is taken once."""
        name = dtype.newbyteorder("<").str
        numbers = self._numbers.get(name, np.zeros(0))
        if len(numbers) < n:
            raise ValueError(f"there are fewer numbers of type {name} than arrays need")
        self._numbers[name] = numbers[n:]
        return numbers[:n].astype(dtype)

    def charge(self, n_bytes: int) -> None:
        """Refuse a file that would become much larger in memory than it is."""
        self._size += n_bytes // 8
        self._budget -= n_bytes
        if self._budget < 0:
            raise ValueError("it would fill more memory than a model needs")


def parse_json(text: bytes) -> Any:
    """Return the values of a JSON text, unless they would take much more memory than it does."""
    needed = len(text) + sum(size * text.count(sign) for sign, size in JSON_BYTES.items())
    if needed > MAX_JSON_BYTES:
        raise ValueError(f"a part in JSON would take {needed:,} bytes, more than any model's")
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} stands for no value")


def _flat(part: bytes) -> NDArray[Any]:
    """Return the numbers of a ``.npy`` file, as many as its header declares, without a copy."""
    content = io.BytesIO(part)
    if npy.read_magic(content) != (1, 0):
        raise ValueError("an array has a version of .npy that plcp does not write")
    try:
        shape, _, dtype = npy.read_array_header_1_0(content)
    except ValueError as error:
        raise ValueError("an array has a header that numpy does not write") from error
    if len(shape) != 1 or dtype.kind not in NUMBERS:
        raise ValueError(f"an array of {dtype} and shape {shape} is none that plcp writes")
    start = content.tell()
    if shape[0] * dtype.itemsize != len(part) - start:
        raise ValueError(f"an array declares {shape[0]:,} numbers and has others")
    return np.frombuffer(part, dtype, offset=start)
