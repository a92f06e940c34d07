"""Values that models are made of: containers, arrays and scalars of numpy, arrays of Arrow."""

import math
import sys
from collections import OrderedDict, defaultdict
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from plcp._options import shown
from plcp.storage.codec import NUMBERS, Codec, Decoder, Encoder

DICTS = (dict, OrderedDict, defaultdict)  # all come back as dict
MAX_KEY_BITS = 64
TIMES, TEXTS = "mM", "US"  # numpy's letters
SCALARS = "biufU" + TIMES  # np.bytes_ of a number would be so many bytes
ORDERS = ("C", "F")
BUILTINS = {cls.__name__: cls for cls in (bool, int, float, str, object)}
BYTES_PER_TEXT = 16  # of Arrow, beside its characters


def _encode_items(items: Any, encoder: Encoder) -> list[Any]:
    return [encoder.value(item, f"[{i}]") for i, item in enumerate(items)]


def _decode_items(content: Any, decoder: Decoder) -> list[Any]:
    return [decoder.value(item) for item in content]


def _encode_pairs(pairs: dict[Any, Any], encoder: Encoder) -> list[Any]:
    return [
        [encoder.value(key, f" key {key!r}"), encoder.value(value, f"[{key!r}]")]
        for key, value in pairs.items()
    ]


def _decode_pairs(content: Any, decoder: Decoder) -> dict[Any, Any]:
    return {_key(decoder.value(key)): decoder.value(value) for key, value in content}


def _key(value: Any) -> Any:
    """Return a key that is hashed quickly: tuples of tuples may take for ever.

    Of integers of any length arbitrarily many have the same hash.
    """
    is_plain = value is None or isinstance(value, bool | int | float | str | np.generic)
    if not is_plain or (type(value) is int and value.bit_length() > MAX_KEY_BITS):
        raise ValueError(f"a key is a {type(value).__name__}, as in no model")
    return value


def _encode_set(values: Any, encoder: Encoder) -> list[Any]:
    try:
        return _encode_items(sorted(values), encoder)  # a set has no order of its own
    except TypeError:
        raise encoder.refusal(values, "give a list in its place") from None


def _decode_slice(content: Any, decoder: Decoder) -> slice:
    start, stop, step = _decode_items(content, decoder)
    return slice(start, stop, step)


def _encode_array(array: NDArray[Any], encoder: Encoder) -> list[Any]:
    """Type, shape, order in memory, and items that are not numbers."""
    kind = array.dtype.kind
    is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    order: Literal["C", "F"] = "F" if is_fortran else "C"
    header = [array.dtype.str, list(array.shape), order]
    flat = np.asarray(array).ravel(order)
    if kind in NUMBERS:
        encoder.add_numbers(flat)
    elif kind in TIMES:
        encoder.add_numbers(flat.view("<i8"))
    elif kind in TEXTS:
        header.append([str(text) if kind == "U" else text.decode("latin-1") for text in flat])
    elif kind == "O":
        header.append(_encode_items(flat, encoder))
    else:
        raise encoder.refusal(array, "give an array of numbers or text")
    return header


def _decode_array(content: Any, decoder: Decoder) -> NDArray[Any]:
    name, shape, order, *items = content
    dtype = _dtype(name)
    if order not in ORDERS or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"no array has the shape {shown(shape)} and the order {shown(order)}")
    n = math.prod(shape)
    if dtype.kind not in TEXTS:
        # of an empty array too: a sum over its one axis may be as long as another
        decoder.charge(math.prod(max(size, 1) for size in shape) * dtype.itemsize)
    if dtype.kind in NUMBERS:
        flat = decoder.take_numbers(dtype, n)
    elif dtype.kind in TIMES:
        flat = decoder.take_numbers(np.dtype("<i8"), n).view(dtype)
    elif dtype.kind == "O":
        flat = np.empty(len(items[0]), dtype=object)
        for i, item in enumerate(items[0]):  # one by one: numpy would unpack lists
            flat[i] = decoder.value(item)
    else:
        flat = _texts(items[0], dtype, decoder)
    return flat.reshape(shape, order=order)


def _texts(items: list[str], dtype: np.dtype[Any], decoder: Decoder) -> NDArray[Any]:
    decoder.charge(len(items) * dtype.itemsize)
    texts = items if dtype.kind == "U" else [item.encode("latin-1") for item in items]
    return np.array(texts, dtype=dtype)


