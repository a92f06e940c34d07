"""The same rules on Dask: learned from all rows of a cluster, wherever the rows lie."""
