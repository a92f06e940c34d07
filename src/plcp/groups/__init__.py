"""Groups and shifts that thresholds are calibrated against: given, estimated, or smooth."""

from plcp.groups.features import GroupProbabilities
from plcp.groups.groups import Groups
from plcp.groups.shifts import KernelShifts

__all__ = ["GroupProbabilities", "Groups", "KernelShifts"]
