"""Groups of a fitted rule for crepes and MAPIE; an estimator of skpro in ``interop.skpro``."""

from plcp.interop.groups import Bins, FeatureMap, as_feature_map, bins

__all__ = [
    "Bins",
    "FeatureMap",
    "as_feature_map",
    "bins",
]
