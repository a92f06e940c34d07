"""Learned groups in the hands of other packages."""

from plcp.adapters.bins import Bins, bins
from plcp.adapters.feature_map import FeatureMap, as_feature_map

__all__ = ["Bins", "FeatureMap", "as_feature_map", "bins"]
