"""Bounds from n points: closed forms, simulation, coverage of sets, and the best m."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from known import MOST, NAMES, best_thresholds, population, populations

from plcp.partitions.ordered import interval_of, optimal_cuts
from plcp.quantiles import pinball_loss, weighted_quantiles
from plcp.theory import (
    best_m,
    calibrated_coverage,
    fallback_coverage,
    finite_coverage,
    finite_excess,
    finite_msce,
    learning_error,
    log_covering_softmax,
    log_growth_ordered,
    population_coverage,
    sharp_best_m,
    sharp_finite_excess,
    sharp_finite_msce,
    sharp_learning_error,
)
from strategies import alphas, few

counts = st.integers(1, 10**6)
deltas = st.floats(1e-9, 0.999)
logs = st.floats(0, 1e6)


def learned_thresholds(law, n, m, rng):
    """Thresholds of each x by m intervals of σ of least empirical loss."""
    k, scores = law.draw(n, rng)
    cuts = optimal_cuts(law.scale[k], scores, None, m, law.alpha)
    groups = interval_of(law.scale[k], cuts)
    members = np.eye(len(cuts) + 1)[groups]
    thresholds = weighted_quantiles(scores, members, 1 - law.alpha)
    return thresholds[interval_of(law.scale, cuts)]


@pytest.mark.parametrize("n", [50, 5000])
@pytest.mark.parametrize("m", [1, 2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("scale", ["even", "two clusters"])
def test_learned_groups_lie_under_the_finite_bounds(scale, m, n, rng):
    """Each of a few runs: the bounds fail with one in a million. Scores lie in [0, 1]."""
    law = populations.make(scale, "uniform", 64)  # few enough for the cuts to tell all apart
    growth = log_growth_ordered(m, n_features=1, n=n)
    settings = (m, n, law.variance, 1e-6, growth)
    excess, error = sharp_finite_excess, sharp_finite_msce
    sharp = excess(*settings, alpha=law.alpha, lipschitz=law.lipschitz, hard=True)
    sharp_error = error(*settings, law.lipschitz, alpha=law.alpha, hard=True)
    paper, paper_error = finite_excess(*settings), finite_msce(*settings, law.lipschitz)
    for _ in range(3):
        learned = learned_thresholds(law, n, m, rng)
        assert law.excess(learned) <= sharp <= paper
        assert law.msce(learned) <= sharp_error <= paper_error


@given(st.integers(1, 1000), counts, deltas, logs, alphas, st.booleans())
@few
def test_sharp_learning_error_is_below_the_papers(m, n, delta, log_covering, alpha, hard):
    """For every n, so that the paper's form holds for hard partitions, too."""
    sharp = sharp_learning_error(m, n, delta, log_covering, alpha=alpha, hard=hard)
    assert sharp <= learning_error(m, n, delta, log_covering)


@pytest.mark.parametrize(("alpha", "n", "half"), [(0.1, 1000, 500), (0.7, 1001, 501)])
def test_closed_forms(alpha, n, half):
    m, delta, log_covering, r = 7, 0.05, 12.5, 3.0
    M, c = max(alpha, 1 - alpha), math.log(2 / delta)
    paper = 30 * math.sqrt((c + m * math.log(n) + log_covering) / n)
    assert learning_error(m, n, delta, log_covering, score_range=r) == pytest.approx(paper)
    cells = m * math.log(half)
    soft = math.sqrt((c + cells + log_covering) / (2 * n)) + math.sqrt(c / (2 * n)) + 3 / n
    hard = math.sqrt(2 * (cells + log_covering) / n) + 2 * math.sqrt(c / (2 * n)) + 2 / n
    given_all = {"alpha": alpha, "score_range": r}
    settings = (m, n, delta, log_covering)
    assert sharp_learning_error(*settings, **given_all) == pytest.approx(r * M * soft)
    assert sharp_learning_error(*settings, hard=True, **given_all) == pytest.approx(r * M * hard)

    excess = finite_excess(m, n, 0.2, delta, log_covering, 0.01, score_range=r)
    assert excess == pytest.approx(paper + 2 * math.sqrt(0.2 / m) + 0.01)
    error = finite_msce(m, n, 0.2, delta, log_covering, 4.0, 0.01, score_range=r)
    assert error == pytest.approx(8 * excess)
    tangent = M * math.sqrt(0.2) * math.tan(math.pi / (m + 3))
    sharp = sharp_finite_excess(m, n, 0.2, delta, log_covering, 0.01, **given_all)
    assert sharp == pytest.approx(r * M * soft + tangent + 0.01)
    dense = sharp_finite_msce(m, n, 0.2, delta, log_covering, 1.0, 0.01, **given_all)
    quadratic = min(tangent, r**2 / (8 * m**2))
    assert dense == pytest.approx(2 * (r * M * soft + quadratic + 0.01))


