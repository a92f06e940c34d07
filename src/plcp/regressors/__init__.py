"""Regressors of the score, whose prediction an ordered partition cuts."""

from plcp.regressors.boosted import ScaledQuantile
from plcp.regressors.colorful import ColorfulQuantile
from plcp.regressors.crossfit import CrossFitted
from plcp.regressors.linear import LinearQuantile
from plcp.regressors.sparse import SparseScale
from plcp.regressors.stacking import StackedQuantile

__all__ = [
    "ColorfulQuantile",
    "CrossFitted",
    "LinearQuantile",
    "ScaledQuantile",
    "SparseScale",
    "StackedQuantile",
]