def _dtype(name: Any) -> np.dtype[Any]:
    """Return a type of numpy by its short name, and nothing that is made of others."""
    if not isinstance(name, str) or len(name) > 32:
        raise ValueError(f"{shown(name)} names no type of numpy")
    dtype = np.dtype(name)
    if dtype.kind not in NUMBERS + TIMES + TEXTS + "O" or dtype.subdtype is not None:
        raise ValueError(f"plcp writes no arrays of {dtype}")
    return dtype


def _encode_scalar(scalar: np.generic, encoder: Encoder) -> list[Any]:
    array = np.asarray(scalar)
    if array.dtype.kind in TIMES:
        array = array.view("<i8")
    if array.dtype.kind not in SCALARS or isinstance(array.item(), np.generic):  # of long doubles
        raise encoder.refusal(scalar, "give a plain number")
    return [np.asarray(scalar).dtype.str, encoder.value(array.item(), "")]


def _decode_scalar(content: Any, decoder: Decoder) -> Any:
    name, item = content
    dtype, value = _dtype(name), decoder.value(item)
    if dtype.kind not in SCALARS or type(value) not in (bool, int, float, str):
        raise ValueError(f"plcp writes no scalar of {dtype}")
    if dtype.kind in TIMES:
        return np.array(value, dtype="<i8").view(dtype)[()]
    return _texts([value], dtype, decoder)[0] if dtype.kind == "U" else dtype.type(value)


def _decode_masked(content: Any, decoder: Decoder) -> Any:
    data, mask = (decoder.value(part) for part in content)
    if not isinstance(data, np.ndarray) or not isinstance(mask, np.ndarray):
        raise ValueError("a masked array is made of something else")
    return np.ma.MaskedArray(data, mask)


def _decode_type(name: Any, decoder: Decoder) -> Any:
    cls = BUILTINS.get(name) or getattr(np, name if isinstance(name, str) else "", None)
    if not _is_column_type(cls):
        raise ValueError(f"{shown(name)} names no type of values")
    return cls


def _is_column_type(value: Any) -> bool:
    """Whether this is a type of columns, as selectors and encoders are given."""
    return isinstance(value, type) and (
        value in BUILTINS.values() or issubclass(value, np.number | np.bool_)
    )


def _is_arrow(value: Any) -> bool:
    """Whether this is an array of Arrow; if so, pyarrow has been imported already."""
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow is not None and isinstance(value, pyarrow.Array)


def _decode_arrow(content: Any, decoder: Decoder) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("it needs pyarrow: pip install 'plcp[cli]'") from error
    name, texts = content
    values = decoder.value(texts)
    decoder.charge(sum(BYTES_PER_TEXT + len(text or "") for text in values))
    return pyarrow.array(values, "string").cast(pyarrow.type_for_alias(name))


CODECS = (
    Codec("list", lambda v: type(v) is list, _encode_items, _decode_items),
    Codec(
        "tuple", lambda v: type(v) is tuple, _encode_items, lambda c, d: tuple(_decode_items(c, d))
    ),
    Codec("dict", lambda v: type(v) in DICTS, _encode_pairs, _decode_pairs),
    Codec(
        "bunch",
        lambda v: type(v) is Bunch,
        _encode_pairs,
        lambda c, d: Bunch(**_decode_pairs(c, d)),
    ),
    Codec(
        "set", lambda v: type(v) is set, _encode_set, lambda c, d: {*map(_key, _decode_items(c, d))}
    ),
    Codec(
        "slice",
        lambda v: type(v) is slice,
        lambda v, e: _encode_items((v.start, v.stop, v.step), e),
        _decode_slice,
    ),
    Codec("array", lambda v: type(v) in (np.ndarray, np.memmap), _encode_array, _decode_array),
    Codec(
        "masked",
        lambda v: type(v) is np.ma.MaskedArray,
        lambda v, e: [e.value(v.data, ".data"), e.value(np.ma.getmaskarray(v), ".mask")],
        _decode_masked,
    ),
    Codec("scalar", lambda v: isinstance(v, np.generic), _encode_scalar, _decode_scalar),
    Codec("dtype", lambda v: isinstance(v, np.dtype), lambda v, e: v.str, lambda c, d: _dtype(c)),
    Codec(
        "class",
        _is_column_type,
        lambda v, e: "bool_" if v is np.bool_ else v.__name__,
        _decode_type,
    ),
    Codec(
        "arrow",
        _is_arrow,
        lambda v, e: [str(v.type), e.value(v.cast("string").to_pylist(), "")],
        _decode_arrow,
    ),
)
