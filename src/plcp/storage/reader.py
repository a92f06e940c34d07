"""The object of a table of entries: made one by one, from nothing but what a file may name."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from plcp.storage.kinds import Kind
from plcp.storage.numbers import FlatNumbers
from plcp.storage.writer import FLOAT, MODEL

FREE_BYTES = 2**26
MOST_RATIO = 16  # of memory to parts: trees are packed tightly
PLAIN = (bool, int, float, str)


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
        self._budget = FREE_BYTES + MOST_RATIO * sum(map(len, parts.values()))
        self._made: list[Any] = []

    def model(self) -> Any:
        """Return the last entry, which all others are for."""
        entries = json.loads(self.parts[MODEL], parse_constant=_refuse_constant)
        for entry in entries:
            ((name, content),) = entry.items()
            if name not in self.kinds:
                raise ValueError(f"no value is of the kind {name!r}")
            self._made.append(self.kinds[name].load(content, self))
        self.numbers.check_empty()
        return self._made[-1]

    def value(self, told: Any) -> Any:
        """Return what stands behind a value of an entry."""
        if told is None or type(told) in PLAIN:
            return told
        if type(told) is list:
            (number,) = told
            if type(number) is not int or not 0 <= number < len(self._made):
                raise ValueError(f"there is no entry {number!r} before this one")
            return self._made[number]
        if told.keys() != {FLOAT}:
            raise ValueError(f"{sorted(told)} stands for no value")
        return float(told[FLOAT])

    def spend(self, n_bytes: int) -> None:
        """Refuse a file that would become much larger in memory than it is."""
        self._budget -= n_bytes
        if self._budget < 0:
            raise ValueError("it would fill more memory than a model needs")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} stands for no value")
