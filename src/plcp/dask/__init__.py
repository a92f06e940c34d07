"""The rules and conformal estimators for Dask collections: thresholds from all rows, in place."""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError("plcp.dask needs Dask: pip install 'plcp[dask]'") from error

from plcp.dask.conformal import DaskConformalClassifier, DaskConformalRegressor
from plcp.dask.plcp import DaskPLCP
from plcp.dask.rules import DaskMondrian, DaskSplitConformal

__all__ = [
    "DaskConformalClassifier",
    "DaskConformalRegressor",
    "DaskMondrian",
    "DaskPLCP",
    "DaskSplitConformal",
]
