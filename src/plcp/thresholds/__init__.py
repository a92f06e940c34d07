"""Threshold rules: from calibration pairs (x, s) to x ↦ q(x)."""

from plcp.thresholds.base import ThresholdRule
from plcp.thresholds.batch_gcp import BatchGCP
from plcp.thresholds.batch_mvp import BatchMVP
from plcp.thresholds.conditional import ConditionalCalibration
from plcp.thresholds.guarantees import Guarantee, Guarantees
from plcp.thresholds.local import RLCP, LocalCP
from plcp.thresholds.mondrian import Mondrian
from plcp.thresholds.plcp import PLCP
from plcp.thresholds.posterior import PosteriorConformal
from plcp.thresholds.rectified import Rectified
from plcp.thresholds.split import SplitConformal

__all__ = [
    "PLCP",
    "RLCP",
    "BatchGCP",
    "BatchMVP",
    "ConditionalCalibration",
    "Guarantee",
    "Guarantees",
    "LocalCP",
    "Mondrian",
    "PosteriorConformal",
    "Rectified",
    "SplitConformal",
    "ThresholdRule",
]
