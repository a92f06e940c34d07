"""Lists, tuples, dicts, sets and slices."""

from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from plcp.storage.kinds import Kind
from plcp.storage.reader import Reader
from plcp.storage.writer import Writer

BITS = 64  # of a whole number that is a key
DICTS = (dict, OrderedDict, defaultdict)  # all come back as the first


def _dump_items(items: Any, writer: Writer) -> list[Any]:
    return [writer.value(item, f"[{i}]") for i, item in enumerate(items)]


def _load_items(content: Any, reader: Reader) -> list[Any]:
    return [reader.value(item) for item in content]


def _dump_pairs(pairs: dict[Any, Any], writer: Writer) -> list[Any]:
    return [
        [writer.value(key, f" key {key!r}"), writer.value(value, f"[{key!r}]")]
        for key, value in pairs.items()
    ]


def _load_pairs(content: Any, reader: Reader) -> dict[Any, Any]:
    return {_key(reader.value(key)): reader.value(value) for key, value in content}


def _key(value: Any) -> Any:
    """Return a key that is quickly hashed: tuples of tuples may take for ever.

    Of whole numbers without end as many as one likes have the same hash.
    """
    is_plain = value is None or isinstance(value, bool | int | float | str | np.generic)
    if not is_plain or (type(value) is int and value.bit_length() > BITS):
        raise ValueError(f"a key is a {type(value).__name__}, as in no model")
    return value


def _dump_set(values: Any, writer: Writer) -> list[Any]:
    try:
        return _dump_items(sorted(values), writer)  # a set has no order of its own
    except TypeError:
        raise writer.refused(values, "give a list in its place") from None


def _load_slice(content: Any, reader: Reader) -> slice:
    start, stop, step = _load_items(content, reader)
    return slice(start, stop, step)


KINDS = (
    Kind("list", lambda v: type(v) is list, _dump_items, _load_items),
    Kind("tuple", lambda v: type(v) is tuple, _dump_items, lambda c, r: tuple(_load_items(c, r))),
    Kind("dict", lambda v: type(v) in DICTS, _dump_pairs, _load_pairs),
    Kind("bunch", lambda v: type(v) is Bunch, _dump_pairs, lambda c, r: Bunch(**_load_pairs(c, r))),
    Kind("set", lambda v: type(v) is set, _dump_set, lambda c, r: {*map(_key, _load_items(c, r))}),
    Kind(
        "slice",
        lambda v: type(v) is slice,
        lambda v, w: _dump_items((v.start, v.stop, v.step), w),
        _load_slice,
    ),
)
