"""Where prediction sets fail, and how sure we are."""

from plcp.metrics.bins import cut_bins, quantile_bins
from plcp.metrics.comparison import Comparison, compare
from plcp.metrics.correlation import size_correlation
from plcp.metrics.coverage import coverage, mean_size
from plcp.metrics.coverage_gap import coverage_gap
from plcp.metrics.ert import ert
from plcp.metrics.group_coverage import GroupCoverage, coverage_by_group
from plcp.metrics.grouping import Grouping, column_groups
from plcp.metrics.hsic import hsic
from plcp.metrics.improvement import improvement
from plcp.metrics.interval_score import interval_score
from plcp.metrics.measure import Measure
from plcp.metrics.msce import estimated_msce, msce, msce_of_law
from plcp.metrics.pinball_excess import pinball_excess_bound
from plcp.metrics.slab import Slab
from plcp.metrics.strata import feature_stratified_coverage, size_stratified_coverage
from plcp.metrics.worst_slab import WorstSlab, worst_slab

__all__ = [
    "Comparison",
    "GroupCoverage",
    "Grouping",
    "Measure",
    "Slab",
    "WorstSlab",
    "column_groups",
    "compare",
    "coverage",
    "coverage_by_group",
    "coverage_gap",
    "cut_bins",
    "ert",
    "estimated_msce",
    "feature_stratified_coverage",
    "hsic",
    "improvement",
    "interval_score",
    "mean_size",
    "msce",
    "msce_of_law",
    "pinball_excess_bound",
    "quantile_bins",
    "size_correlation",
    "size_stratified_coverage",
    "worst_slab",
]
