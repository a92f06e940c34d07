"""Rows that stand several times in the data of a cluster: what becomes of them is what is said."""

import dask.array as da
import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from plcp import LinearQuantile, OrderedPartition
from plcp.dask import DaskLinearQuantile, DaskPLCP
from plcp.out_of_core.samples import LEAST_DRAWS
from plcp.thresholds.guarantees import EXACT

line = OrderedPartition(LinearQuantile())
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 3))
scores = rng.exponential(size=1000) * (1 + (X[:, 0] > 0))
new = rng.normal(size=(20_000, 3))
new_scores = rng.exponential(size=20_000) * (1 + (new[:, 0] > 0))


def coverage(regressor, times):
    rule = DaskPLCP(OrderedPartition(regressor), n_groups=2)
    rule.fit(np.repeat(X, times, axis=0), np.repeat(scores, times))
    return np.mean(new_scores <= rule.predict(new))


@pytest.mark.parametrize("times", [2, 4])
def test_copies_of_rows_cost_no_coverage(times):
    """Copies share a fold, in memory and on the cluster: no tree sees what is held out."""
    tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
    lost = [coverage(i, 1) - coverage(i, times) for i in (tree, DaskLinearQuantile())]
    noise = 4 * np.sqrt(0.1 * 0.9 / 1000)  # of a coverage, four deviations
    assert np.abs(lost).max() < noise


def split(X, scores, rows_a_part):
    rule = DaskPLCP(line, n_groups=1, calibration="split")
    chunks = rows_a_part, -1
    return rule.fit(da.from_array(X, chunks=chunks), da.from_array(scores, chunks=rows_a_part))


def test_a_split_is_exact_where_no_two_parts_hold_the_same_row():
    twice = np.repeat(X, 2, axis=0), np.repeat(scores, 2)  # in the same part
    for rows in ((X, scores), twice):
        told = split(*rows, 100).guarantee_
        assert EXACT in told
        assert "and no two parts hold the same row and score" in told


@pytest.mark.parametrize("shared", [1, 40, 1000])
def test_a_split_whose_parts_hold_the_same_rows_is_not_called_exact(shared):
    """Rows that are drawn together do not stand for new ones, which are drawn by themselves."""
    parts = np.append(X, X[:shared], axis=0), np.append(scores, scores[:shared])
    told = split(*parts, 1000).guarantee_
    assert told.startswith("Approximate")
    assert EXACT not in told
    assert len(parts[1]) <= LEAST_DRAWS  # so that all rows were looked at
    assert f"About {200 * shared / (1000 + shared):.2g} % of the rows have copies" in told
