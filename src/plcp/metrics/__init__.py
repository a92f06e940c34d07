"""Where prediction sets fail, and how sure we are."""

from plcp.metrics.coverage import GroupCoverage, coverage_by_group
from plcp.metrics.dependence import hsic, size_correlation
from plcp.metrics.ert import ert
from plcp.metrics.measure import Measure
from plcp.metrics.msce import msce

__all__ = [
    "GroupCoverage",
    "Measure",
    "coverage_by_group",
    "ert",
    "hsic",
    "msce",
    "size_correlation",
]
