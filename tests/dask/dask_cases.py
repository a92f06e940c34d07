"""Rules, rows and models for tests on Dask, which worker processes can import."""

from functools import partial

import dask.array as da
import numpy as np
import pandas as pd
from dask.dataframe import from_delayed
from dask.delayed import delayed
from numpy.testing import assert_array_equal

from plcp import LinearQuantile, OrderedPartition
from plcp.dask import DaskMondrian, DaskPLCP, DaskSplitConformal

LINE = OrderedPartition(LinearQuantile())
RULES = {
    "split": partial(DaskSplitConformal, 0.2),
    "mondrian": partial(DaskMondrian, 0, 0.2),
    "plcp": partial(DaskPLCP, LINE, 2, 0.2, sample_size=60),
}


def rows(n, seed=0):
    """Rows of a group (0, 1, 2) and a number, and their scores, with ties."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 3, n), rng.normal(size=n)]).astype(float)
    return X, np.round(np.exp(X[:, 0] + rng.normal(size=n)), 1)


def random_lengths(rng, n):
    """Lengths of parts of n rows, some of them empty."""
    ends = np.sort(rng.integers(0, n + 1, rng.integers(0, 5)))
    return np.diff([0, *ends, n]).tolist()


def cut(X, y, *lengths):
    """Rows as arrays in parts of these lengths."""
    return da.from_array(X, chunks=(lengths, -1)), da.from_array(y, chunks=(lengths,))


def framed(X, y, *lengths):
    """Rows as a frame of columns "g" and "x" and a series, in parts of these lengths."""
    ends = np.cumsum(lengths)
    parts = [
        pd.DataFrame({"g": X[end - n : end, 0], "x": X[end - n : end, 1], "y": y[end - n : end]})
        for n, end in zip(lengths, ends, strict=True)
    ]
    frame = of_parts(*parts)
    return frame[["g", "x"]], frame["y"]


def of_parts(*parts):
    """Frame or series of these parts, whose meta is that of the first, even if they differ."""
    return from_delayed([delayed(part) for part in parts], meta=parts[0][:0], verify_meta=False)


def assert_same(rule, other):
    """Both give the same thresholds, to the last bit, and the same guarantee."""
    assert_array_equal(_thresholds(rule), _thresholds(other))
    assert rule.guarantee_ == other.guarantee_


def _thresholds(rule):
    X, _ = rows(50, seed=1)
    if hasattr(rule, "feature_names_in_"):
        X = pd.DataFrame(X, columns=rule.feature_names_in_)
    return rule.to_local().predict(X)


class Bare:
    """A model that has nothing but ``predict``."""

    def predict(self, X):
        return 0.75 * np.asarray(X)[:, 1]


def kind_of(X):
    """The first column, in a table of the same type."""
    return X[["kind"]] if hasattr(X, "columns") else X[:, :1]


def kind_as_array(X):
    return np.asarray(X)[:, :1]


def first_column(X):
    """The first column of an array, and of nothing else."""
    return X[:, 0]
