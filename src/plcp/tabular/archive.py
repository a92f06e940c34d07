"""A zip archive of a few parts: the same bytes for the same parts, and read with care."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO

MOST_BYTES = 512 * 2**20
# what zipfile lets through: bad data, an unknown method, a password, an end too early
DAMAGE = (zlib.error, NotImplementedError, RuntimeError, EOFError, OSError)
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date a zip archive knows


def write_parts(parts: Mapping[str, bytes], *, compressed: bool) -> bytes:
    """Return an archive in which nothing tells when or where it was made.

    Examples
    --------
    >>> read_parts(io.BytesIO(write_parts({"a": b"1"}, compressed=True)))
    {'a': b'1'}
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, part in parts.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # else it tells the operating system
            info.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            archive.writestr(info, part)
    return content.getvalue()


def read_parts(file: IO[bytes]) -> dict[str, bytes]:
    """Return the parts of an archive, unless they are too large or damaged."""
    with zipfile.ZipFile(file) as archive:
        size = sum(info.file_size for info in archive.infolist())
        if size > MOST_BYTES:
            raise ValueError(
                f"its parts have {size:,} bytes, more than the {MOST_BYTES:,} of a model"
            )
        try:
            return {name: archive.read(name) for name in archive.namelist()}
        except DAMAGE as error:
            raise zipfile.BadZipFile(str(error)) from error
