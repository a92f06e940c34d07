"""Rules on Dask, each as a function of the client, for rows of a group (0, 1, 2) and a number."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from plcp import LinearQuantile, OrderedPartition
from plcp.dask import DaskLinearQuantile, DaskMondrian, DaskPLCP, DaskSplitConformal

line, everywhere = (
    OrderedPartition(regressor()) for regressor in (LinearQuantile, DaskLinearQuantile)
)
RULES = [
    pytest.param(partial(DaskSplitConformal, 0.2), id="split"),
    pytest.param(partial(DaskMondrian, 0, 0.2), id="mondrian"),
    pytest.param(partial(DaskPLCP, line, 2, 0.2, sample_size=60), id="plcp of a sample"),
    pytest.param(partial(DaskPLCP, everywhere, 2, 0.2), id="plcp of all rows"),
]


def rows(n, seed=0):
    """Rows of a group and a number, and their scores, with ties."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 3, n), rng.normal(size=n)]).astype(float)
    return X, np.round(np.exp(X[:, 0] + rng.normal(size=n)), 1)


def assert_same(rule, other):
    """Both give the same thresholds, to the last bit, and promise the same."""
    assert_array_equal(_thresholds(rule), _thresholds(other))
    assert rule.guarantee_ == other.guarantee_


def _thresholds(rule):
    X, _ = rows(50, seed=1)
    if hasattr(rule, "feature_names_in_"):
        X = pd.DataFrame(X, columns=rule.feature_names_in_)
    return rule.to_local().predict(X)
