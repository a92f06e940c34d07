"""Objects of scikit-learn's compiled classes that are made from a few values, such as its losses.

None is checked, so that a reader has to trust each. Those with a state of their own, such as k-d
trees, are not stored: they could not be told from damaged ones.
"""

from typing import Any

from plcp.storage.kinds import Kind
from plcp.storage.objects import is_object
from plcp.storage.reader import Reader
from plcp.storage.types import name_of, stranger
from plcp.storage.writer import Writer


def _is_compiled(value: Any) -> bool:
    """Whether an object of a compiled class is made by a call of that class, as pickle would."""
    cls = type(value)
    if not cls.__module__.startswith("sklearn.") or is_object(value):
        return False
    has_own = any("__reduce__" in vars(base) for base in cls.__mro__[:-1])
    return has_own and _call(value) is not None


def _call(value: Any) -> tuple[Any, ...] | None:
    """Return what the class of an object is called with, unless it is made in another way."""
    make, arguments, *state = value.__reduce__()
    return arguments if make is type(value) and not any(state) else None


def _dump(value: Any, writer: Writer) -> list[Any]:
    writer.packages.add("scikit-learn")
    writer.needs_trust(type(value))
    return [name_of(type(value)), writer.value(_call(value), "")]


def _load(content: Any, reader: Reader) -> Any:
    name, arguments = content
    cls = stranger(name, reader.trusted)
    if not isinstance(cls, type):
        raise ValueError(f"{name} is no class")
    return cls(*reader.value(arguments))


KINDS = (Kind("extension", _is_compiled, _dump, _load),)
