"""Estimators and other objects that consist of their attributes, made without their constructors.

Each object of a listed class is checked (`plcp.storage.validate`) before anything uses it.
"""

from functools import cached_property
from typing import Any

import numpy as np

from plcp._options import shown
from plcp.storage.allowlist import REMEDY, find, find_trusted, is_importable, is_listed, stored_name
from plcp.storage.codec import Codec, Decoder, Encoder
from plcp.storage.validate import check_estimator, complete, remade

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class written in Python, with nothing but attributes
TWISTER = 624  # words in the state of a Mersenne twister


def encode_class(value: Any, encoder: Encoder) -> str:
    """Return the name of an object's class."""
    cls = type(value)
    if hasattr(cls, "to_local"):
        raise encoder.refusal(value, "store what its to_local() gives, which needs no cluster")
    if cls.__module__.startswith("plcp.") and not is_listed(cls):
        raise encoder.refusal(value, "it is no part of a model that can be used again")
    if not is_importable(cls):
        raise encoder.refusal(value, f"define its class {REMEDY}")
    if cls.__module__.startswith("sklearn."):
        encoder.packages.add("scikit-learn")
    is_checked = is_listed(cls)
    try:
        if is_checked:
            check_estimator(value)
    except ValueError:
        is_checked = False
    if not is_checked:
        encoder.needs_trust(cls)
    return stored_name(cls)


def encode_attributes(attributes: dict[str, Any], encoder: Encoder) -> dict[str, Any]:
    """Return what stands for attributes, by their names."""
    return {name: encoder.value(value, f".{name}") for name, value in attributes.items()}


def decode_attributes(content: Any, decoder: Decoder) -> dict[str, Any]:
    """Return attributes by their names."""
    for name in content:
        if not name.isidentifier() or name.startswith("__"):
            # numpy would follow an address in __array_interface__
            raise ValueError(f"an attribute has the name {shown(name)}: do not use it")
    return {name: decoder.value(value) for name, value in content.items()}


def check_attributes(cls: type[Any], attributes: dict[str, Any]) -> None:
    """Refuse attributes in place of methods and of cached properties.

    An object without the method that checks its rows would lead compiled code out of bounds.
    """
    for name in attributes:
        own = getattr(cls, name, None)
        if callable(own) or isinstance(own, cached_property):
            raise ValueError(f"it has its own {cls.__name__}.{name}: do not use it")


def _encode_object(value: Any, encoder: Encoder) -> list[Any]:
    """Class and the attributes that predictions need.

    Left out are cached properties and what describes the calibration rows alone, as a class lists
    in ``_of_rows``: a file does not grow with them.
    """
    cls, left_out = type(value), (*getattr(value, "_of_rows", ()), *remade(value))
    stored = {
        name: attribute
        for name, attribute in vars(value).items()
        if name not in left_out and not isinstance(getattr(cls, name, None), cached_property)
    }
    return [encode_class(value, encoder), encode_attributes(stored, encoder)]


def _decode_object(content: Any, decoder: Decoder) -> Any:
    name, stored = content
    cls = as_class(name, find(name, decoder.trusted))
    made, attributes = object.__new__(cls), decode_attributes(stored, decoder)
    is_checked = is_listed(cls) and cls not in decoder.trusted
    if is_checked:
        check_attributes(cls, attributes)
    vars(made).update(attributes)
    if is_checked:
        check_estimator(made)
    complete(made)
    return made


def is_object(value: Any) -> bool:
    """Whether an object consists of its attributes, as far as its classes show."""
    mro = type(value).__mro__[:-1]
    return hasattr(value, "__dict__") and all(cls.__flags__ & HEAP_TYPE for cls in mro)


def _decode_namedtuple(content: Any, decoder: Decoder) -> Any:
    name, stored = content
    cls = as_class(name, find(name, decoder.trusted), tuple)
    items = decode_attributes(stored, decoder)
    if tuple(items) != cls._fields:
        raise ValueError(f"{name} has other fields")
    return tuple.__new__(cls, items.values())


def as_class(name: Any, found: Any, base: type[Any] = object) -> Any:
    """Return what was found by a name, if it is a class derived from another one."""
    if not isinstance(found, type) or not issubclass(found, base):
        raise ValueError(f"{name} is no class derived from {base.__name__}")
    return found


def _is_compiled(value: Any) -> bool:
    """Whether an object of a compiled class is made by a call of that class, as losses are.

    Those with a state of their own, such as k-d trees, are not stored: a damaged one looks alike.
    """
    cls = type(value)
    if not cls.__module__.startswith("sklearn.") or is_object(value):
        return False
    reduces = any("__reduce__" in vars(base) for base in cls.__mro__[:-1])
    return reduces and _arguments(value) is not None


def _arguments(value: Any) -> tuple[Any, ...] | None:
    """Return what the class of an object is called with, unless it is made in another way."""
    make, arguments, *state = value.__reduce__()
    return arguments if make is type(value) and not any(state) else None


def _encode_compiled(value: Any, encoder: Encoder) -> list[Any]:
    encoder.packages.add("scikit-learn")
    encoder.needs_trust(type(value))
    return [stored_name(type(value)), encoder.value(_arguments(value), "")]


def _decode_compiled(content: Any, decoder: Decoder) -> Any:
    """Call a class that is trusted: nothing of it is checked."""
    name, arguments = content
    return as_class(name, find_trusted(name, decoder.trusted))(*decoder.value(arguments))


def _decode_random(content: Any, decoder: Decoder) -> np.random.RandomState:
    made = np.random.RandomState()
    made.set_state(decoder.value(content))
    if not 0 <= made.get_state(legacy=False)["state"]["pos"] <= TWISTER:  # numpy checks no bounds
        raise ValueError("the state of a random stream is none")
    return made


CODECS = (
    Codec("extension", _is_compiled, _encode_compiled, _decode_compiled),
    Codec(
        "random",
        lambda v: type(v) is np.random.RandomState,
        lambda v, e: e.value(v.get_state(), ""),
        _decode_random,
    ),
    Codec(
        "named",
        lambda v: isinstance(v, tuple) and hasattr(v, "_fields"),
        lambda v, e: [encode_class(v, e), encode_attributes(v._asdict(), e)],
        _decode_namedtuple,
    ),
    Codec("object", is_object, _encode_object, _decode_object),
)
