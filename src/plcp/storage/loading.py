"""``load``: the model of a file, or one sentence that says why not."""

import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from plcp.files.inputs import check_input
from plcp.files.names import check_path
from plcp.storage.archive import read_parts
from plcp.storage.every_kind import KINDS
from plcp.storage.manifest import check_sums, check_told, read_format, version_of
from plcp.storage.reader import Reader
from plcp.storage.saving import SUFFIX
from plcp.storage.types import check_trusted

# modules that read formats of the past, by a function `read_model` and one `read_manifest`
EARLIER = {1: "plcp.tabular.first_format"}
# what brings the packages that may compute predictions
EXTRAS = {"lightgbm": "plcp[boosting]", "scikit-learn": "plcp", "torch": "plcp[torch]"}
AGAIN = "copy it again, or make it anew"


class OtherVersionWarning(UserWarning):
    """A model was made with another version of a package that computes its predictions."""


def load(path: str | Path, *, trusted: Sequence[Any] = ()) -> Any:
    """Read a model that `save` or ``plcp calibrate`` wrote, and nothing else.

    No code of the file is run, and no class or function made or called that plcp does not list
    itself. A file that is damaged, was changed, comes from a newer version or holds what no model
    needs is refused. Its checksums tell accidents, not authors: read only models of people you
    trust with your results.

    Parameters
    ----------
    path : str or Path
        A file that ends in ``.plcp``.
    trusted : sequence of classes and functions
        Your own that the model holds: networks, scores, partitions, estimators, ``features=``.

    Returns
    -------
    object
        What was saved; of a file of the command line a ``plcp.tabular.TabularModel``.
    """
    check_path(path)
    check_trusted(trusted)
    with refusing(path):
        parts = read_file(path)
        manifest, found = read_format(parts)
        if found in EARLIER:
            return import_module(EARLIER[found]).read_model(manifest, parts)
        check_sums(manifest, parts)
        return _read(manifest, parts, trusted)


def load_manifest(path: str | Path) -> Mapping[str, Any]:
    """Read what a file says of itself, without its model: quickly."""
    check_path(path)
    with refusing(path):
        parts = read_file(path)
        manifest, found = read_format(parts)
        if found in EARLIER:
            return dict(import_module(EARLIER[found]).read_manifest(manifest, parts))
        check_sums(manifest, parts)
        return manifest


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
        return "it is no model, or not a whole one: copy it again, or make it anew"
    if isinstance(error, RecursionError):
        return "it is nested deeper than any model: do not use it"
    if isinstance(error, MemoryError):
        return "it does not fit into memory: use a machine that has more"
    is_ours = type(error) is ValueError
    return str(error) if is_ours else f"it is damaged ({type(error).__name__}: {error}): {AGAIN}"


def _other_versions(manifest: Mapping[str, Any]) -> str:
    """Say which packages that compute its predictions had another version, up to repairs."""
    others = []
    for package in manifest["depends_on"]:
        made, here = manifest["versions"][package], _installed(package)
        if made.split(".")[:2] != here.split(".")[:2]:
            others.append(f"{package} {made}, and this is {here}")
    return "; ".join(others)


def _installed(package: str) -> str:
    """Return the version of a package that a model needs."""
    if package not in EXTRAS:
        raise ValueError(f"it depends on {package}, as no model does: do not use it")
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
