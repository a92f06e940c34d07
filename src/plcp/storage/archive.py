"""The file of a model: a zip archive of a few parts, with limits on sizes and with checksums.

The same parts give the same bytes. The first part is the manifest, which holds the SHA-256 of all
others; the last is the SHA-256 of the manifest.
"""

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any

from plcp._options import shown
from plcp.storage.codec import parse_json

MAX_BYTES = 2**32
MAX_PARTS = 256
# a small file may unpack to so much; a larger one to so many times its own size
FREE_BYTES = 2**23
MAX_RATIO = 64
COMPRESSION = 1  # of zlib: numbers of trees hardly shrink more, and take five times as long
# errors that zipfile lets through: bad data, an unknown method, a password, an early end
DAMAGE = (zlib.error, NotImplementedError, RuntimeError, EOFError, OSError)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may request any memory
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date of zip archives
FORMAT = 3
MANIFEST, SEAL = "manifest.json", "manifest.sha256"
MAX_MANIFEST_BYTES = 2**22  # it is parsed before its checksum is compared


def write_parts(parts: Mapping[str, bytes], *, compressed: bool = True) -> bytes:
    """Return an archive that does not depend on when or where it was made.

    Examples
    --------
    >>> read_parts(write_parts({"a": b"1"}))
    {'a': b'1'}
    """
    size = sum(map(len, parts.values()))
    if size > MAX_BYTES:
        raise ValueError(f"the model has {size:,} bytes, more than the {MAX_BYTES:,} of a file")
    content = io.BytesIO()
    archive = zipfile.ZipFile(content, "w")
    try:
        for name, part in parts.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # as on Unix, whatever the operating system
            info.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            archive.writestr(info, part, compresslevel=COMPRESSION)
        archive.close()
    except BaseException:
        archive.fp = None  # closing an incomplete archive would raise in place of this error
        raise
    if compressed and size > _max_unpacked(len(content.getvalue())):  # read_parts would refuse it
        return write_parts(parts, compressed=False)
    return content.getvalue()


def _max_unpacked(n_bytes: int) -> int:
    """Return how much an archive of so many bytes may unpack to."""
    return min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * n_bytes))


def read_parts(content: bytes) -> dict[str, bytes]:
    """Return the parts of an archive, unless they are too many, too large or damaged."""
    try:
        opened = zipfile.ZipFile(io.BytesIO(content))
    except (*DAMAGE, ValueError, struct.error) as error:  # as zipfile raises
        raise zipfile.BadZipFile(str(error)) from error
    with opened as archive:
        members, parts = archive.infolist(), {}
        _check_members(members, _max_unpacked(len(content)))
        try:
            for info in members:
                with archive.open(info) as file:  # no more is unpacked than it declares
                    parts[info.filename] = file.read(info.file_size)
        except DAMAGE as error:
            raise zipfile.BadZipFile(str(error)) from error
    if any(len(parts[info.filename]) != info.file_size for info in members):
        raise zipfile.BadZipFile("a part is shorter than it declares")
    return parts


def _check_members(members: list[zipfile.ZipInfo], limit: int) -> None:
    """Refuse parts by what the archive declares of them: names, sizes, compression."""
    names = [info.filename for info in members]
    if len(names) > MAX_PARTS:
        raise ValueError(f"it has {len(names):,} parts, more than the {MAX_PARTS:,} of a model")
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
            raise ValueError(f"its part {name!r} would lie outside of it: do not use it")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(f"it has two parts {twice[0]!r}, and which one counts is unclear")
    size = sum(info.file_size for info in members)
    if size > limit:
        raise ValueError(f"its parts have {size:,} bytes, more than the {limit:,} of a model")
    if any(info.compress_type not in METHODS for info in members):
        raise ValueError("its parts are compressed as those of no model: do not use it")


version_of = cache(version)  # it reads a file each time


def seal(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return all parts, the manifest with their checksums first and its own checksum last."""
    sums = {name: {"bytes": len(part), "sha256": _sha256(part)} for name, part in parts.items()}
    text = json.dumps({**manifest, "parts": sums}, indent=1, ensure_ascii=False, allow_nan=False)
    return {MANIFEST: text.encode(), **parts, SEAL: _sha256(text.encode()).encode()}


def read_manifest(parts: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Return a manifest of this format, after all checksums are compared."""
    if MANIFEST not in parts:
        raise ValueError(f"it has no part {MANIFEST} and is no model: make one by plcp.save")
    if len(parts[MANIFEST]) > MAX_MANIFEST_BYTES:
        raise ValueError(
            f"its part {MANIFEST} has more than {MAX_MANIFEST_BYTES:,} bytes: do not use it"
        )
    manifest = parse_json(parts[MANIFEST])
    found = manifest["format"]
    if type(found) is not int or found != FORMAT:
        remedy = "make it again" if type(found) is int and found < FORMAT else "upgrade plcp"
        raise ValueError(
            f"it was made by plcp {shown(manifest['plcp'])[1:-1]}, format {shown(found)}, and this "
            f"is plcp {version_of('plcp')}, which reads format {FORMAT}: {remedy}"
        )
    if _sha256(parts[MANIFEST]) != parts.get(SEAL, b"").decode("ascii", "replace"):
        raise ValueError(f"its part {MANIFEST} was changed since it was written: make it again")
    sums = manifest["parts"]
    for name in sums.keys() - parts.keys():
        raise ValueError(f"it has no part {name}, which was written with it: make it again")
    for name in parts.keys() - {MANIFEST, SEAL}:
        if name not in sums:
            raise ValueError(f"its part {name} was not written with it: do not use it")
        if _sha256(parts[name]) != sums[name]["sha256"]:
            raise ValueError(f"its part {name} was changed since it was written: make it again")
    return manifest


def _sha256(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()
