"""Model + score + threshold rule → prediction sets."""

from plcp.conformal.classifier import ConformalClassifier
from plcp.conformal.nested import NestedSets
from plcp.conformal.regressor import ConformalRegressor

__all__ = ["ConformalClassifier", "ConformalRegressor", "NestedSets"]
