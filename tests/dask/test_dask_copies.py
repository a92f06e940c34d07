"""Rows that stand several times in the data of a cluster: what becomes of them is what is said."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from plcp import OrderedPartition
from plcp.dask import DaskLinearQuantile, DaskPLCP

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 3))
scores = rng.exponential(size=1000) * (1 + (X[:, 0] > 0))
new = rng.normal(size=(20_000, 3))
new_scores = rng.exponential(size=20_000) * (1 + (new[:, 0] > 0))


def coverage(index, times):
    rule = DaskPLCP(OrderedPartition(index), n_groups=2)
    rule.fit(np.repeat(X, times, axis=0), np.repeat(scores, times))
    return np.mean(new_scores <= rule.predict(new))


@pytest.mark.parametrize("times", [2, 4])
def test_copies_of_rows_undo_an_index_that_learns_in_memory_and_not_a_line(times):
    """As the guide warns: folds by place let a tree see what is held out, folds by hash do not."""
    tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
    lost, line = (coverage(i, 1) - coverage(i, times) for i in (tree, DaskLinearQuantile()))
    noise = 4 * np.sqrt(0.1 * 0.9 / 1000)  # of a coverage, four deviations
    assert lost > noise
    assert abs(line) < noise
