"""What was told as plain values, or as JSON, read back: neither more nor less than that."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn


class Told(NamedTuple):
    """What plain values should be, and what had told it.

    Examples
    --------
    >>> told = Told("certificate", "those of to_dict")
    >>> told.check_keys({"alpha": 0.1}, {"alpha", "target"})
    Traceback (most recent call last):
    ValueError: no certificate but values without ['target']: give those of to_dict
    """

    what: str
    source: str

    def parse(self, text: Any) -> Any:
        """Return the values of a JSON text, which may hold no NaN or Infinity."""
        constants: list[str] = []
        try:
            values = json.loads(text, parse_constant=constants.append)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"no {self.what}: {error}; give {self.source}") from error
        if constants:
            self.refuse(f"with {constants[0]}")
        return values

    def check_keys(self, values: Any, wanted: set[str]) -> None:
        """Refuse what is no mapping with just these keys."""
        found = {*values} if isinstance(values, Mapping) else set()
        if missing := sorted(wanted - found):
            self.refuse(f"without {missing}")
        if extra := sorted(map(str, found - wanted)):
            self.refuse(f"with {extra}")

    def refuse(self, fault: str) -> NoReturn:
        """Say what is wrong with values."""
        raise ValueError(f"no {self.what} but values {fault}: give {self.source}")
