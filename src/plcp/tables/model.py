"""A calibrated table: all that is needed to give new rows their sets."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from plcp.scores import Score
from plcp.storage import files
from plcp.storage.allowlist import full_name
from plcp.tables.columns import Feature, LeftOut, is_text
from plcp.tables.roles import Roles
from plcp.tables.scores import score_of
from plcp.thresholds import BatchGCP, SplitConformal, ThresholdRule
from plcp.thresholds.guarantees import Guarantee, Guarantees


@dataclass(frozen=True)
class TabularModel:
    """A fitted rule, with what the columns of a table mean to it.

    Parameters
    ----------
    roles : Roles
        Which column is what.
    features, left_out : tuple
        The columns the rule uses, as calibration found them, and those it may not use.
    rule, split : ThresholdRule
        The fitted rule, and split conformal prediction on the same rows, to be compared with.
    classes : pyarrow.Array or None
        The label of each column of probabilities.
    method : str
        Name of the method.
    explanation : mapping or None
        The learned groups described.
    about : mapping
        Where the model comes from: rows, seed, options, versions, what the caller added.
    notes : tuple of str
        What is to be known of the calibration rows.
    others : tuple of ThresholdRule
        Rules for further miscoverage rates, fitted to the same rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate, choose_roles
    >>> table = pa.table({"x": range(19), "y": range(1, 20), "yhat": [0.0] * 19})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> model = calibrate(table, roles, method="split")
    >>> model.method, model.alpha, model.rule.threshold_
    ('split', 0.1, 18.0)
    """

    roles: Roles
    features: tuple[Feature, ...]
    left_out: tuple[LeftOut, ...]
    rule: ThresholdRule
    split: SplitConformal
    classes: pa.Array | None
    method: str
    explanation: Mapping[str, Any] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    others: tuple[ThresholdRule, ...] = ()

    @property
    def alpha(self) -> float:
        """Miscoverage rate, the first of several."""
        return float(self.rule.alpha)

    @property
    def alphas(self) -> list[float]:
        """All miscoverage rates."""
        return [float(rule.alpha) for rule in (self.rule, *self.others)]

    @property
    def guarantee(self) -> Guarantee | Guarantees:
        """What holds, and when."""
        each = tuple(rule.guarantee_ for rule in (self.rule, *self.others))
        return Guarantees(each) if self.others else each[0]

    @property
    def manifest(self) -> dict[str, Any]:
        """Summary of this model that its file holds, to be read without the rules."""
        classes = self.classes
        return {
            "method": self.method,
            "alpha": self.alpha,
            "alphas": self.alphas,
            "guarantee": self.guarantee.to_dict(),
            "seed": self.about.get("seed"),
            "roles": asdict(self.roles),
            "columns": [asdict(feature) for feature in self.features],
            "left_out": [asdict(left) for left in self.left_out],
            "classes": None if classes is None else classes.cast(pa.string()).to_pylist(),
            "label_type": None if classes is None else str(classes.type),
            "explanation": self.explanation,
            "about": dict(self.about),
            "notes": list(self.notes),
        }

    @property
    def conformity(self) -> Score | None:
        """Score that turns thresholds into sets; None where scores were given."""
        return score_of(self.roles)

    @property
    def column_types(self) -> dict[str, pa.DataType]:
        """Types that a text file must be read with, so that codes such as 007 stay text."""
        types = {f.column: pa.string() for f in self.features if f.is_text}
        if self.classes is not None and is_text(self.classes.type):
            types[str(self.roles.target)] = pa.string()
        return types

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that new rows must have."""
        names = (*self.roles.predictions, *(feature.column for feature in self.features))
        return tuple(dict.fromkeys(names))

    def groups_table(self) -> list[dict[str, Any]]:
        """Group, size, share, threshold, name, rule and what is typical, of each group.

        The threshold is None where it differs within a group that has none of its own. The rule is
        empty where no short rule describes a learned group, None for other groups.
        """
        rule = self.rule
        sizes = getattr(rule, "group_sizes_", np.array([self.about["weight"]]))
        thresholds = getattr(rule, "thresholds_", [getattr(rule, "threshold_", None)] * len(sizes))
        names = getattr(rule, "groups_", [None] * len(sizes))
        # groups that may overlap are compared with all rows
        total = self.about["weight"] if isinstance(rule, BatchGCP) else sizes.sum()
        described = () if self.explanation is None else self.explanation["groups"]
        words = {group["group"]: group for group in described}
        return [
            {
                "group": i,
                "size": float(size),
                "share": float(size / total),
                "threshold": None if threshold is None or np.isnan(threshold) else float(threshold),
                "name": words.get(i, {}).get("name") if name is None else str(name),
                "rule": words.get(i, {}).get("rule"),
                "typical": [one["text"] for one in words.get(i, {}).get("profile", ())],
            }
            for i, (size, threshold, name) in enumerate(zip(sizes, thresholds, names, strict=True))
        ]


def describe_features(model: TabularModel) -> list[dict[str, Any]]:
    """Column, kind, rule and number of values of each feature, and of columns left out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate, choose_roles, describe_features
    >>> table = pa.table({"x": [0, 1] * 10, "y": range(20), "yhat": [0.0] * 20})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> model = calibrate(table, roles, method="mondrian", by=["x"])
    >>> [(one["column"], one["kind"]) for one in describe_features(model)]
    [('x', 'labels')]
    """
    used = [
        {
            "column": feature.column,
            "kind": feature.kind,
            "rule": feature.rule,
            "values": len(feature.categories) or None,
        }
        for feature in model.features
    ]
    return used + [
        {"column": left.column, "kind": "left out", "rule": left.reason, "values": None}
        for left in model.left_out
    ]


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

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate, choose_roles, load_model, save_model
    >>> table = pa.table({"x": range(19), "y": range(1, 20), "yhat": [0.0] * 19})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> model = calibrate(table, roles, method="split")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.plcp")
    ...     load_model(f"{folder}/model.plcp").rule.threshold_
    18.0
    """
    files.write(model, path, force=force)


def load_model(path: str | Path) -> TabularModel:
    """Read a model that `save_model` wrote, and nothing else; see `plcp.load`.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate, choose_roles, load_model, save_model
    >>> table = pa.table({"x": range(19), "y": range(1, 20), "yhat": [0.0] * 19})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> model = calibrate(table, roles, method="split")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.plcp")
    ...     load_model(f"{folder}/model.plcp").method
    'split'
    """
    model = files.load(path)
    if not isinstance(model, TabularModel):
        raise ValueError(f"{path} holds a {type(model).__name__}, not a model of a table: {REMEDY}")
    return model


def load_manifest(path: str | Path) -> Mapping[str, Any]:
    """Read the summary that a model's file holds, without the rules: quickly.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from plcp.tables import calibrate, choose_roles, load_manifest, save_model
    >>> table = pa.table({"x": range(19), "y": range(1, 20), "yhat": [0.0] * 19})
    >>> roles = choose_roles(table.column_names, target="y", prediction="yhat")
    >>> model = calibrate(table, roles, method="split")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.plcp")
    ...     manifest = load_manifest(f"{folder}/model.plcp")
    >>> manifest["method"], manifest["alpha"]
    ('split', 0.1)
    """
    manifest = files.load_manifest(path)
    if manifest["class"] != full_name(TabularModel):
        raise ValueError(f"{path} holds a {manifest['class']}, not a model of a table: {REMEDY}")
    return manifest
