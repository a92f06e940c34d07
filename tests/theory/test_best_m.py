"""The number of groups theory would choose, against every number tried."""

import numpy as np
import pytest

from plcp.theory import (
    best_m,
    finite_excess,
    log_covering_softmax,
    log_growth_ordered,
    sharp_best_m,
    sharp_finite_excess,
)

MOST = 3000
TRIED = np.arange(1, MOST + 1)


def softmax_covering(n):
    return lambda m: log_covering_softmax(m, 5, radius=4.0, bound=1.0, epsilon=1 / n)


@pytest.mark.parametrize("n", [1, 10, 10**3, 10**5, 10**7, 10**9])
@pytest.mark.parametrize("variance", [0.0, 1e-3, 0.25])
def test_is_the_best_of_all_tried(n, variance):
    tried = TRIED[: min(n, MOST)]
    for covering in (lambda m: 0.0, softmax_covering(n)):
        bounds = finite_excess(tried, n, variance, 0.05, covering(tried))
        assert best_m(n, variance, 0.05, covering) == tried[bounds.argmin()]
        for lipschitz in (np.inf, 2.0):
            settings = {"alpha": 0.1, "lipschitz": lipschitz}
            sharp = sharp_finite_excess(tried, n, variance, 0.05, covering(tried), **settings)
            found = sharp_best_m(n, variance, 0.05, covering, **settings)
            assert found == tried[sharp.argmin()]


def test_is_the_best_of_all_tried_for_hard_partitions():
    n = 10**5

    def growth(m):
        return log_growth_ordered(m, 3, n)

    bounds = sharp_finite_excess(TRIED, n, 0.05, 0.1, growth(TRIED), alpha=0.1, hard=True)
    assert sharp_best_m(n, 0.05, 0.1, growth, alpha=0.1, hard=True) == TRIED[bounds.argmin()] > 1


def test_there_are_no_more_groups_than_points():
    """One cell of thresholds is enough for two points, so that nothing else limits m."""
    assert sharp_best_m(2, 0.1, 0.05, 0.0, alpha=0.1) == 2


def test_a_number_means_the_same_for_every_m():
    assert best_m(10**6, 0.1, 0.05, 7.0) == best_m(10**6, 0.1, 0.05, lambda m: 7.0)


def test_score_range_is_a_unit():
    for unit in (0.1, 30.0):
        here = best_m(10**7, 0.1, 0.05, 7.0)
        assert best_m(10**7, 0.1 * unit**2, 0.05, 7.0, score_range=unit) == here > 1


def test_grows_with_n_and_is_larger_where_the_bound_is_sharper():
    chosen = [best_m(n, 0.1, 0.05, 0.0) for n in (10**4, 10**6, 10**8)]
    sharp = [sharp_best_m(n, 0.1, 0.05, 0.0, alpha=0.1) for n in (10**4, 10**6, 10**8)]
    assert chosen[0] < chosen[1] < chosen[2]
    assert sharp[0] < sharp[1] < sharp[2]
    assert sharp[0] > chosen[0]


def test_refuses_a_bound_that_is_infinite():
    with pytest.raises(ValueError, match="infinite at m = 1: give a finite"):
        best_m(100, 0.1, 0.05, np.inf)


def test_n_is_one_number():
    with pytest.raises(ValueError, match="n must be a whole number"):
        best_m([10, 20], 0.1, 0.05, 0.0)
