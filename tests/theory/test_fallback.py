"""From MSCE to coverage: closed forms, attained limits, and the sets of known populations."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from known import MOST, NAMES, best_thresholds, population

from plcp.theory import (
    calibrated_coverage,
    fallback_coverage,
    finite_coverage,
    finite_msce,
    population_coverage,
)
from strategies import alphas, few

coverages = hnp.arrays(float, st.integers(1, 30), elements=st.floats(0, 1))


@given(coverages, alphas, st.data())
@few
def test_coverage_of_every_set_lies_within(coverage, alpha, data):
    chosen = data.draw(hnp.arrays(bool, len(coverage)))
    chosen[data.draw(st.integers(0, len(coverage) - 1))] = True
    msce = ((coverage - (1 - alpha)) ** 2).mean()
    low, high = fallback_coverage(msce, alpha, chosen.mean())
    assert low - 1e-9 <= coverage[chosen].mean() <= high + 1e-9


@given(coverages, st.data())
@few
def test_coverage_of_every_set_lies_closer_if_the_margin_is_exact(coverage, data):
    target = np.clip(coverage.mean(), 0.01, 0.99)
    error = coverage - coverage.mean()
    chosen = data.draw(hnp.arrays(bool, len(coverage)))
    chosen[data.draw(st.integers(0, len(coverage) - 1))] = True
    inside = (np.abs(error) <= min(target, 1 - target)).all()
    if not inside:
        error *= min(target, 1 - target) / np.abs(error).max()
    low, high = calibrated_coverage((error**2).mean(), 1 - target, chosen.mean())
    assert low - 1e-9 <= target + error[chosen].mean() <= high + 1e-9


@given(st.floats(1e-6, 0.005), st.floats(0.1, 0.9), alphas)
@few
def test_limits_are_attained(msce, mass, alpha):
    """An error of one size on a set, and none (or its balance) elsewhere, reaches the ends."""
    low, _ = fallback_coverage(msce, alpha, mass)
    assert low == pytest.approx(max(0.0, 1 - alpha - np.sqrt(msce / mass)))
    on, off = np.sqrt(msce * (1 - mass) / mass), np.sqrt(msce * mass / (1 - mass))
    assert mass * on == pytest.approx((1 - mass) * off)
    assert mass * on**2 + (1 - mass) * off**2 == pytest.approx(msce)
    assert calibrated_coverage(msce, alpha, mass)[1] == pytest.approx(min(1.0, 1 - alpha + on))


@pytest.mark.parametrize(("scale", "shape"), NAMES)
def test_best_groups_cover_exactly_on_average_and_within_the_limits_on_tails(scale, shape):
    """Corollary C.1 (a) bounds by O(m^(-1/4)) an error that is zero."""
    law = population(scale, shape)
    K = len(law.scale)
    for m in (2, 5, MOST):
        coverage = law.coverage(best_thresholds(scale, shape)[m - 1])
        assert coverage.mean() == pytest.approx(1 - law.alpha, abs=1e-9)
        msce = law.msce(best_thresholds(scale, shape)[m - 1])
        for size in (1, K // 10, K // 2, K - 1):
            for tail in (coverage[:size], coverage[-size:]):
                low, high = calibrated_coverage(msce, law.alpha, size / K)
                assert low <= tail.mean() <= high
                wide = population_coverage(m, law.variance, law.lipschitz, law.alpha, size / K)
                assert wide[0] <= low
                assert high <= wide[1]


def test_constants_of_corollary_c1():
    low, high = population_coverage(10**9, 0.01, 2.0, 0.1, mass=0.25)
    error = 2 * np.sqrt(2.0 / 0.25) * (0.01 / (10**9 - 1)) ** 0.25
    assert low == pytest.approx(0.9 - error)
    assert high == pytest.approx(0.9 + error)
    settings = (3, 10**9, 1e-9, 0.05, 2.0, 0.1)
    low, high = finite_coverage(*settings, 0.2, gap=1e-4, mass=0.5, score_range=0.1)
    error = np.sqrt(finite_msce(*settings, 1e-4, score_range=0.1) / 0.5)
    assert low == pytest.approx(0.8 - error)
    assert high == pytest.approx(0.8 + error)


def test_coverage_stays_between_zero_and_one():
    assert fallback_coverage(4.0, 0.1) == (0.0, 1.0)


def test_no_error_is_exact_coverage():
    assert fallback_coverage(0.0, 0.1) == (0.9, 0.9)
    assert calibrated_coverage(0.5, 0.1, 1.0) == (0.9, 0.9)
