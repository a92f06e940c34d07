"""An object as a table of plain entries, each made of values and of entries before it."""

import json
import math
from collections.abc import Sequence
from typing import Any

from plcp.storage.kinds import Kind
from plcp.storage.numbers import FlatArrays

PLAIN = (bool, int, str)
MODEL = "model.json"
FLOAT = "float"  # of one that JSON has no sign for


class Writer:
    """Collects the entries of a model, and the parts that hold what is no JSON.

    Whatever occurs twice is written once, so that what was one object stays one. Nothing refers to
    an entry behind it: a file has no depth, and no circles.

    Parameters
    ----------
    kinds : sequence of Kind
        The first one that suits a value writes it.
    """

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = kinds
        self.arrays = FlatArrays()
        self.strangers: dict[int, Any] = {}  # classes and functions that a reader has to trust
        self.tensors: dict[str, Any] = {}  # for safetensors
        self.texts: dict[str, bytes] = {}  # parts of their own
        self.packages: set[str] = set()  # whose versions matter
        self.met: list[Any] = []  # kept, for the address of a thing that is gone may come again
        self._entries: list[dict[str, Any]] = []
        self._numbers: dict[int, int | None] = {}  # None while under way
        self._path: list[str] = []

    def value(self, value: Any, step: str) -> Any:
        """Return what stands for a value; ``step`` leads to it from the one around it."""
        if value is None or type(value) in PLAIN:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {FLOAT: repr(value)}
        self._path.append(step)
        if id(value) not in self._numbers:
            self._add(value)
        number = self._numbers[id(value)]
        if number is None:
            raise self.refused(value, "it is part of itself, which no file can hold")
        self._path.pop()
        return [number]

    def needs_trust(self, thing: Any) -> None:
        """Note a class or function that a file loads only with, as one of the ``trusted``."""
        self.strangers[id(thing)] = thing

    def entries(self) -> bytes:
        """Return the table as JSON."""
        return json.dumps(self._entries, separators=(",", ":"), allow_nan=False).encode()

    def refused(self, value: Any, remedy: str) -> TypeError:
        """Return the error that says where a value is that cannot be stored."""
        place = "".join(self._path)
        return TypeError(f"{place} is {_shown(value)}, which cannot be stored: {remedy}")

    def _add(self, value: Any) -> None:
        self._numbers[id(value)] = None
        kind = next((kind for kind in self.kinds if kind.suits(value)), None)
        if kind is None:
            raise self.refused(value, "leave it out, or make it of numbers, text and estimators")
        entry = {kind.name: kind.dump(value, self)}
        self.met.append(value)
        self._numbers[id(value)] = len(self._entries)
        self._entries.append(entry)


def _shown(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    if callable(value) and name is not None:
        return f"the function {name}" if "<lambda>" not in name else "a lambda"
    return f"a {type(value).__module__}.{type(value).__qualname__}"
