"""Files of the first format, which keep loading: a manifest, and two rules by skops."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from plcp.storage.estimators import load_estimators
from plcp.storage.names import full_name
from plcp.tabular.features import Feature, LeftOut
from plcp.tabular.model import TabularModel
from plcp.tabular.roles import Roles

MANIFEST, RULE, SPLIT, SUMS = "manifest.json", "rule.skops", "split.skops", "sha256.json"
# the types that such a file may hold
TRUSTED = [
    "functools.partial",  # of check_array, within scikit-learn's boosting
    "plcp.indices.boosted.ScaledQuantile",
    "plcp.indices.category_means.CategoryMeans",
    "plcp.indices.crossfit.CrossFitted",
    "plcp.indices.mixture.MixedIndex",
    "plcp.indices.sparse.SparseScale",
    "plcp.indices.sparse._Columns",
    "plcp.indices.tables.TableEncoder",
    "plcp.indices.tables.without_rare",
    "plcp.partitions.ordered.OrderedPartition",
    "plcp.programs.span.Span",
    "plcp.shifts.groups.Groups",
    "plcp.shifts.groups._Block",
    "plcp.thresholds.batch_gcp.BatchGCP",
    "plcp.thresholds.mondrian.Mondrian",
    "plcp.thresholds.plcp.PLCP",
    "plcp.thresholds.rectified.Rectified",
    "plcp.thresholds.split.SplitConformal",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils.validation.check_array",
]


def read_manifest(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Return the manifest, after a look whether it fits the parts."""
    for name in (RULE, SPLIT, SUMS):
        if name not in parts:
            raise ValueError(f"it has no part {name} and is no model: make one by plcp calibrate")
    sums = json.loads(parts[SUMS])
    for name in (MANIFEST, RULE, SPLIT):
        if hashlib.sha256(parts[name]).hexdigest() != sums.get(name):
            raise ValueError(
                f"its part {name} was changed since it was written: make the model again"
            )
    return {**manifest, "class": full_name(TabularModel)}


def read_model(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> TabularModel:
    """Return the model of such a file."""
    read_manifest(manifest, parts)
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
        rule=load_estimators(parts[RULE], TRUSTED),
        split=load_estimators(parts[SPLIT], TRUSTED),
        classes=classes,
        method=manifest["method"],
        explanation=manifest["explanation"],
        about=manifest["about"],
        notes=tuple(manifest["notes"]),
    )
