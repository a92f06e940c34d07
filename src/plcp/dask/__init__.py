"""The same rules on Dask: learned from all rows of a cluster, wherever the rows lie."""

from plcp.dask.mondrian import DaskMondrian
from plcp.dask.plcp import DaskPLCP
from plcp.dask.split import DaskSplitConformal

__all__ = ["DaskMondrian", "DaskPLCP", "DaskSplitConformal"]
