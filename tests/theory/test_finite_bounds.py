"""Theorem 3.11 and Corollary 3.12, and the sharper ones: closed forms and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from known import populations

from plcp.partitions.ordered import interval_of, optimal_cuts
from plcp.quantiles import pinball_loss, weighted_quantiles
from plcp.theory import (
    finite_excess,
    finite_msce,
    learning_error,
    log_growth_ordered,
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


@given(st.integers(1, 1000), st.integers(6, 10**6), deltas, logs, alphas, st.booleans())
@few
def test_learning_error_rises_with_m_and_complexity_and_falls_with_delta_and_n(
    m, n, delta, log_covering, alpha, hard
):
    def both(m, n, delta, log_covering):
        sharp = sharp_learning_error(m, n, delta, log_covering, alpha=alpha, hard=hard)
        return np.array([sharp, learning_error(m, n, delta, log_covering)])

    here = both(m, n, delta, log_covering)
    assert (both(m + 1, n, delta, log_covering) >= here).all()
    assert (both(m, n, delta, 2 * log_covering + 1) > here).all()
    assert (both(m, n, delta / 2, log_covering) > here).all()
    assert (both(m, 16 * n, delta, log_covering) < here).all()


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


@given(st.integers(1, 5), st.integers(1, 8), alphas, st.integers(0, 10**6))
@few
def test_going_to_a_net_moves_the_loss_as_little_as_the_proof_says(m, n, alpha, seed):
    """Lemma E.1 with smaller constants: |Z - Z'| ≤ 2 M |q - q'| + M d(h, h'), not 2 and 2."""
    rng = np.random.default_rng(seed)
    scores, masses = rng.uniform(size=(2, n + 3))
    masses[n:] += 0.1
    h, near = rng.dirichlet(np.full(m, 0.3), size=(2, n + 3))
    q, close = rng.uniform(size=(2, m))
    sample = np.r_[np.full(n, 1 / n), np.zeros(3)] - masses / masses.sum()

    def z(h, q):
        return sample @ (h * pinball_loss(q, scores[:, None], alpha)).sum(axis=1)

    M = max(alpha, 1 - alpha)
    d = np.abs(h - near).sum(axis=1).max()
    assert abs(z(h, q) - z(near, close)) <= 2 * M * np.abs(q - close).max() + M * d + 1e-12


@pytest.mark.parametrize("n", range(1, 40))
def test_half_as_many_thresholds_as_points_are_dense_enough(n):
    """The net of the proof: every point of [0, 1] is within 1/n of one of ⌈n/2⌉."""
    size = (n + 1) // 2
    net = (np.arange(size) + 0.5) / size
    points = np.linspace(0, 1, 2001)
    assert np.abs(points[:, None] - net).min(axis=1).max() <= 1 / n + 1e-12


@pytest.mark.parametrize("hard", [True, False])
def test_what_the_proof_bounds_lies_under_the_bound(rng, hard):
    """(P - P_n) f at its largest plus (P_n - P) f° for the best f°; one group is one partition.

    The excess itself is far smaller, so that only this would notice a tenth of the bound.
    """
    n, alpha = 100, 0.3
    levels = np.linspace(0, 1, 101)
    mean = alpha * levels**2 / 2 + (1 - alpha) * (1 - levels) ** 2 / 2  # E ℓ(q, U), U uniform
    bound = sharp_learning_error(1, n, 1e-6, 0.0, alpha=alpha, hard=hard)
    for _ in range(300):
        empirical = pinball_loss(levels, rng.uniform(size=(n, 1)), alpha).mean(axis=0)
        deviation = (mean - empirical).max() + (empirical - mean)[mean.argmin()]
        assert mean[empirical.argmin()] - mean.min() <= deviation + 1e-12
        assert deviation <= bound
