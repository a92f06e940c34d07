"""Metrics of prediction sets: coverage, size and dependence, each with an interval."""

from plcp._verdict import Verdict
from plcp.metrics.compare import Comparison, compare
from plcp.metrics.coverage import coverage, interval_score, mean_size
from plcp.metrics.dependence import hsic, improvement, size_correlation
from plcp.metrics.ert import ert
from plcp.metrics.groups import (
    GroupCoverage,
    Grouping,
    column_groups,
    coverage_by_group,
    coverage_gap,
    cut_bins,
    feature_stratified_coverage,
    quantile_bins,
    size_stratified_coverage,
)
from plcp.metrics.measure import Measure
from plcp.metrics.msce import estimated_msce, msce, msce_of_law, pinball_excess_bound
from plcp.metrics.slab import Slab, WorstSlab, worst_slab

__all__ = [
    "Comparison",
    "GroupCoverage",
    "Grouping",
    "Measure",
    "Slab",
    "Verdict",
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
