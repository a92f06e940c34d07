"""Arrays, scalars and types of numpy."""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plcp._options import shown
from plcp.storage.kinds import Kind
from plcp.storage.numbers import NUMBERS
from plcp.storage.reader import Reader
from plcp.storage.writer import Writer

TIMES, TEXTS = "mM", "US"  # numpy's letters
SCALARS = "biufU" + TIMES  # np.bytes_ of a number would be so many bytes
ORDERS = ("C", "F")
BUILTINS = {cls.__name__: cls for cls in (bool, int, float, str, object)}


def _dump_array(array: NDArray[Any], writer: Writer) -> list[Any]:
    """Type, shape, order in memory, and what is no number."""
    kind = array.dtype.kind
    order: Literal["C", "F"] = "F" if _is_fortran(array) else "C"
    told = [array.dtype.str, list(array.shape), order]
    flat = np.asarray(array).ravel(order)
    if kind in NUMBERS:
        writer.arrays.put(flat)
    elif kind in TIMES:
        writer.arrays.put(flat.view("<i8"))
    elif kind in TEXTS:
        told.append([str(text) if kind == "U" else text.decode("latin-1") for text in flat])
    elif kind == "O":
        told.append([writer.value(item, f"[{i}]") for i, item in enumerate(flat)])
    else:
        raise writer.refused(array, "give an array of numbers or text")
    return told


def _load_array(content: Any, reader: Reader) -> NDArray[Any]:
    told, shape, order, *items = content
    dtype = _dtype(told)
    if order not in ORDERS or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"no array has the shape {shown(shape)} and the order {shown(order)}")
    n = math.prod(shape)
    if dtype.kind not in TEXTS:
        # of an empty array too: a sum over its one axis may be as long as another
        reader.spend(math.prod(max(size, 1) for size in shape) * dtype.itemsize)
    if dtype.kind in NUMBERS:
        flat = reader.numbers.take(dtype, n)
    elif dtype.kind in TIMES:
        flat = reader.numbers.take(np.dtype("<i8"), n).view(dtype)
    elif dtype.kind == "O":
        flat = np.empty(len(items[0]), dtype=object)
        for i, item in enumerate(items[0]):  # one by one: numpy would look into lists
            flat[i] = reader.value(item)
    else:
        flat = _texts(items[0], dtype, reader)
    return flat.reshape(shape, order=order)


def _texts(items: list[str], dtype: np.dtype[Any], reader: Reader) -> NDArray[Any]:
    reader.spend(len(items) * dtype.itemsize)
    texts = items if dtype.kind == "U" else [item.encode("latin-1") for item in items]
    return np.array(texts, dtype=dtype)


def _is_fortran(array: NDArray[Any]) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _dtype(told: Any) -> np.dtype[Any]:
    """Return a type of numpy by its short name, and nothing that is made of others."""
    if not isinstance(told, str) or len(told) > 32:
        raise ValueError(f"{shown(told)} names no type of numpy")
    dtype = np.dtype(told)
    if dtype.kind not in NUMBERS + TIMES + TEXTS + "O" or dtype.subdtype is not None:
        raise ValueError(f"arrays of {dtype} are not written here")
    return dtype


def _dump_scalar(scalar: np.generic, writer: Writer) -> list[Any]:
    array = np.asarray(scalar)
    if array.dtype.kind in TIMES:
        array = array.view("<i8")
    if array.dtype.kind not in SCALARS or isinstance(array.item(), np.generic):  # of long doubles
        raise writer.refused(scalar, "give a plain number")
    return [np.asarray(scalar).dtype.str, writer.value(array.item(), "")]


def _load_scalar(content: Any, reader: Reader) -> Any:
    told, item = content
    dtype, value = _dtype(told), reader.value(item)
    if dtype.kind not in SCALARS or type(value) not in (bool, int, float, str):
        raise ValueError(f"no {dtype} stands alone here")
    if dtype.kind in TIMES:
        return np.array(value, dtype="<i8").view(dtype)[()]
    return _texts([value], dtype, reader)[0] if dtype.kind == "U" else dtype.type(value)


def _dump_masked(array: Any, writer: Writer) -> list[Any]:
    mask = np.ma.getmaskarray(array)
    return [writer.value(array.data, ".data"), writer.value(mask, ".mask")]


def _load_masked(content: Any, reader: Reader) -> Any:
    data, mask = (reader.value(part) for part in content)
    if not isinstance(data, np.ndarray) or not isinstance(mask, np.ndarray):
        raise ValueError("a masked array is made of something else")
    return np.ma.MaskedArray(data, mask)


def _load_class(name: Any, reader: Reader) -> Any:
    cls = BUILTINS.get(name) or getattr(np, name if isinstance(name, str) else "", None)
    if not _is_type_of_values(cls):
        raise ValueError(f"{shown(name)} names no type of values")
    return cls


def _is_type_of_values(value: Any) -> bool:
    """Whether this is a type of columns, as selectors and encoders are given."""
    return isinstance(value, type) and (
        value in BUILTINS.values() or issubclass(value, np.number | np.bool_)
    )


KINDS = (
    Kind("array", lambda v: type(v) in (np.ndarray, np.memmap), _dump_array, _load_array),
    Kind("masked", lambda v: type(v) is np.ma.MaskedArray, _dump_masked, _load_masked),
    Kind("scalar", lambda v: isinstance(v, np.generic), _dump_scalar, _load_scalar),
    Kind("dtype", lambda v: isinstance(v, np.dtype), lambda v, w: v.str, lambda c, r: _dtype(c)),
    Kind(
        "class",
        _is_type_of_values,
        lambda v, w: "bool_" if v is np.bool_ else v.__name__,
        _load_class,
    ),
)
