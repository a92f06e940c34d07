"""Theorem 3.6 and its corollary: closed forms, and populations whose best groups are known."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from known import ATOMS, MOST, NAMES, best_thresholds, population, populations

from plcp.theory import (
    msce_bound,
    population_excess,
    population_msce,
    sharp_population_excess,
    sharp_population_msce,
)
from strategies import alphas, few

GROUPS = np.arange(2, MOST + 1)


def tangent_levels(m):
    """Levels of the proof, for mean zero and variance one."""
    return np.tan((np.arange(1, m + 1) - (m + 1) / 2) * np.pi / (m + 3))


def even_levels(m):
    """Middles of m equal cells on √m / 2 about zero."""
    return math.sqrt(m) / 2 * (2 * np.arange(1, m + 1) - 1 - m) / m


def distance(values, levels):
    return np.abs(np.asarray(values)[:, None] - levels).min(axis=1)


@pytest.mark.parametrize(("scale", "shape"), NAMES)
def test_measured_excess_and_msce_lie_under_every_bound(scale, shape):
    law = population(scale, shape)
    thresholds = best_thresholds(scale, shape)
    excess = np.array([law.excess(thresholds[m - 1]) for m in GROUPS])
    error = np.array([law.msce(thresholds[m - 1]) for m in GROUPS])
    sharp = sharp_population_excess(GROUPS, law.variance, alpha=law.alpha)
    paper = population_excess(GROUPS, law.variance)
    assert (excess > 0).all()
    assert (excess <= sharp).all()
    assert (sharp < paper).all()
    assert (error <= msce_bound(excess, law.lipschitz)).all()
    assert (error <= population_msce(GROUPS, law.variance, law.lipschitz)).all()


@pytest.mark.parametrize("scale", ["even", "two clusters"])
def test_bounded_scores_lie_under_the_bound_of_order_two(scale):
    law = population(scale, "uniform")  # scores in [0, 1]
    thresholds = best_thresholds(scale, "uniform")
    m = np.arange(1, MOST + 1)
    bound = sharp_population_excess(m, np.inf, alpha=law.alpha, lipschitz=law.lipschitz)
    assert np.allclose(bound, law.lipschitz / (8 * m**2))
    assert all(law.excess(thresholds[k - 1]) <= bound[k - 1] for k in m)
    errors = sharp_population_msce(m, law.variance, law.lipschitz, alpha=law.alpha)
    assert all(law.msce(thresholds[k - 1]) <= errors[k - 1] for k in m)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.5, 0.8])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 8, 16, 64])
def test_scores_without_noise_have_excess_of_order_one_over_m_exactly(alpha, m):
    """S = q(x) on an even grid: K/m atoms a group, whose own quantile is one of them."""
    law = populations.Population((1 + np.arange(ATOMS)) / ATOMS, populations.POINT, alpha)
    per_group = ATOMS // m
    excess = law.excess(law.group_quantiles(np.arange(ATOMS) // per_group))
    assert excess <= sharp_population_excess(m, law.variance, alpha=alpha)
    above = math.floor(alpha * per_group)  # atoms above the group's quantile
    below = per_group - 1 - above
    loss = alpha * below * (below + 1) / 2 + (1 - alpha) * above * (above + 1) / 2
    assert math.isclose(excess, loss / per_group / ATOMS, rel_tol=1e-9, abs_tol=1e-15)


@pytest.mark.parametrize("shape", populations.SHAPES)
def test_excess_falls_faster_than_one_over_m_where_scores_have_a_density(shape):
    """By four as m doubles; a rate of 1/m would halve it, the paper's divide it by √2."""
    law, thresholds = population("even", shape), best_thresholds("even", shape)
    excess = np.array([law.excess(thresholds[m - 1]) for m in (2, 4, 8, 16)])
    assert (excess[:-1] / excess[1:] > 2**1.5).all()


@given(
    hnp.arrays(float, st.integers(1, 40), elements=st.floats(-1e3, 1e3)),
    st.integers(1, 80),
)
@few
def test_levels_of_the_proof_are_within_the_bound_of_any_law(values, m):
    """Mean distance to the levels of the proof, of any sample as a law of its own."""
    centred, spread = values - values.mean(), values.std()
    if spread < 1e-6 * (1 + np.abs(values).max()):
        return
    unit = centred / spread
    assert distance(unit, tangent_levels(m)).mean() <= math.tan(math.pi / (m + 3)) * (1 + 1e-9)
    assert distance(unit, even_levels(m)).mean() <= (1 + 1e-9) / math.sqrt(m)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 10, 100])
