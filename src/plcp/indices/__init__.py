"""Indices: regressors of the score whose value an ordered partition cuts."""

from plcp.indices.boosted import ScaledQuantile
from plcp.indices.colorful import ColorfulQuantile
from plcp.indices.crossfit import CrossFitted
from plcp.indices.linear import LinearQuantile
from plcp.indices.mixture import MixedIndex
from plcp.indices.sparse import SparseScale

__all__ = [
    "ColorfulQuantile",
    "CrossFitted",
    "LinearQuantile",
    "MixedIndex",
    "ScaledQuantile",
    "SparseScale",
]
