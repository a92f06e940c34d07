"""Prediction sets that hold for each kind of input, not only on average."""

import typing

from plcp.lazily import fetched_from as _fetched_from

if typing.TYPE_CHECKING:
    from plcp.certificate import Certificate, certify
    from plcp.conformal import ConformalClassifier, ConformalRegressor, NestedSets
    from plcp.indices import LinearQuantile
    from plcp.models import MeanScalePair, QuantilePair
    from plcp.partitions import (
        ClassifierPartition,
        OrderedPartition,
        SoftmaxPartition,
        TreePartition,
    )
    from plcp.scores import (
        AbsoluteResidual,
        CumulativeProbability,
        LabelProbability,
        NormalizedResidual,
        QuantileResidual,
        SignedResidual,
    )
    from plcp.sets import Intervals, LabelSets
    from plcp.shifts import GroupProbabilities, Groups, KernelShifts
    from plcp.storage import load, save
    from plcp.thresholds import (
        PLCP,
        RLCP,
        BatchGCP,
        BatchMVP,
        ConditionalCalibration,
        LocalCP,
        Mondrian,
        PosteriorConformal,
        Rectified,
        SplitConformal,
    )
    from plcp.validation import ColumnOrderWarning, InfiniteThresholdWarning, SmallGroupWarning

__version__ = "0.1.0"

__all__ = [
    "PLCP",
    "RLCP",
    "AbsoluteResidual",
    "BatchGCP",
    "BatchMVP",
    "Certificate",
    "ClassifierPartition",
    "ColumnOrderWarning",
    "ConditionalCalibration",
    "ConformalClassifier",
    "ConformalRegressor",
    "CumulativeProbability",
    "GroupProbabilities",
    "Groups",
    "InfiniteThresholdWarning",
    "Intervals",
    "KernelShifts",
    "LabelProbability",
    "LabelSets",
    "LinearQuantile",
    "LocalCP",
    "MeanScalePair",
    "Mondrian",
    "NestedSets",
    "NormalizedResidual",
    "OrderedPartition",
    "PosteriorConformal",
    "QuantilePair",
    "QuantileResidual",
    "Rectified",
    "SignedResidual",
    "SmallGroupWarning",
    "SoftmaxPartition",
    "SplitConformal",
    "TreePartition",
    "certify",
    "load",
    "save",
]

_HOMES = {
    "plcp.certificate": (
        "Certificate",
        "certify",
    ),
    "plcp.conformal": (
        "ConformalClassifier",
        "ConformalRegressor",
        "NestedSets",
    ),
    "plcp.indices": ("LinearQuantile",),
    "plcp.models": (
        "MeanScalePair",
        "QuantilePair",
    ),
    "plcp.partitions": (
        "ClassifierPartition",
        "OrderedPartition",
        "SoftmaxPartition",
        "TreePartition",
    ),
    "plcp.scores": (
        "AbsoluteResidual",
        "CumulativeProbability",
        "LabelProbability",
        "NormalizedResidual",
        "QuantileResidual",
        "SignedResidual",
    ),
    "plcp.sets": (
        "Intervals",
        "LabelSets",
    ),
    "plcp.shifts": (
        "GroupProbabilities",
        "Groups",
        "KernelShifts",
    ),
    "plcp.storage": (
        "load",
        "save",
    ),
    "plcp.thresholds": (
        "PLCP",
        "RLCP",
        "BatchGCP",
        "BatchMVP",
        "ConditionalCalibration",
        "LocalCP",
        "Mondrian",
        "PosteriorConformal",
        "Rectified",
        "SplitConformal",
    ),
    "plcp.validation": (
        "ColumnOrderWarning",
        "InfiniteThresholdWarning",
        "SmallGroupWarning",
    ),
}
__getattr__ = _fetched_from(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
