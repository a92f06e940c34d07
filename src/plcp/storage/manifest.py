"""What a file says of itself: readable by anybody, and checked against its parts."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from plcp.storage.names import full_name

FORMAT = 2
MANIFEST, SEAL = "manifest.json", "manifest.sha256"
version_of = cache(version)  # it looks for a file each time
TRUE = ("alpha", "guarantee", "data")  # what is compared with the model itself
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
        "alpha": _plain(getattr(rule, "alpha", None)),
        "guarantee": getattr(model, "guarantee_", None),
        "seed": _plain(getattr(model, "random_state", None)),
        "data": getattr(rule, "data_digest_", None),
        **getattr(model, "manifest", {}),
    }


def sealed(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return all parts, the manifest with their checksums first and its own last."""
    sums = {name: {"bytes": len(part), "sha256": _sum(part)} for name, part in parts.items()}
    told = json.dumps({**manifest, "parts": sums}, indent=1, ensure_ascii=False, allow_nan=False)
    return {MANIFEST: told.encode(), **parts, SEAL: _sum(told.encode()).encode()}


def read_format(parts: Mapping[str, bytes]) -> tuple[Mapping[str, Any], Any]:
    """Return a manifest that is not checked yet, and the format that it says it has."""
    if MANIFEST not in parts:
        raise ValueError(f"it has no part {MANIFEST} and is no model: make one by plcp.save")
    manifest = json.loads(parts[MANIFEST])
    found = manifest["format"]
    if type(found) is not int or not 1 <= found <= FORMAT:
        raise ValueError(
            f"it was made by plcp {manifest['plcp']}, format {found}, and this is plcp "
            f"{version_of('plcp')}, which reads format {FORMAT}: upgrade plcp"
        )
    return manifest, found


def check_sums(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> None:
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
    true = describe(model, (), ())
    for name in TRUE:
        if manifest[name] != true[name]:
            raise ValueError(
                f"it says that its {name} is {manifest[name]!r}, and it is {true[name]!r}: do not "
                "use it"
            )
    told, meant = (each["class"].rpartition(".")[2] for each in (manifest, true))
    if told != meant:  # the module of a script has another name elsewhere
        raise ValueError(f"it says that it holds a {told}, and holds a {meant}: do not use it")


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
    return f"{type(value).__name__}" if hasattr(value, "__dict__") else repr(value)
