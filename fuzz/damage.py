"""Damage done to model files on purpose: to their bytes, or to what the bytes mean.

Bytes changed at random hardly ever pass a checksum. So a file is taken apart as far as it goes
(archive, JSON, arrays, tensors, archives within), one thing is changed, and all is put together
again, mostly with the checksums that it must then have.
"""

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

MANIFEST, SEAL = "manifest.json", "manifest.sha256"
RAW, RESEALED = 0.2, 0.9  # shares of damage to the whole file's bytes, and of repaired checksums
MOST_BYTES = 2**22
TEXTS = ("", "object", "array", "booster", "os.system", "builtins.eval", "PLCP", "../x", "\0", "é")
NUMBERS = (0, 1, -1, 2, 255, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308)
WORDS = (b"\0" * 8, b"\xff" * 8, struct.pack("<d", float("nan")), struct.pack("<q", 2**62))
PLACES = ("a/../../b", "/etc/x", "C:x", "a\\b", "", "x" * 300, MANIFEST)
DEEP = 5_000  # beyond what Python follows


def damaged(content: bytes, seed: int) -> bytes:
    """Return a file with one to three things changed; the same for the same seed."""
    rng = Random(seed)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = _bytes(content, rng) if rng.random() < RAW else _archive(content, rng)
    return content[:MOST_BYTES]


def _archive(content: bytes, rng: Random) -> bytes:
    """Change one part of an archive, or which parts there are."""
    try:
        parts = _unpacked(content)
    except Exception:  # what was damaged before is damaged as bytes
        return _bytes(content, rng)
    if not parts:
        return _bytes(content, rng)
    name = rng.choice(list(parts))
    if rng.random() < 0.1:
        _change_parts(parts, name, rng)
    else:
        parts[name] = _part(name, parts[name], rng)
    if rng.random() < RESEALED:
        parts = sealed(parts)
    return _packed(parts, rng)


def _part(name: str, part: bytes, rng: Random) -> bytes:
    if rng.random() < 0.1:
        return _bytes(part, rng)
    if part.startswith(b"PK"):
        return _archive(part, rng)
    if part.startswith(b"\x93NUMPY"):
        return _npy(part, rng)
    if name.endswith(".safetensors"):
        return _tensors(part, rng)
    return _json(part, rng)


def _json(part: bytes, rng: Random) -> bytes:
    if rng.random() < 0.03:
        return part.replace(b"0", b"[" * DEEP + b"]" * DEEP, 1)
    try:
        return json.dumps(_tree(json.loads(part), rng)).encode()
    except (ValueError, RecursionError):  # damaged before
        return _bytes(part, rng)


def _tree(tree: Any, rng: Random) -> Any:
    """Change one node of a tree of lists and dicts: its value, its place, or its name."""
    places = list(_places(tree))
    if not places or rng.random() < 0.02:
        return _value(tree, rng)
    holder, key = rng.choice(places)
    kind = rng.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        other, place = rng.choice(places)
        holder[key] = json.loads(json.dumps(other[place]))
    elif kind == 2 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), json.loads(json.dumps(holder[key])))
    elif kind == 3 and isinstance(holder, dict):
        holder[rng.choice(TEXTS)] = holder.pop(key)
    else:
        holder[key] = _value(holder[key], rng)
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    stack = [tree] if isinstance(tree, list | dict) else []
    while stack:
        holder = stack.pop()
        keys = range(len(holder)) if isinstance(holder, list) else list(holder)
        for key in keys:
            yield holder, key
            if isinstance(holder[key], list | dict):
                stack.append(holder[key])


def _value(value: Any, rng: Random) -> Any:
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 7, -1000, 10**9))
    choices: tuple[Callable[[], Any], ...] = (
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(TEXTS),
        lambda: rng.choice((None, True, False, [], {}, [[0]], {"float": "nan"})),
        lambda: [value, value],
        lambda: "x" * rng.choice((10, 10**5)),
    )
    return rng.choice(choices)()


def _npy(part: bytes, rng: Random) -> bytes:
    """Change the header of an array, with the length that it must then have, or a number."""
    if len(part) < 10:
        return _bytes(part, rng)
    length = struct.unpack("<H", part[8:10])[0]
    header, numbers = part[10 : 10 + length].decode("latin-1"), part[10 + length :]
    kind = rng.randrange(4)
    if kind == 0:
        return part[: 10 + length] + _words(numbers, rng)
    if kind == 1:
        header = header.replace("(", f"({rng.choice(('9' * 12 + ',', '-1,', '0,', '2,'))}", 1)
    elif kind == 2:
        types = ("<f8", "|O", "<i8", "|V8", "<U9999999", ">f4", "|b1", "[('a','<f8')]")
        start = header.find("'descr': ") + 9
        header = header[:start] + repr(rng.choice(types)) + header[header.find(",", start) :]
    else:
        header = _bytes(header.encode("latin-1"), rng).decode("latin-1")
    told = header.encode("latin-1", "replace")[:60_000]
    return part[:8] + struct.pack("<H", len(told)) + told + numbers


def _tensors(part: bytes, rng: Random) -> bytes:
    if len(part) < 8:
        return _bytes(part, rng)
    length = struct.unpack("<Q", part[:8])[0]
    header, numbers = part[8 : 8 + length], part[8 + length :]
    kind = rng.randrange(3)
    if kind == 0:
        return part[: 8 + length] + _words(numbers, rng)
    if kind == 1:
        return struct.pack("<Q", rng.choice((0, 1, 2**40, 2**63, length + 8))) + part[8:]
    told = _json(header, rng)
    return struct.pack("<Q", len(told)) + told + numbers


def _words(numbers: bytes, rng: Random) -> bytes:
    """Change a number for another that is hard to bear."""
    if len(numbers) < 8:
        return _bytes(numbers, rng)
    size = rng.choice((1, 4, 8))
    place = rng.randrange(0, len(numbers) - 7)
    return numbers[:place] + rng.choice(WORDS)[:size] + numbers[place + size :]


def _bytes(content: bytes, rng: Random) -> bytes:
    place, size = rng.randrange(len(content) + 1), rng.choice((1, 1, 2, 8, 100))
    kind = rng.randrange(5)
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + content[place + size :]
    if kind == 2:
        return content[:place] + rng.randbytes(size) + content[place:]
    if kind == 3:
        return content[:place] + content[: place // 2] + content[place:]
    return content[:place] + rng.randbytes(size) + content[place + size :]


def _change_parts(parts: dict[str, bytes], name: str, rng: Random) -> None:
    kind = rng.randrange(3)
    if kind == 0:
        del parts[name]
    elif kind == 1:
        parts[rng.choice(PLACES)] = parts[name]
    else:
        parts["arrays/more.npy"] = b"\0" * rng.choice((0, 10, 10**6))


def sealed(parts: dict[str, bytes]) -> dict[str, bytes]:
    """Return parts with the checksums that they must have."""
    sums = {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}
    try:
        manifest = json.loads(parts[MANIFEST])
        inner = [name for name in parts if name not in (MANIFEST, SEAL)]
        told = {name: {"bytes": len(parts[name]), "sha256": sums[name]} for name in inner}
        text = json.dumps(manifest | {"parts": told}).encode()
    except (KeyError, TypeError, ValueError, RecursionError):  # an archive within, or damaged
        return parts
    return parts | {MANIFEST: text, SEAL: hashlib.sha256(text).hexdigest().encode()}


def _unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def _packed(parts: dict[str, bytes], rng: Random) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, part in parts.items():
            method = zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name), part, method)
    return content.getvalue()
