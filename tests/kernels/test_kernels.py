"""Kernels: formulas, the law of draws, bandwidths by effective size, weighted quantiles."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi, kstest, norm

from bands import FALSE_ALARM
from plcp.kernels import (
    ROWS,
    BoxKernel,
    GaussianKernel,
    bandwidth_for_size,
    blocks,
    precision_for_size,
    rows_reaching,
)
from plcp.quantiles import conformal_quantile
from strategies import alphas, few

KERNELS = [GaussianKernel, BoxKernel]
N_DRAWS = 5000


def pairs(rng, d=3):
    return rng.normal(size=(7, d)), rng.normal(size=(5, d))


@pytest.mark.parametrize("far", [0.0, 1e3, 1e9])
def test_gaussian_by_its_formula_wherever_the_points_lie(rng, far):
    """A product of large numbers would cancel: the distances themselves are the oracle."""
    X, Z = (np.round(points, 3) + far for points in pairs(rng))
    Z[0] -= far
    squares = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    # relative error of exp(-t) is the absolute one of t: rounding of squares up to NEAR
    assert_allclose(GaussianKernel(0.7)(X, Z), np.exp(-squares / (2 * 0.7**2)), rtol=1e-7)


def test_gaussian_logarithms_where_weights_vanish(rng):
    X, Z = rng.normal(size=(4, 3000)), rng.normal(size=(2, 3000))
    kernel = GaussianKernel(0.5)
    assert (kernel(X, Z) == 0).all()
    squares = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    assert_allclose(kernel.logs_to(Z)(X), -2 * squares, rtol=1e-9)


def test_box_by_its_formula(rng):
    X, Z = pairs(rng)
    near = np.linalg.norm(X[:, None] - Z[None], axis=2) <= 1.5
    assert 0 < near.sum() < near.size
    assert_array_equal(BoxKernel(1.5)(X, Z), near)
    assert_array_equal(BoxKernel(1.0)(np.zeros((1, 1)), np.array([[1.0], [1.0 + 1e-15]])), [[1, 0]])


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_infinite_bandwidth_counts_all_points_alike(rng, kernel):
    X, Z = pairs(rng)
    assert_array_equal(kernel(np.inf)(X, Z), np.ones((7, 5)))
    assert_array_equal(kernel(np.inf).draw(X, rng), X)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, "wide", None, True])
def test_a_bandwidth_that_is_none(kernel, bandwidth):
    with pytest.raises(ValueError, match=f"bandwidth must be a positive.*got {bandwidth!r}"):
        kernel(bandwidth)


# Seven tests share the false alarm of one in a million.
SHARE = FALSE_ALARM / 7


@pytest.mark.parametrize("d", [1, 4])
def test_gaussian_draws_follow_the_density(rng, d):
    drawn = (GaussianKernel(2.0).draw(np.full((N_DRAWS, d), 3.0), rng) - 3.0) / 2.0
    assert kstest(np.linalg.norm(drawn, axis=1), chi(d).cdf).pvalue > SHARE
    assert kstest(drawn[:, -1], norm.cdf).pvalue > SHARE


@pytest.mark.parametrize("d", [1, 4])
def test_box_draws_are_uniform_on_the_ball(rng, d):
    """P(radius ≤ r) = r^d in units of the bandwidth, and no side of the ball is preferred."""
    drawn = BoxKernel(2.0).draw(np.full((N_DRAWS, d), 3.0), rng) - 3.0
    radius = np.linalg.norm(drawn, axis=1) / 2.0
    assert radius.max() <= 1 + 4 * np.finfo(float).eps
    assert kstest(radius**d, "uniform").pvalue > SHARE
    if d == 4:
        half = drawn[:, -1] / np.linalg.norm(drawn, axis=1)
        angle = (np.arccos(half) - half * np.sqrt(1 - half**2)) / np.pi  # uniform on the sphere
        assert kstest(angle, "uniform").pvalue > SHARE


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("size", [20, 500])
def test_bandwidth_meets_the_effective_size(rng, kernel, drawn, size):
    """Just below the bandwidth a tenth of the points see too few of 1000 like these."""
    X = rng.normal(size=(300, 2))
    bandwidth = bandwidth_for_size(kernel, X, 1000, size, drawn=drawn, seed=5)

    def size_of_nine_in_ten(bandwidth):
        found, sizes = kernel(bandwidth), []
        centres = found.draw(X[:200], np.random.default_rng(5)) if drawn else X[:200]
        for i, centre in enumerate(centres):
            weights = found(X, centre[None])[:, 0]
            counts = np.where(np.arange(300) == i, 1.0, 1000 / 299)
            sizes.append((counts @ weights) ** 2 / (counts @ weights**2) - 1)
        return np.quantile(sizes, 0.1)

    assert size_of_nine_in_ten(bandwidth * (1 + 1e-9)) >= size
    assert size_of_nine_in_ten(bandwidth * (1 - 1e-9)) < size


def test_bandwidth_where_nothing_varies():
    found = bandwidth_for_size(BoxKernel, np.ones((9, 2)), 90, 5, drawn=False, seed=0)
    assert found == np.inf


def test_bandwidth_of_two_values_separates_them(rng):
    X = rng.integers(0, 2, size=(100, 1)).astype(float)
    found = bandwidth_for_size(GaussianKernel, X, 100, 5, drawn=False, seed=0)
    assert GaussianKernel(found)(X[:1], 1 - X[:1]) == 0.0


def test_rows_beyond_those_needed_are_not_read(rng):
    """Else the weights of a million rows around each centre would be held at once."""
    X = rng.dirichlet(np.ones(3), size=ROWS)
    more = np.vstack([X, np.full((5, 3), np.nan)])
    options = {"drawn": True, "seed": 0}
    few, many = (bandwidth_for_size(BoxKernel, rows, 50_000, 100, **options) for rows in (X, more))
    assert few == many
    assert precision_for_size(X, 50_000, 100, 0) == precision_for_size(more, 50_000, 100, 0)


@st.composite
def whole_weights(draw):
    """Weights that are whole numbers, zeros among them: their sums are exact."""
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 40))
    weights = draw(hnp.arrays(float, (m, n), elements=st.integers(0, 3).map(float)))
    return weights, draw(hnp.arrays(float, m, elements=st.integers(0, 3).map(float)))


@few
@given(whole_weights(), alphas)
def test_rows_reach_their_quantile_where_a_running_sum_does(drawn, alpha):
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
