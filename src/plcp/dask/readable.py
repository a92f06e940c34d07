"""What can be read as rows or values at all, here or on a cluster."""

from typing import Any

from dask.delayed import Delayed
from scipy.sparse import issparse


def check_readable(name: str, values: Any) -> None:
    """Refuse what is nothing, or what tells nothing of itself before it is computed."""
    if values is None:
        raise ValueError(
            f"fit requires {name} to be passed, but {name} is None: give a Dask array or frame"
        )
    if isinstance(values, Delayed):
        raise TypeError(
            f"{name} is a Delayed, which does not tell its columns and parts: make a collection "
            "of it by dask.array.from_delayed or dask.dataframe.from_delayed"
        )


def check_dense(name: str, values: Any) -> None:
    """Refuse a part that is a sparse matrix."""
    if issparse(values):
        raise TypeError(
            f"{name} is made of sparse matrices, and rows are read as dense ones: give "
            f"{name}.map_blocks(lambda block: block.toarray())"
        )
