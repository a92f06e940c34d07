"""The object of a table of entries: made one by one, from nothing but what a file may name."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from plcp._options import shown
from plcp.storage.kinds import Kind
from plcp.storage.numbers import FlatNumbers
from plcp.storage.writer import FLOAT, MODEL

FREE_BYTES = 2**26
MOST_RATIO = 16  # of memory to parts: trees are packed tightly
MOST_DEPTH = 64  # of values in values; freeing a chain of object arrays recurses in C
FREE_VALUES = 2**22  # in the model, where a shared part counts as often as it occurs
PLAIN = (bool, int, float, str)
# bytes that Python takes for what begins with these characters of a JSON text
JSON_BYTES = {b"{": 240, b"[": 64, b",": 16, b'"': 32}
MOST_JSON_BYTES = 2**28


class Reader:
    """What the entries of a file are made from.

    Parameters
    ----------
    parts : mapping of str to bytes
        Parts of the file.
    kinds : sequence of Kind
        Those that entries may be of.
    trusted : sequence of classes and functions
        What the file may name beside what plcp itself knows.
    """

    def __init__(
        self, parts: Mapping[str, bytes], kinds: Sequence[Kind], trusted: Sequence[Any] = ()
    ) -> None:
        self.parts, self.trusted = parts, trusted
        self.kinds = {kind.name: kind for kind in kinds}
        self.numbers = FlatNumbers(parts)
        self.cache: dict[str, Any] = {}  # of parts that are unpacked at once
        n_bytes = sum(map(len, parts.values()))
        self._budget = FREE_BYTES + MOST_RATIO * n_bytes
        self._most_values = FREE_VALUES + n_bytes
        self._made: list[Any] = []
        # of each entry: values in it, shared ones as often as they occur, and levels below it
        self._sizes: list[int] = []
        self._depths: list[int] = []
        self._size = self._depth = 0  # of the entry that is being made

    def model(self) -> Any:
        """Return the last entry, which all others are for."""
        for entry in parsed_json(self.parts[MODEL]):
            ((name, content),) = entry.items()
            if name not in self.kinds:
                raise ValueError(f"no value is of the kind {shown(name)}")
            self._size = self._depth = 0
            self._made.append(self.kinds[name].load(content, self))
            self._sizes.append(self._size + 1)
            self._depths.append(self._depth + 1)
            if self._sizes[-1] > self._most_values or self._depths[-1] > MOST_DEPTH:
                raise ValueError("its values are nested deeper, or shared more often, than any's")
        self.numbers.check_empty()
        return self._made[-1]

    def value(self, told: Any) -> Any:
        """Return what stands behind a value of an entry."""
        self._size += 1
        if told is None or type(told) in PLAIN:
            return told
        if type(told) is list:
            (number,) = told
            if type(number) is not int or not 0 <= number < len(self._made):
                raise ValueError(f"there is no entry {shown(number)} before this one")
            self._size += self._sizes[number]
            self._depth = max(self._depth, self._depths[number])
            return self._made[number]
        if told.keys() != {FLOAT}:
            raise ValueError(f"{shown(sorted(told))} stands for no value")
        return float(told[FLOAT])

    def spend(self, n_bytes: int) -> None:
        """Refuse a file that would become much larger in memory than it is."""
        self._size += n_bytes // 8
        self._budget -= n_bytes
        if self._budget < 0:
            raise ValueError("it would fill more memory than a model needs")


def parsed_json(text: bytes) -> Any:
    """Return the values of a JSON text, unless they would take much more memory than it does."""
    needed = len(text) + sum(size * text.count(sign) for sign, size in JSON_BYTES.items())
    if needed > MOST_JSON_BYTES:
        raise ValueError(f"a part in JSON would take {needed:,} bytes, more than any model's")
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} stands for no value")
