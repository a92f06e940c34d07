"""Threshold rules: from calibration pairs (x, s) to x ↦ q(x)."""

from plcp.thresholds.base import ThresholdRule
from plcp.thresholds.groups import Groups
from plcp.thresholds.mondrian import Mondrian
from plcp.thresholds.plcp import PLCP
from plcp.thresholds.rectified import Rectified
from plcp.thresholds.split import SplitConformal

__all__ = ["PLCP", "Groups", "Mondrian", "Rectified", "SplitConformal", "ThresholdRule"]
