"""The class H: learned maps from covariates to groups."""

from plcp.exceptions import CollapseWarning
from plcp.partitions.base import Partition
from plcp.partitions.classifier import ClassifierPartition
from plcp.partitions.ordered import OrderedPartition
from plcp.partitions.softmax import SoftmaxPartition
from plcp.partitions.tree import TreePartition

__all__ = [
    "ClassifierPartition",
    "CollapseWarning",
    "OrderedPartition",
    "Partition",
    "SoftmaxPartition",
    "TreePartition",
]
