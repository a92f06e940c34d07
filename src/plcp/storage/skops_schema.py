"""What a file of skops may ask for, looked at before skops reads it.

skops asks whether a type is trusted, and not what a file does with it: some of its readers call
what a node names, and a small file may be read many times.
"""

import io
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from plcp.storage.archive import check_total, read_parts

Signature = tuple[Any, Any, Any]


def check_schema(schema: Any, functions: Collection[str]) -> None:
    """Refuse a schema that would call a function, or read a file more than once.

    Parameters
    ----------
    schema : dict
        What ``schema.json`` holds.
    functions : collection of str
        Full names of functions, which a file may mention but not call.
    """
    known: dict[Any, Signature] = {}
    for node in _nodes(schema):
        loader, module, name = signature = _signature(node)
        if f"{module}.{name}" in functions and loader != "FunctionNode":
            raise ValueError(f"it calls {module}.{name}: do not use it")
        number = node.get("__id__")
        # skops makes one object of all nodes of one number, by the first of them
        if number is not None and known.setdefault(number, signature) != signature:
            raise ValueError(f"it has two objects of the number {number}: do not use it")
        if "file" in node and (
            not number or PurePosixPath(node["file"]).stem.lstrip("0") != f"{number}"
        ):
            raise ValueError(
                f"an array lies in {node['file']!r}, which is another's: do not use it"
            )
        keys = node.get("key_types", {}).get("content", [])
        if any(_signature(key)[0] != "TypeNode" for key in keys):
            raise ValueError("a key is made by something else than its type: do not use it")


def check_archives(parts: Mapping[str, bytes], n_bytes: int) -> None:
    """Refuse sparse arrays, archives themselves, that unpack to more than a file may."""
    within = (read_parts(part) for part in parts.values() if zipfile.is_zipfile(io.BytesIO(part)))
    total = 0
    for inner in within:
        total += sum(map(len, inner.values()))
        check_total(total, n_bytes)


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Go through all that skops may take for a node."""
    left = [schema]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
            if "__loader__" in value:
                yield value
        elif isinstance(value, list):
            left += value


def _signature(node: Any) -> Signature:
    return node["__loader__"], node["__module__"], node["__class__"]
