"""A calibrated table: all that is needed to give new rows their sets."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from plcp.scores import Score
from plcp.tabular.features import Feature, LeftOut
from plcp.tabular.features import describe_features as _described
from plcp.tabular.kinds import is_text
from plcp.tabular.predictions import score_of
from plcp.tabular.roles import Roles
from plcp.thresholds import BatchGCP, SplitConformal, ThresholdRule


@dataclass(frozen=True)
class TabularModel:
    """A fitted rule, with what the columns of a table mean to it.

    Parameters
    ----------
    roles : Roles
        Which column is what.
    features, left_out : tuple
        The columns the rule looks at, as calibration found them, and those it may not.
    rule, split : ThresholdRule
        The fitted rule, and split conformal prediction on the same rows, to be compared with.
    classes : pyarrow.Array or None
        The label of each column of probabilities.
    method : str
        Name of the method.
    explanation : mapping or None
        The learned groups in words.
    about : mapping
        Where the model comes from: rows, seed, options, versions, what the caller added.
    notes : tuple of str
        What is to be known of the calibration rows.
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

    @property
    def alpha(self) -> float:
        """Miscoverage rate."""
        return float(self.rule.alpha)

    @property
    def guarantee(self) -> str:
        """What holds, and when, in the words of this table's user."""
        return self.rule.guarantee_.replace('calibration="split"', "the method plcp-split")

    @property
    def manifest(self) -> dict[str, Any]:
        """What a file says of this model, for whoever reads it without the rules."""
        classes = self.classes
        return {
            "method": self.method,
            "alpha": self.alpha,
            "guarantee": self.guarantee,
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
        """Group, size, share, threshold, and name and rule in words, of each group of the rule.

        The threshold is None where it differs within a group that has none of its own.
        """
        rule = self.rule
        sizes = getattr(rule, "group_sizes_", np.array([self.about["weight"]]))
        thresholds = getattr(rule, "thresholds_", [getattr(rule, "threshold_", None)] * len(sizes))
        names = getattr(rule, "groups_", [None] * len(sizes))
        # groups that may overlap are compared with all rows
        total = self.about["weight"] if isinstance(rule, BatchGCP) else sizes.sum()
        words = self._words()
        return [
            {
                "group": i,
                "size": float(size),
                "share": float(size / total),
                "threshold": None if threshold is None else float(threshold),
                "name": words.get(i, {}).get("name") if name is None else str(name),
                "rule": words.get(i, {}).get("rule"),
            }
            for i, (size, threshold, name) in enumerate(zip(sizes, thresholds, names, strict=True))
        ]

    def _words(self) -> dict[int, Mapping[str, Any]]:
        groups = () if self.explanation is None else self.explanation["groups"]
        return {group["group"]: group for group in groups}


def describe_features(model: TabularModel) -> list[dict[str, Any]]:
    """Column, kind, rule and number of values of each feature, and of columns left out."""
    return list(_described(model.features, model.left_out))
