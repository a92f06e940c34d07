"""Weighted quantiles of many rows against a running sum, and the blocks they come in."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from plcp.kernels import blocks, rows_reaching
from plcp.quantiles import conformal_quantile
from strategies import alphas, few


@st.composite
def whole_weights(draw):
    """Weights that are whole numbers, zeros among them: their sums are exact."""
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 40))
    weights = draw(hnp.arrays(float, (m, n), elements=st.integers(0, 3).map(float)))
    return weights, draw(hnp.arrays(float, m, elements=st.integers(0, 3).map(float)))


@few
@given(whole_weights(), alphas)
def test_rows_reach_their_level_where_a_running_sum_does(drawn, alpha):
    weights, own = drawn
    n = weights.shape[1]
    found = np.append(np.arange(n), np.inf)[rows_reaching(weights, own, 1 - alpha)]
    for row, w, q in zip(weights, own, found, strict=True):
        nothing = row.sum() + w == 0
        assert q == (np.inf if nothing else conformal_quantile(np.arange(n), alpha, row, w))


@pytest.mark.parametrize(
    ("n_rows", "width", "most"), [(10, 3, 9), (7, 100, 9), (0, 5, 9), (4, 0, 9)]
)
def test_blocks_cover_all_rows_once_and_stay_small(n_rows, width, most):
    found = list(blocks(n_rows, width, most))
    assert_array_equal(
        np.concatenate([np.arange(n_rows)[rows] for rows in found] or [[]]), range(n_rows)
    )
    for rows in found:
        size = rows.stop - rows.start
        assert size == 1 or max(size * width, size * size) <= most
