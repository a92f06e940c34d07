"""Groups and shifts that thresholds are calibrated against: given, estimated, or smooth."""

from plcp.shifts.features import GroupProbabilities
from plcp.shifts.groups import Groups
from plcp.shifts.smooth import KernelShifts

__all__ = ["GroupProbabilities", "Groups", "KernelShifts"]