def test_the_parabola_of_the_proof_touches_the_distance_and_stays_above(m):
    t = math.tan(math.pi / (m + 3))
    v = np.linspace(-3 / t, 3 / t, 50_001)
    room = t / 2 * (1 + v**2) - distance(v, tangent_levels(m))
    assert room.min() >= -1e-12
    assert t / 2 * (1 + 1 / t**2) - distance([1 / t], tangent_levels(m)) == pytest.approx(0)


@pytest.mark.parametrize(("m", "least"), [(1, 1.0), (2, 2**-0.5), (3, 3**-0.5)])
def test_sharp_factor_of_few_groups(m, least):
    assert sharp_population_excess(m, 4.0, alpha=0.5) == pytest.approx(0.5 * 2 * least)


def test_sharp_factor_of_many_groups_tends_to_pi_over_m():
    m = 10**6
    factor = sharp_population_excess(m, 1.0, alpha=0.1) / 0.9
    assert factor == pytest.approx(math.pi / (m + 3))


@given(st.integers(2, 10**6), st.floats(0, 1e6), alphas, st.floats(1.0, 1e3))
@few
def test_bounds_fall_with_m_and_rise_with_the_variance(m, variance, alpha, lipschitz):
    ms = [m, m + 1]
    for bound in (
        population_excess(ms, variance),
        population_msce(ms, variance, lipschitz),
        sharp_population_excess(ms, variance, alpha=alpha),
        sharp_population_msce(ms, variance, lipschitz, alpha=alpha),
    ):
        assert bound[1] <= bound[0]
    paper = population_excess(m, [variance, 4 * variance])
    assert paper[1] == pytest.approx(2 * paper[0])
    both = sharp_population_excess(m, [variance, 4 * variance], alpha=alpha)
    assert both[1] == pytest.approx(2 * both[0])


@given(st.floats(0.1, 10), st.integers(1, 50), alphas)
@few
def test_bounds_scale_with_the_unit_of_the_scores(unit, m, alpha):
    """In units c times as small excess grows by c; L shrinks by c and MSCE stays."""
    here = sharp_population_excess(m, 0.04, alpha=alpha, lipschitz=3.0)
    there = sharp_population_excess(
        m, 0.04 * unit**2, alpha=alpha, lipschitz=3.0 / unit, score_range=unit
    )
    assert there == pytest.approx(unit * here)


def test_closed_forms():
    assert population_excess(10, 0.5) == pytest.approx(2 * math.sqrt(0.5 / 9))
    assert population_msce(10, 0.5, 3.0) == pytest.approx(12 * math.sqrt(0.5 / 9))
    assert msce_bound(0.5, 3.0) == 3.0
    assert sharp_population_msce(10, np.inf, 3.0, alpha=0.1, score_range=2.0) == pytest.approx(
        9 * 4 / 400
    )


def test_best_groups_by_dynamic_programming_are_best_by_brute_force():
    """The oracle the bounds are measured with, against all cuts of a small world."""
    law = populations.make("Pareto", "exponential", 24)
    for m in (2, 3):
        every = [
            law.excess(law.group_quantiles(np.searchsorted(cuts, np.arange(24), side="right")))
            for cuts in combinations(range(1, 24), m - 1)
        ]
        found = law.excess(law.best_thresholds(3)[m - 1])
        assert found == pytest.approx(min(every), rel=1e-9)


@pytest.mark.parametrize("scale", populations.SCALES)
@pytest.mark.parametrize("shape", populations.SHAPES)
def test_populations_are_what_they_say(scale, shape):
    """Losses and quantiles against numerical integration."""
    law = population(scale, shape)
    form = law.shape
    p = (np.arange(200_000) + 0.5) / 200_000
    t = form.quantile(p)
    assert np.allclose(form.cdf(t), p)
    for q in (0.2, 0.9, 2.0):
        assert form.shortfall(q) == pytest.approx(np.maximum(t - q, 0).mean(), rel=0.02, abs=1e-4)
    steps = np.diff(p) / np.diff(t)
    assert steps.max() == pytest.approx(form.peak, rel=1e-3)
    assert np.allclose(law.coverage(law.quantile), 0.9)
