"""A zip archive of a few parts: the same bytes for the same parts, and read with care."""

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from plcp._options import shown
from plcp.storage.names import full_name
from plcp.storage.reader import parsed_json

MOST_BYTES = 2**32
MOST_PARTS = 256
# a small file may unpack to so much; a larger one to so many times its own size
FREE_BYTES = 2**23
MOST_RATIO = 64
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


FORMAT = 3
MANIFEST, SEAL = "manifest.json", "manifest.sha256"
version_of = cache(version)  # it looks for a file each time
MOST_MANIFEST_BYTES = 2**22  # of a manifest, which is parsed to find out of which format a file is
ALWAYS = ("numpy", "scipy", "scikit-learn")


def describe(model: Any, met: Iterable[Any], packages: Iterable[str]) -> dict[str, Any]:
    """Return what is worth knowing of a model without loading it.

    Parameters
    ----------
    model : object
        What the file is for.
    met : iterable
        All that it is made of.
    packages : iterable of str
        Packages beside the usual ones that made it.
    """
    rule = _rule(model)
    return {
        "format": FORMAT,
        "plcp": version_of("plcp"),
        "versions": {
            name: version_of(name) for name in (*ALWAYS, *sorted({*packages} - {*ALWAYS}))
        },
        "depends_on": sorted(packages),
        "class": full_name(type(model)),
        "parameters": _parameters(model),
        "features": _features(rule, met),
        **_promises(model, rule),
        "seed": _plain(getattr(model, "random_state", None)),
        **getattr(model, "manifest", {}),
    }


def _promises(model: Any, rule: Any) -> dict[str, Any]:
    """Return what users rely on, which is compared with the model when it is loaded."""
    promises = {
        "alpha": _plain(getattr(rule, "alpha", None)),
        "guarantee": getattr(model, "guarantee_", None),
        "data": getattr(rule, "data_digest_", None),
    }
    own = getattr(model, "manifest", {})
    return {name: own.get(name, value) for name, value in promises.items()}


def sealed(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return all parts, the manifest with their checksums first and its own last."""
    sums = {name: {"bytes": len(part), "sha256": _sum(part)} for name, part in parts.items()}
    told = json.dumps({**manifest, "parts": sums}, indent=1, ensure_ascii=False, allow_nan=False)
    return {MANIFEST: told.encode(), **parts, SEAL: _sum(told.encode()).encode()}


def read_manifest(parts: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Return a manifest of this format, after a comparison of all checksums."""
    if MANIFEST not in parts:
        raise ValueError(f"it has no part {MANIFEST} and is no model: make one by plcp.save")
    if len(parts[MANIFEST]) > MOST_MANIFEST_BYTES:
        raise ValueError(f"its part {MANIFEST} has more than {MOST_BYTES:,} bytes: do not use it")
    manifest = parsed_json(parts[MANIFEST])
    found = manifest["format"]
    if type(found) is not int or found != FORMAT:
        remedy = "make it again" if type(found) is int and found < FORMAT else "upgrade plcp"
        raise ValueError(
            f"it was made by plcp {shown(manifest['plcp'])[1:-1]}, format {shown(found)}, and this "
            f"is plcp {version_of('plcp')}, which reads format {FORMAT}: {remedy}"
        )
    _check_sums(manifest, parts)
    return manifest


def _check_sums(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> None:
    """Refuse parts that are not those that were written."""
    if _sum(parts[MANIFEST]) != parts.get(SEAL, b"").decode("ascii", "replace"):
        raise ValueError(f"its part {MANIFEST} was changed since it was written: make it again")
    sums = manifest["parts"]
    for name in sums.keys() - parts.keys():
        raise ValueError(f"it has no part {name}, which was written with it: make it again")
    for name in parts.keys() - {MANIFEST, SEAL}:
        if name not in sums:
            raise ValueError(f"its part {name} was not written with it: do not use it")
        if _sum(parts[name]) != sums[name]["sha256"]:
            raise ValueError(f"its part {name} was changed since it was written: make it again")


def check_told(manifest: Mapping[str, Any], model: Any) -> None:
    """Refuse a manifest that tells of another model than the one it comes with."""
    for name, true in _promises(model, _rule(model)).items():
        if manifest[name] != true:
            raise ValueError(
                f"it says that its {name} is {shown(manifest[name])}, and it is {shown(true)}: do "
                "not use it"
            )
    told, meant = (name.rpartition(".")[2] for name in (manifest["class"], full_name(type(model))))
    if told != meant:  # the module of a script has another name elsewhere
        raise ValueError(
            f"it says that it holds a {shown(told)[1:-1]}, and holds a {meant}: do not use it"
        )


def _sum(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()


def _rule(model: Any) -> Any:
    """Return the rule of a model that has one, else the model."""
    tails = getattr(model, "thresholds_", None)
    if isinstance(tails, list) and tails:
        return tails[0]
    return getattr(model, "rule", model)


def _parameters(model: Any) -> dict[str, Any]:
    if not hasattr(model, "get_params"):
        return {}
    return {name: _plain(value) for name, value in model.get_params(deep=False).items()}


def _features(rule: Any, met: Iterable[Any]) -> dict[str, Any]:
    """Return how many features there are, their names, and their types where they were learned."""
    names = getattr(rule, "feature_names_in_", None)
    kinds = next((part.kinds_ for part in met if hasattr(part, "kinds_")), None)
    return {
        "n": _plain(getattr(rule, "n_features_in_", None)),
        "names": None if names is None else [str(name) for name in names],
        "types": kinds,
    }


def _plain(value: Any) -> Any:
    """Return a number or text as it is, and the words for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if (
        value is None
        or type(value) in (bool, int, str)
        or (type(value) is float and np.isfinite(value))
    ):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return f"{type(value).__name__}" if hasattr(value, "__dict__") else shown(value)
