"""Functions by their names: a file may use few of plcp's and scikit-learn's, and what is trusted.

A partial or a universal function of numpy is code of the file's author: ``partial(np.add, a, b)``
would write into the rows that it is given.
"""

from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from plcp.storage.kinds import Kind
from plcp.storage.names import can_be_found
from plcp.storage.reader import Reader
from plcp.storage.types import found, is_known, name_of, stranger
from plcp.storage.writer import Writer

REMEDY = (
    "define it by def at the top of a module that both programs import, and name it in "
    "load(path, trusted=[...])"
)


def _dump_function(function: Any, writer: Writer) -> str:
    if not isinstance(function, np.ufunc) and not can_be_found(function):
        raise writer.refused(function, REMEDY)
    if isinstance(function, type) or not is_known(function):
        writer.needs_trust(function)
    return name_of(function)


def _load_function(name: Any, reader: Reader) -> Any:
    function = found(name, reader.trusted)
    # a class in place of a function would be made of the rows that the function is for
    return stranger(name, reader.trusted) if isinstance(function, type) else function


def _dump_partial(value: Any, writer: Writer) -> list[Any]:
    writer.needs_trust(partial)
    parts = (value.func, value.args, value.keywords)
    return [writer.value(part, step) for part, step in zip(parts, (".func", "", ""), strict=True)]


def _load_partial(content: Any, reader: Reader) -> Any:
    function, arguments, keywords = (reader.value(part) for part in content)
    return stranger("functools.partial", reader.trusted)(function, *arguments, **keywords)


def _is_function(value: Any) -> bool:
    return isinstance(value, FunctionType | BuiltinFunctionType | np.ufunc | type)


KINDS = (
    Kind("partial", lambda v: type(v) is partial, _dump_partial, _load_partial),
    Kind("function", _is_function, _dump_function, _load_function),
)
