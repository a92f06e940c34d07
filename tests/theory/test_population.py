"""Bounds of the best groups of a population: closed forms, known populations, corrections."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from known import ATOMS, MOST, NAMES, best_thresholds, population, populations

from plcp.theory import (
    msce_bound,
    population_excess,
    population_msce,
    quantisation_bits,
    sharp_population_excess,
    sharp_population_msce,
    sharp_quantisation_bits,
)
from strategies import alphas, few

GROUPS = np.arange(2, MOST + 1)


def tangent_thresholds(m):
    """Thresholds of the proof, for mean zero and variance one."""
    return np.tan((np.arange(1, m + 1) - (m + 1) / 2) * np.pi / (m + 3))


def even_thresholds(m):
    """Middles of m equal cells on √m / 2 about zero."""
    return math.sqrt(m) / 2 * (2 * np.arange(1, m + 1) - 1 - m) / m


def distance(values, thresholds):
    return np.abs(np.asarray(values)[:, None] - thresholds).min(axis=1)


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


@given(
    hnp.arrays(float, st.integers(1, 40), elements=st.floats(-1e3, 1e3)),
    st.integers(1, 80),
)
@few
def test_thresholds_of_the_proof_are_within_the_bound_of_any_law(values, m):
    """Mean distance to the thresholds of the proof, of any sample as a law of its own."""
    centred, spread = values - values.mean(), values.std()
    if spread < 1e-6 * (1 + np.abs(values).max()):
        return
    unit = centred / spread
    assert distance(unit, tangent_thresholds(m)).mean() <= math.tan(math.pi / (m + 3)) * (1 + 1e-9)
    assert distance(unit, even_thresholds(m)).mean() <= (1 + 1e-9) / math.sqrt(m)


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


errors = st.floats(1e-3, 10)
variances = st.floats(1e-3, 10)
ROOM = 1 + 1e-9


def groups_of(bits):
    return round(2 ** float(bits))


@given(errors, variances)
@few
def test_groups_are_the_fewest_for_theorem_3_6(error, variance):
    m = groups_of(quantisation_bits(error, variance))
    assert population_excess(m, variance) <= error * ROOM
    assert m == 2 or population_excess(m - 1, variance) > error / ROOM


@given(errors, variances, alphas)
@few
def test_groups_are_the_fewest_for_the_sharp_bound(error, variance, alpha):
    m = groups_of(sharp_quantisation_bits(error, variance, alpha=alpha))
    assert sharp_population_excess(m, variance, alpha=alpha) <= error * ROOM
    assert m == 1 or sharp_population_excess(m - 1, variance, alpha=alpha) > error / ROOM


@given(errors, variances, alphas)
@few
def test_sharp_bits_are_never_more(error, variance, alpha):
    assert sharp_quantisation_bits(error, variance, alpha=alpha) <= quantisation_bits(
        error, variance
    )


def test_the_one_that_remark_b1_lacks_is_needed():
    """4 var / error² = 4 groups have an excess bound above the error; 5 do not."""
    assert population_excess(4, 1.0) > 1.0
    assert groups_of(quantisation_bits(1.0, 1.0)) == 5


def test_without_variance_no_bits_are_needed():
    assert quantisation_bits(0.1, 0.0) == 0
    assert sharp_quantisation_bits(0.1, 0.0, alpha=0.1) == 0


@given(st.integers(1, 6), st.integers(0, 10**6))
@few
def test_drawn_thresholds_have_no_larger_msce_than_the_bound(m, seed):
    """Jensen: the error of the mean coverage is at most the mean error of the coverages."""
    rng = np.random.default_rng(seed)
    law = population("even", "exponential")
    h = rng.dirichlet(np.ones(m), size=len(law.scale))
    q = rng.uniform(0, 5, m)
    excess = np.mean([(h[:, i] * (law.loss(q[i]) - law.loss(law.quantile))) for i in range(m)]) * m
    coverage = sum(h[:, i] * law.coverage(q[i]) for i in range(m))
    error = np.mean((coverage - (1 - law.alpha)) ** 2)
    assert error <= msce_bound(excess, law.lipschitz)
    assert law.msce(h @ q) <= msce_bound(excess, law.lipschitz)
