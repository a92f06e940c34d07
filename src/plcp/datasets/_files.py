"""Where data files lie: found, downloaded with a checked hash, or requested in one message."""

import gzip
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

SECONDS_TO_CONNECT, SECONDS_TO_ANSWER = 5, 30


@dataclass(frozen=True)
class Kind:
    """A data set, and the ways in which its files may lie in a data directory.

    Attributes
    ----------
    title : str
        What it is called in messages.
    layouts : sequence of tuples of str
        Each names all files that it needs, relative to the data directory; the first complete one
        is read.
    source : str
        How to get the files, as the end of a sentence.
    hashes : dict
        SHA-256 of files of the first layout; only these are ever downloaded.
    mirrors : sequence of str
        Addresses that end in a slash, to which a file's own name is added.
    """

    title: str
    layouts: Sequence[tuple[str, ...]]
    source: str
    hashes: Mapping[str, str] = field(default_factory=dict)
    mirrors: Sequence[str] = ()


@dataclass(frozen=True)
class Found:
    """Files of a data set: a layout that is complete in a data directory."""

    root: Path
    names: tuple[str, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where they are."""
        return tuple(self.root / name for name in self.names)

    @property
    def files(self) -> dict[str, str]:
        """Name and SHA-256 of each file; a directory's is not taken."""
        return fingerprints([path for path in self.paths if path.is_file()], self.root)


def locate(kind: Kind, data_dir: str | Path | None) -> Found:
    """Files of the first complete layout, downloaded if that can be checked; else an error."""
    root, why = data_directory(data_dir)
    for names in kind.layouts:
        if all((root / name).exists() for name in names):
            return Found(root, names)
    trouble = _download(kind, root) if kind.hashes else ""
    if trouble or not kind.hashes:
        raise FileNotFoundError(_request(kind, root, why, trouble))
    return Found(root, tuple(kind.hashes))


def data_directory(data_dir: str | Path | None) -> tuple[Path, str]:
    """Directory of the data, and what named it: an argument, ``PLCP_DATA``, or the user's cache."""
    if data_dir is not None:
        return Path(data_dir).expanduser(), "named by data_dir"
    if named := os.environ.get("PLCP_DATA"):
        return Path(named).expanduser(), "named by PLCP_DATA"
    return _user_cache(), "the user's cache; name another by data_dir, --data-dir or PLCP_DATA"


def _user_cache() -> Path:
    try:
        return Path(import_module("pooch").os_cache("plcp"))
    except ImportError:
        return Path.home() / ".cache" / "plcp"


def _request(kind: Kind, root: Path, why: str, trouble: str) -> str:
    """One message: what is missing where, how to get it, and why it was not downloaded."""
    missing = (
        ", ".join(name for name in names if not (root / name).exists()) for names in kind.layouts
    )
    wanted = "\n  or ".join(missing)
    return f"{kind.title}: not in {root} ({why}). Put there\n     {wanted}\n{kind.source}" + (
        f"\nA download was tried: {trouble}" if trouble else ""
    )


def _download(kind: Kind, root: Path) -> str:
    """Fetch the files that are not there; why that failed, or nothing."""
    try:
        pooch = import_module("pooch")
    except ImportError:
        return "it needs pooch: pip install 'plcp[experiments]'"
    # pooch tries once by itself; without a network that ends at once, or in seconds
    get = pooch.HTTPDownloader(timeout=(SECONDS_TO_CONNECT, SECONDS_TO_ANSWER))
    for name, sha256 in kind.hashes.items():
        path = root / name
        new = [folder for folder in path.parents if not folder.exists()]
        troubles = []
        for mirror in () if path.exists() else kind.mirrors:
            try:
                pooch.retrieve(mirror + path.name, sha256, path.name, path.parent, downloader=get)
                break
            except (OSError, ValueError) as error:  # no network or no right to write; a wrong hash
                troubles.append(f"{mirror}{path.name}: {error}")
        if not path.exists():
            for folder in new:
                with suppress(OSError):  # it is not empty
                    folder.rmdir()
            return "\n  ".join(troubles)
    return ""


def fingerprints(paths: Iterable[Path], root: Path) -> dict[str, str]:
    """SHA-256 of files by their names below ``root``; never a whole file in memory.

    Of a gzipped file it is that of its content, under the content's name: the same content is
    packed in several ways.
    """
    found = {}
    for path in paths:
        packed = path.suffix == ".gz"
        with reading(path), gzip.open(path) if packed else path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
        name = path.relative_to(root).as_posix()
        found[name.removesuffix(".gz") if packed else name] = digest.hexdigest()
    return found


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name the file, and the remedy, in whatever goes wrong while it is read."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is not there: put the whole data set there, or name another directory"
        ) from None
    except (ImportError, MemoryError, PermissionError):  # not the file's fault
        raise
    except Exception as error:  # readers raise what they like: a broken PNG is a SyntaxError
        raise ValueError(
            f"{path} cannot be read ({error}): it is damaged, or not what its name promises. "
            "Remove it and run again: the right one is then downloaded, or its source named"
        ) from error


def needed(module: str) -> Any:
    """Import an optional module."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"data files are read with {module}: pip install 'plcp[experiments]'"
        ) from error
