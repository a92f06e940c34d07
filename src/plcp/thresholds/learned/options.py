"""What the options of ``PLCP`` mean, and which mean nothing."""

from typing import Any

from sklearn.base import clone

from plcp.partitions.base import Partition
from plcp.partitions.ordered import OrderedPartition
from plcp.validation import check_alpha, check_count, check_option, check_share

CALIBRATIONS = ("joint", "split", "cross")
ASSIGNMENTS = ("sample", "mode", "mean")
WITHIN = ("auto", "constant", "index")


def check_options(rule: Any) -> None:
    """Refuse options that mean nothing, before any row is looked at."""
    check_alpha(rule.alpha)
    check_option("calibration", rule.calibration, CALIBRATIONS)
    check_option("assignment", rule.assignment, ASSIGNMENTS)
    check_option("within", rule.within, WITHIN)
    if not isinstance(rule.share_partition, bool):
        raise ValueError(f"share_partition must be True or False, got {rule.share_partition!r}")
    check_share("calibration_size", rule.calibration_size)
    check_count("cv", rule.cv, 2)
    if rule.partition is not None and not isinstance(rule.partition, Partition):
        raise ValueError(
            f"partition must be a Partition or None, got {rule.partition!r}: "
            "wrap a regressor in OrderedPartition, a classifier in ClassifierPartition"
        )


def given_partition(rule: Any) -> Partition:
    """Return the partition that a rule was given, or the one used in its place."""
    return OrderedPartition() if rule.partition is None else rule.partition


def template(rule: Any) -> Partition:
    """Return the unfitted partition at the rule's alpha, spelled out."""
    m = 1 if rule.n_groups == "auto" else rule.n_groups
    return clone(given_partition(rule)).set_params(alpha=rule.alpha, n_groups=m).spelled_out()


def follows_index(rule: Any, partition: Partition) -> bool:
    """Whether thresholds follow the index of a partition within its groups."""
    if rule.within != "auto":
        return bool(rule.within == "index")
    return isinstance(partition, OrderedPartition) and rule.calibration != "joint"
