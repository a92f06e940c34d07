"""The ways in which a value becomes plain JSON, and back; one ``Kind`` each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plcp.storage.reader import Reader
    from plcp.storage.writer import Writer


@dataclass(frozen=True)
class Kind:
    """A name, whom it suits, and both directions.

    ``dump`` gives what JSON can hold, with ``writer.value`` for all that a value is made of;
    ``load`` makes the value again, with ``reader.value``, and calls nothing that the file names.
    """

    name: str
    suits: Callable[[Any], bool]
    dump: Callable[[Any, "Writer"], Any]
    load: Callable[[Any, "Reader"], Any]
