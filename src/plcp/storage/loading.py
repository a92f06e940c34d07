"""``load``: the model of a file, or one sentence that says why not."""

import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from plcp._files import check_input, check_path
from plcp._options import shown
from plcp.exceptions import OtherVersionWarning
from plcp.storage.archive import check_told, read_manifest, read_parts, version_of
from plcp.storage.every_kind import KINDS
from plcp.storage.reader import Reader
from plcp.storage.saving import SUFFIX
from plcp.storage.types import check_trusted

# what brings the packages that may compute predictions
EXTRAS = {"lightgbm": "plcp[boosting]", "scikit-learn": "plcp", "torch": "plcp[torch]"}
AGAIN = "copy it again, or make it again"
MOST_TOLD = 1000  # characters of a message


def load(path: str | Path, *, trusted: Sequence[Any] = ()) -> Any:
    """Read a model that `save` or ``plcp calibrate`` wrote, and nothing else.

    No code of the file is run. Only objects of classes that plcp lists are made, each after a check
    that its attributes go together, and only functions that plcp lists are kept. A file that is
    damaged, was changed, comes from another format or holds what no model needs is refused. Its
    checksums detect accidents, not authors: read only models of people you trust with your results.

    Parameters
    ----------
    path : str or Path
        A file that ends in ``.plcp``.
    trusted : sequence of classes and functions
        What the model holds beside that: your own networks, scores, partitions, estimators and
        functions, and estimators of scikit-learn that are not checked, such as ``SVC``; `save`
        names them. Their attributes, and what they do with them, are the author's of the file.

    Returns
    -------
    object
        What was saved; of a file of the command line a ``plcp.tables.TabularModel``.
    """
    check_path(path)
    check_trusted(trusted)
    with refusing(path):
        parts = read_file(path)
        return _read(read_manifest(parts), parts, trusted)


def load_manifest(path: str | Path) -> Mapping[str, Any]:
    """Read what a file says of itself, without its model: quickly."""
    check_path(path)
    with refusing(path):
        return read_manifest(read_file(path))


def read_file(path: str | Path) -> dict[str, bytes]:
    """Return the parts of a file, whatever they are."""
    file = check_input(path)
    if not file.name.lower().endswith(SUFFIX):
        raise ValueError(f"a model's name ends in {SUFFIX}: name such a file")
    return read_parts(file.read_bytes())


@contextmanager
def refusing(path: str | Path) -> Iterator[None]:
    """Say in one sentence why a file gives no model."""
    try:
        yield
    except OSError:
        raise
    except ImportError as error:
        raise ImportError(f"{path} cannot be read: {error}") from error
    except Exception as error:
        raise ValueError(f"{path} cannot be read: {' '.join(_fault(error).split())}") from error


def _fault(error: Exception) -> str:
    if isinstance(error, zipfile.BadZipFile):
        return f"it is no model, or not a whole one: {AGAIN}"
    if isinstance(error, RecursionError):
        return "it is nested deeper than any model: do not use it"
    if isinstance(error, MemoryError):
        return "it does not fit into memory: use a machine that has more"
    if type(error) is ValueError:  # ours, or numpy's of a value of the file
        return str(error)[:MOST_TOLD]
    return f"it is damaged ({type(error).__name__}: {shown(str(error))[1:-1]}): {AGAIN}"


def _other_versions(manifest: Mapping[str, Any]) -> str:
    """Say which packages that compute its predictions had another version, up to repairs."""
    others = []
    for package in manifest["depends_on"]:
        made, here = manifest["versions"][package], _installed(package)
        if made.split(".")[:2] != here.split(".")[:2]:
            others.append(f"{package} {shown(made)[1:-1]}, and this is {here}")
    return "; ".join(others)


def _installed(package: str) -> str:
    """Return the version of a package that a model needs."""
    if package not in EXTRAS:
        raise ValueError(f"it depends on {shown(package)[1:-1]}, as no model does: do not use it")
    try:
        return version_of(package)
    except PackageNotFoundError as error:
        raise ImportError(f"it needs {package}: pip install '{EXTRAS[package]}'") from error


def _read(manifest: Mapping[str, Any], parts: Mapping[str, bytes], trusted: Sequence[Any]) -> Any:
    """Make the model, and tell of other versions where it can or cannot be made."""
    others = _other_versions(manifest)
    try:
        model = Reader(parts, KINDS, trusted).model()
    except (AttributeError, KeyError, TypeError) as error:
        if others:
            raise ValueError(f"it was made with {others}, which cannot make it: {AGAIN}") from error
        raise
    check_told(manifest, model)
    if others:
        warnings.warn(
            f"the model was made with {others}: predictions may differ, so compare some, or use "
            "the version that it was made with",
            OtherVersionWarning,
            stacklevel=3,
        )
    return model
