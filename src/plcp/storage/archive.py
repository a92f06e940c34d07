"""A zip archive of a few parts: the same bytes for the same parts, and read with care."""

import io
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath

MOST_BYTES = 2**32
MOST_PARTS = 256
# a small file may unpack to so much; a larger one to so many times its own size
FREE_BYTES = 2**23
MOST_RATIO = 200
LEVEL = 1  # numbers of trees hardly shrink more, and take five times as long
# what zipfile lets through: bad data, an unknown method, a password, an end too early
DAMAGE = (zlib.error, NotImplementedError, RuntimeError, EOFError, OSError)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # another may ask for any memory
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date a zip archive knows


def write_parts(parts: Mapping[str, bytes], *, compressed: bool = True) -> bytes:
    """Return an archive in which nothing tells when or where it was made.

    Examples
    --------
    >>> read_parts(write_parts({"a": b"1"}))
    {'a': b'1'}
    """
    content = _archive(parts, compressed)
    size = sum(map(len, parts.values()))
    if size > _most(len(content)):  # what shrinks so much could not be read again
        content = _archive(parts, compressed=False)
    if size > MOST_BYTES:
        raise ValueError(f"the model has {size:,} bytes, more than the {MOST_BYTES:,} of a file")
    return content


def _archive(parts: Mapping[str, bytes], compressed: bool) -> bytes:
    content = io.BytesIO()
    with _whole_or_none(zipfile.ZipFile(content, "w")) as archive:
        for name, part in parts.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # else it tells the operating system
            info.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            archive.writestr(info, part, compresslevel=LEVEL)
    return content.getvalue()


@contextmanager
def _whole_or_none(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipFile]:
    """Close an archive that is complete; one that is not would complain in place of its fault."""
    try:
        yield archive
        archive.close()
    except BaseException:
        archive.fp = None
        raise


def _most(n_bytes: int) -> int:
    """Return how much an archive of so many bytes may unpack to."""
    return min(MOST_BYTES, max(FREE_BYTES, MOST_RATIO * n_bytes))


def read_parts(content: bytes, *, most_parts: int = MOST_PARTS) -> dict[str, bytes]:
    """Return the parts of an archive, unless they are too many, too large or damaged."""
    with _opened(content) as archive:
        members = archive.infolist()
        _check_names([info.filename for info in members], most_parts)
        _check_sizes(members, len(content))
        try:
            return {info.filename: _read(archive, info) for info in members}
        except DAMAGE as error:
            raise zipfile.BadZipFile(str(error)) from error


def _opened(content: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except (*DAMAGE, ValueError, struct.error) as error:  # as zipfile itself stumbles
        raise zipfile.BadZipFile(str(error)) from error


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a part, of which no more is unpacked than it declares."""
    with archive.open(info) as file:
        part = file.read(info.file_size)
    if len(part) != info.file_size:
        raise zipfile.BadZipFile(f"{info.filename} is shorter than it declares")
    return part


def _check_names(names: list[str], most_parts: int) -> None:
    if len(names) > most_parts:
        raise ValueError(f"it has {len(names):,} parts, more than the {most_parts:,} of a model")
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
            raise ValueError(f"its part {name!r} would lie outside of it: do not use it")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(f"it has two parts {twice[0]!r}, and nobody knows which one counts")


def _check_sizes(members: list[zipfile.ZipInfo], n_bytes: int) -> None:
    """Refuse what would fill memory, by what the archive itself declares of its parts."""
    check_total(sum(info.file_size for info in members), n_bytes)
    if any(info.compress_type not in METHODS for info in members):
        raise ValueError("its parts are packed as those of no model: do not use it")


def check_total(size: int, n_bytes: int) -> None:
    """Refuse so many bytes that an archive of another number unpacks to."""
    most = _most(n_bytes)
    if size > most:
        raise ValueError(f"its parts have {size:,} bytes, more than the {most:,} of a model")