def test_bounds_broadcast():
    m = np.array([[2], [3]])
    bound = finite_excess(m, [10, 100, 1000], 0.1, 0.1, 2.0)
    assert bound.shape == (2, 3)
    assert bound[1, 2] == finite_excess(3, 1000, 0.1, 0.1, 2.0)


@pytest.mark.parametrize("hard", [True, False])
def test_what_the_proof_bounds_lies_under_the_bound(rng, hard):
    """(P - P_n) f at its largest plus (P_n - P) f° for the best f°; one group is one partition.

    The excess itself is far smaller, so that only this would notice a tenth of the bound.
    """
    n, alpha = 100, 0.3
    thresholds = np.linspace(0, 1, 101)
    mean = (
        alpha * thresholds**2 / 2 + (1 - alpha) * (1 - thresholds) ** 2 / 2
    )  # E ℓ(q, U), U uniform
    bound = sharp_learning_error(1, n, 1e-6, 0.0, alpha=alpha, hard=hard)
    for _ in range(300):
        empirical = pinball_loss(thresholds, rng.uniform(size=(n, 1)), alpha).mean(axis=0)
        deviation = (mean - empirical).max() + (empirical - mean)[mean.argmin()]
        assert mean[empirical.argmin()] - mean.min() <= deviation + 1e-12
        assert deviation <= bound


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


MOST_TRIED = 3000
TRIED = np.arange(1, MOST_TRIED + 1)


def softmax_covering(n):
    return lambda m: log_covering_softmax(m, 5, radius=4.0, bound=1.0, epsilon=1 / n)


@pytest.mark.parametrize("n", [1, 10, 10**3, 10**5, 10**7, 10**9])
@pytest.mark.parametrize("variance", [0.0, 1e-3, 0.25])
def test_best_m_is_the_best_of_all_tried(n, variance):
    tried = TRIED[: min(n, MOST_TRIED)]
    for covering in (lambda m: 0.0, softmax_covering(n)):
        bounds = finite_excess(tried, n, variance, 0.05, covering(tried))
        assert best_m(n, variance, 0.05, covering) == tried[bounds.argmin()]
        for lipschitz in (np.inf, 2.0):
            settings = {"alpha": 0.1, "lipschitz": lipschitz}
            sharp = sharp_finite_excess(tried, n, variance, 0.05, covering(tried), **settings)
            found = sharp_best_m(n, variance, 0.05, covering, **settings)
            assert found == tried[sharp.argmin()]


def test_best_m_is_the_best_of_all_tried_for_hard_partitions():
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


def test_score_range_is_a_unit_of_best_m():
    for unit in (0.1, 30.0):
        here = best_m(10**7, 0.1, 0.05, 7.0)
        assert best_m(10**7, 0.1 * unit**2, 0.05, 7.0, score_range=unit) == here > 1


def test_refuses_a_bound_that_is_infinite():
    with pytest.raises(ValueError, match="infinite at m = 1: give a finite"):
        best_m(100, 0.1, 0.05, np.inf)


def test_best_m_needs_one_n():
    with pytest.raises(ValueError, match="n must be a whole number"):
        best_m([10, 20], 0.1, 0.05, 0.0)
