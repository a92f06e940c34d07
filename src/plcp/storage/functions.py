"""Functions by their names, of which a file may use few, and those of numpy."""

from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from plcp.storage.kinds import Kind
from plcp.storage.names import can_be_found
from plcp.storage.reader import Reader
from plcp.storage.types import found, name_of
from plcp.storage.writer import Writer

REMEDY = (
    "define it by def at the top of a module that both programs import, and name it in "
    "load(path, trusted=[...])"
)


def _dump_function(function: Any, writer: Writer) -> str:
    if not can_be_found(function):
        raise writer.refused(function, REMEDY)
    return name_of(function)


def _load_ufunc(name: Any, reader: Reader) -> Any:
    function = getattr(np, name, None) if isinstance(name, str) else None
    if not isinstance(function, np.ufunc):
        raise ValueError(f"{name!r} names no function of numpy")
    return function


def _dump_partial(value: Any, writer: Writer) -> list[Any]:
    parts = (value.func, value.args, value.keywords)
    return [writer.value(part, step) for part, step in zip(parts, (".func", "", ""), strict=True)]


def _load_partial(content: Any, reader: Reader) -> Any:
    function, arguments, keywords = (reader.value(part) for part in content)
    return partial(function, *arguments, **keywords)


def _is_function(value: Any) -> bool:
    return isinstance(value, FunctionType | BuiltinFunctionType | type)


KINDS = (
    Kind("ufunc", lambda v: isinstance(v, np.ufunc), lambda v, w: v.__name__, _load_ufunc),
    Kind("partial", lambda v: type(v) is partial, _dump_partial, _load_partial),
    Kind("function", _is_function, _dump_function, lambda c, r: found(c, r.trusted)),
)
