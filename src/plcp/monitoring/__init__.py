"""Coverage of each group as labels come in, and whether it still holds."""

from plcp.monitoring.monitor import Monitor
from plcp.monitoring.report import Drift, GroupReport, Report

__all__ = ["Drift", "GroupReport", "Monitor", "Report"]
