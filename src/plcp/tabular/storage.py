"""The file of a model of a table: that of any model, under a manifest that tells of its columns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plcp.storage import loading
from plcp.storage.names import full_name
from plcp.storage.saving import write
from plcp.tabular.model import TabularModel

REMEDY = "make a model of a table by plcp calibrate"


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
    write(model, path, force=force)


def load_model(path: str | Path) -> TabularModel:
    """Read a model that `save_model` wrote, and nothing else; see `plcp.load`."""
    model = loading.load(path)
    if not isinstance(model, TabularModel):
        raise ValueError(f"{path} holds a {type(model).__name__}, not a model of a table: {REMEDY}")
    return model


def load_manifest(path: str | Path) -> Mapping[str, Any]:
    """Read what a model's file says of itself, without the rules: quickly."""
    manifest = loading.load_manifest(path)
    if manifest["class"] != full_name(TabularModel):
        raise ValueError(f"{path} holds a {manifest['class']}, not a model of a table: {REMEDY}")
    return manifest
