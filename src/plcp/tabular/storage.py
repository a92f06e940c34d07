"""The file of a model: a manifest that anybody can read, and the rules beside it."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

import plcp
from plcp.files import check_input, check_output, write_atomically
from plcp.tabular.archive import read_parts, write_parts
from plcp.tabular.features import Feature, LeftOut
from plcp.tabular.model import TabularModel
from plcp.tabular.roles import Roles
from plcp.tabular.rule_bytes import dump_rule, load_rule

FORMAT = 1
SUFFIX = ".plcp"
MANIFEST, RULE, SPLIT, SUMS = "manifest.json", "rule.skops", "split.skops", "sha256.json"


def save_model(model: TabularModel, path: str | Path, *, force: bool = False) -> None:
    """Write a model; the same model gives the same bytes.

    Parameters
    ----------
    model : TabularModel
        The calibrated model.
    path : str or Path
        A file that ends in ``.plcp``.
    force : bool, default=False
        Whether a file that is there may be replaced.
    """
    check_output(path, force, ending=SUFFIX)
    content = model_bytes(model)
    with write_atomically(path, force=force) as temporary:
        temporary.write_bytes(content)


def model_bytes(model: TabularModel) -> bytes:
    """Return a model as the bytes of its file."""
    parts = {RULE: dump_rule(model.rule), SPLIT: dump_rule(model.split)}
    classes = model.classes
    manifest = {
        "format": FORMAT,
        "plcp": plcp.__version__,
        "method": model.method,
        "alpha": model.alpha,
        "guarantee": model.guarantee,
        "roles": asdict(model.roles),
        "features": [asdict(feature) for feature in model.features],
        "left_out": [asdict(left) for left in model.left_out],
        "classes": None if classes is None else classes.cast(pa.string()).to_pylist(),
        "label_type": None if classes is None else str(classes.type),
        "explanation": model.explanation,
        "about": dict(model.about),
        "notes": list(model.notes),
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False).encode()
    parts = {MANIFEST: text, **parts}
    sums = json.dumps({name: _sum(part) for name, part in parts.items()}, indent=1).encode()
    return write_parts({**parts, SUMS: sums}, compressed=True)


def _sum(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()


def load_model(path: str | Path) -> TabularModel:
    """Read a model that `save_model` wrote, and nothing else.

    A file that is damaged, was changed, comes from a newer version or holds what no rule needs is
    refused. Its checksums tell accidents, not authors: read only models of people you trust with
    your results.
    """
    with _refusing(path):
        parts = read_parts(io.BytesIO(check_input(path).read_bytes()))
        return _model(_manifest(parts), parts)


def load_manifest(path: str | Path) -> Mapping[str, Any]:
    """Read what a model's file says of itself, without the rules: quickly."""
    with _refusing(path):
        return _manifest(read_parts(io.BytesIO(check_input(path).read_bytes())))


@contextmanager
def _refusing(path: str | Path) -> Iterator[None]:
    """Say in one sentence why a file is no model."""
    try:
        yield
    except zipfile.BadZipFile:
        fault = "it is no model, or not a whole one: make it by plcp calibrate"
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        fault = f"its manifest is damaged ({type(error).__name__} {error}): make the model again"
    except ValueError as error:
        fault = str(error)
    else:
        return
    raise ValueError(f"{path} cannot be read: {fault}")


def _manifest(parts: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Return the manifest, after a look whether it is ours and fits the parts."""
    _check_parts(parts, MANIFEST)
    manifest = json.loads(parts[MANIFEST])
    if manifest["format"] != FORMAT:
        raise ValueError(
            f"it was made by plcp {manifest['plcp']}, format {manifest['format']}, and this is "
            f"plcp {plcp.__version__}, which reads format {FORMAT}: upgrade plcp"
        )
    _check_parts(parts, RULE, SPLIT, SUMS)  # a newer format may have others
    sums = json.loads(parts[SUMS])
    for name in (MANIFEST, RULE, SPLIT):
        if _sum(parts[name]) != sums.get(name):
            raise ValueError(
                f"its part {name} was changed since it was written: make the model again"
            )
    return manifest


def _check_parts(parts: Mapping[str, bytes], *names: str) -> None:
    for name in names:
        if name not in parts:
            raise ValueError(f"it has no part {name} and is no model: make one by plcp calibrate")


def _model(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> TabularModel:
    roles: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in manifest["roles"].items()
    }
    features = (
        Feature(**{**each, "categories": tuple(each["categories"])})
        for each in manifest["features"]
    )
    classes = manifest["classes"]
    if classes is not None:
        classes = pa.array(classes, pa.string()).cast(pa.type_for_alias(manifest["label_type"]))
    return TabularModel(
        roles=Roles(**roles),
        features=tuple(features),
        left_out=tuple(LeftOut(**each) for each in manifest["left_out"]),
        rule=load_rule(parts[RULE]),
        split=load_rule(parts[SPLIT]),
        classes=classes,
        method=manifest["method"],
        explanation=manifest["explanation"],
        about=manifest["about"],
        notes=tuple(manifest["notes"]),
    )
