"""The same rules on Dask: learned from all rows of a cluster, wherever the rows lie."""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError("plcp.dask needs Dask: pip install 'plcp[dask]'") from error

from plcp.dask.conformal import DaskConformalClassifier, DaskConformalRegressor
from plcp.dask.linear import DaskLinearQuantile
from plcp.dask.plcp import DaskPLCP
from plcp.dask.rules import DaskMondrian, DaskSplitConformal

__all__ = [
    "DaskConformalClassifier",
    "DaskConformalRegressor",
    "DaskLinearQuantile",
    "DaskMondrian",
    "DaskPLCP",
    "DaskSplitConformal",
]
