"""TorchCP's metrics, by their signatures, answered by plcp.metrics."""

import numpy as np
from modules import module, no_counterpart

from plcp.metrics import coverage, coverage_by_group, coverage_gap, mean_size, worst_slab
from plcp.sets import Intervals, LabelSets


def label_sets(prediction_sets):
    return LabelSets(prediction_sets.numpy().astype(bool))


def coverage_of_labels(prediction_sets, labels, coverage_type="default", num_classes=None):
    if coverage_type == "macro":
        raise NotImplementedError("plcp has no mean of coverage over classes")
    return float(coverage(label_sets(prediction_sets).contains(labels.numpy())))


def size_of_label_sets(prediction_sets, labels=None):
    return float(mean_size(label_sets(prediction_sets).size))


def covered_gap(prediction_sets, labels, alpha, num_classes, shot_idx=None):
    """Their gap is in per cent, and may be that of some classes only."""
    classes = labels.numpy()
    covered = label_sets(prediction_sets).contains(classes)
    groups = classes if shot_idx is None else {str(c): classes == c for c in shot_idx}
    return 100 * float(coverage_gap(covered, groups, alpha))


def violated_classes(prediction_sets, labels, alpha, num_classes):
    covered = label_sets(prediction_sets).contains(labels.numpy())
    return int((coverage_by_group(covered, labels.numpy()).coverage < 1 - alpha).sum())


def worst_slice(
    features,
    prediction_sets,
    labels,
    delta=0.1,
    M=1000,
    test_fraction=None,
    random_state=2020,
    verbose=False,
):
    if test_fraction is not None:
        raise NotImplementedError("plcp chooses the slab on one half of the rows")
    sets, rows = label_sets(prediction_sets), features.numpy()
    covered = sets.contains(labels.numpy())
    return float(worst_slab(rows, covered, mass=delta, n_directions=M, random_state=random_state))


def singleton_hit_ratio(prediction_sets, labels):
    sets = label_sets(prediction_sets)
    return float(coverage(sets.contains(labels.numpy()) & (sets.size == 1)))


def pieces(prediction_intervals):
    """Their sets are unions of intervals, two columns each."""
    ends = prediction_intervals.numpy()
    return Intervals(ends[..., ::2].ravel(), ends[..., 1::2].ravel())


def coverage_of_intervals(prediction_intervals, y_truth):
    each = pieces(prediction_intervals)
    y = np.repeat(y_truth.numpy(), len(each) // len(y_truth))
    return float(coverage(each.contains(y).reshape(len(y_truth), -1).any(axis=1)))


def size_of_intervals(prediction_intervals):
    size = pieces(prediction_intervals).size
    return float(mean_size(size.reshape(len(prediction_intervals), -1).sum(axis=1)))


P_VALUES = ("S", "N", "U", "F", "M", "E", "OU", "OF", "OM", "OE")
MODULES = [
    *(
        module(name)
        for name in (
            "torchcp",
            "torchcp.classification",
            "torchcp.classification.utils",
            "torchcp.regression",
            "torchcp.regression.utils",
            "torchcp.utils",
        )
    ),
    module("torchcp.utils.registry", Registry=lambda name: None),
    module(
        "torchcp.classification.utils.metrics",
        CovGap=covered_gap,
        DiffViolation=no_counterpart,
        Metrics=no_counterpart,
        SSCV=no_counterpart,
        VioClasses=violated_classes,
        WSC=worst_slice,
        average_size=size_of_label_sets,
        compute_p_values=no_counterpart,
        coverage_rate=coverage_of_labels,
        singleton_hit_ratio=singleton_hit_ratio,
        **{f"pvalue_criterion_{letter}": no_counterpart for letter in P_VALUES},
    ),
    module(
        "torchcp.regression.utils.metrics",
        Metrics=no_counterpart,
        average_size=size_of_intervals,
        coverage_rate=coverage_of_intervals,
    ),
]
