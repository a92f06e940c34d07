"""Estimators, and other objects that are all in their attributes."""

from functools import cached_property
from typing import Any

import numpy as np

from plcp._options import shown
from plcp.storage import trees as packed_trees
from plcp.storage.kinds import Kind
from plcp.storage.names import can_be_found
from plcp.storage.reader import Reader
from plcp.storage.types import found, is_known, name_of
from plcp.storage.validate import check_estimator, complete, remade
from plcp.storage.writer import Writer

WRITTEN_IN_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE: nothing is hidden from its attributes
BYTES_A_COLUMN = 32  # of what a booster is given anew for each
BYTES_A_NODE = 64  # of its trees, all in all
TWISTER = 624  # words in the state of a Mersenne twister
REMEDY = (
    "define its class at the top of a module that both programs import, and name it in "
    "load(path, trusted=[...])"
)


def dump_class(value: Any, writer: Writer) -> str:
    """Return the name of an object's class."""
    cls = type(value)
    if hasattr(cls, "to_local"):
        raise writer.refused(value, "store what its to_local() gives, which needs no cluster")
    if cls.__module__.startswith("plcp.") and not is_known(cls):
        raise writer.refused(value, "it is no part of a model that can be used again")
    if not can_be_found(cls):
        raise writer.refused(value, REMEDY)
    if cls.__module__.startswith("sklearn."):
        writer.packages.add("scikit-learn")
    if not is_known(cls) or not _is_sound(value):
        writer.needs_trust(cls)
    return name_of(cls)


def _is_sound(value: Any) -> bool:
    """Whether an object of a class that plcp lists passes the checks of `load`."""
    try:
        check_estimator(value)
    except ValueError:
        return False
    return True


def dump_state(state: dict[str, Any], writer: Writer) -> dict[str, Any]:
    """Return attributes by their names."""
    return {name: writer.value(value, f".{name}") for name, value in state.items()}


def load_state(content: Any, reader: Reader) -> dict[str, Any]:
    """Return attributes by their names."""
    for name in content:
        if not name.isidentifier() or name.startswith("__"):
            # numpy would follow an address in __array_interface__
            raise ValueError(f"an attribute has the name {shown(name)}: do not use it")
    return {name: reader.value(value) for name, value in content.items()}


def kept(value: Any) -> dict[str, Any]:
    """Return the attributes that new rows need.

    What is made anew when asked for is left out, and what speaks of the rows of calibration alone,
    as a class says in ``_of_rows``: a file does not grow with them.
    """
    cls, left_out = type(value), (*getattr(value, "_of_rows", ()), *remade(value))
    return {
        name: attribute
        for name, attribute in vars(value).items()
        if name not in left_out and not isinstance(getattr(cls, name, None), cached_property)
    }


def check_attributes(cls: type[Any], state: dict[str, Any]) -> None:
    """Refuse attributes in place of methods, and of what is made anew when asked for.

    An object without the method that checks its rows would lead compiled code astray.
    """
    for name in state:
        own = getattr(cls, name, None)
        if callable(own) or isinstance(own, cached_property):
            raise ValueError(f"it has its own {cls.__name__}.{name}: do not use it")


def _dump_object(value: Any, writer: Writer) -> list[Any]:
    return [dump_class(value, writer), dump_state(kept(value), writer)]


def _load_object(content: Any, reader: Reader) -> Any:
    name, state = content
    cls = _class(name, reader)
    made, attributes = object.__new__(cls), load_state(state, reader)
    is_checked = is_known(cls) and cls not in reader.trusted
    if is_checked:
        check_attributes(cls, attributes)
    vars(made).update(attributes)
    if is_checked:
        check_estimator(made)
    complete(made)
    return made


def _dump_named(value: Any, writer: Writer) -> list[Any]:
    items = zip(value._fields, value, strict=True)
    return [dump_class(value, writer), dump_state(dict(items), writer)]


def _load_named(content: Any, reader: Reader) -> Any:
    name, state = content
    cls, items = _class(name, reader), load_state(state, reader)
    if not issubclass(cls, tuple) or tuple(items) != cls._fields:
        raise ValueError(f"{name} has other fields")
    return tuple.__new__(cls, items.values())


def _class(name: Any, reader: Reader) -> Any:
    cls = found(name, reader.trusted)
    if not isinstance(cls, type):
        raise ValueError(f"{name} is no class")
    return cls


def _load_booster(content: Any, reader: Reader) -> Any:
    name, told = content
    state = load_state(told, reader)
    reader.spend(BYTES_A_COLUMN * int(state.get("n_features_in_", 0)))
    reader.spend(BYTES_A_NODE * len(state.get(packed_trees.TREES, {}).get("flags", ())))
    return packed_trees.unpack(name, state)


def _dump_booster(value: Any, writer: Writer) -> list[Any]:
    writer.packages.add("scikit-learn")
    if value.warm_start or not isinstance(value.loss, str):
        # growing on would need the bins of all rows, and a loss of one's own is code
        raise writer.refused(value, "fit it with warm_start=False and a loss by its name")
    return [type(value).__name__, dump_state(packed_trees.pack(value), writer)]


def _load_random(content: Any, reader: Reader) -> np.random.RandomState:
    made = np.random.RandomState()
    made.set_state(reader.value(content))
    check_stream(made)
    return made


def check_stream(stream: np.random.RandomState) -> None:
    """Refuse a stream that goes on from a place that it does not have; numpy looks at no bounds."""
    if not 0 <= stream.get_state(legacy=False)["state"]["pos"] <= TWISTER:
        raise ValueError("the state of a random stream is none")


def is_object(value: Any) -> bool:
    """Whether an object is all in its attributes, as far as can be told."""
    mro = type(value).__mro__[:-1]
    return hasattr(value, "__dict__") and all(cls.__flags__ & WRITTEN_IN_PYTHON for cls in mro)


KINDS = (
    Kind("booster", packed_trees.is_booster, _dump_booster, _load_booster),
    Kind(
        "random",
        lambda v: type(v) is np.random.RandomState,
        lambda v, w: w.value(v.get_state(), ""),
        _load_random,
    ),
    Kind(
        "named", lambda v: isinstance(v, tuple) and hasattr(v, "_fields"), _dump_named, _load_named
    ),
    Kind("object", is_object, _dump_object, _load_object),
)
