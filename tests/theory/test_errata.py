"""Where the paper is wrong: the printed statement fails on an example, its correction holds."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from known import NAMES, population, populations

from plcp.quantiles import conformal_rank, pinball_loss
from plcp.theory import msce_bound
from strategies import alphas, distinct_scores, few

ROUNDING = 1e-9


def test_problem_8_is_not_convex():
    """S is 0 or 1 and known from x: both orders of the two thresholds are free, the mean is not."""

    def objective(q):
        return np.mean([pinball_loss(q, s, 0.1).min() for s in (0.0, 1.0)])

    one, other = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    assert objective(one) == objective(other) == 0
    assert objective((one + other) / 2) > 0


def test_problem_11_is_not_convex_in_memberships_and_thresholds():
    def objective(h, q):
        return (h * pinball_loss(q, np.array([[0.0], [1.0]]), 0.1)).sum(axis=1).mean()

    h, q = np.eye(2), np.array([0.0, 1.0])
    assert objective(h, q) == objective(h[::-1], q[::-1]) == 0
    assert objective((h + h[::-1]) / 2, (q + q[::-1]) / 2) > 0


@pytest.mark.parametrize(("scale", "shape"), NAMES)
def test_claim_18_reads_at_least_and_not_at_most(scale, shape):
    law = population(scale, shape)
    for factor in (0.5, 0.9, 1.1, 2.0):
        threshold = factor * law.quantile
        excess = law.loss(threshold) - law.loss(law.quantile)
        squared = (law.coverage(threshold) - (1 - law.alpha)) ** 2 / (2 * law.lipschitz)
        assert (excess >= squared * (1 - ROUNDING)).all()  # equal where the density is L
        assert (excess > squared).any()  # as printed, it would have to be the other way round


def test_proposition_3_5_fails_for_scores_with_atoms():
    """S = 1 for sure: just below it the excess vanishes, and the coverage error is 1 - α."""
    alpha, below, any_lipschitz = 0.1, 1e-9, 1e3
    excess = pinball_loss(1 - below, 1.0, alpha) - pinball_loss(1.0, 1.0, alpha)
    assert msce_bound(excess, any_lipschitz) < (1 - alpha) ** 2


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


def test_the_likeliest_groups_threshold_may_break_the_bound():
    """Memberships of about a half at the right threshold, and a hair more at a wrong one."""
    law = populations.Population(np.ones(1), populations.SHAPES["uniform"])
    right, wrong = law.quantile, np.array([0.5])
    excess = 0.499 * law.excess(right) + 0.501 * law.excess(wrong)
    assert law.msce(wrong) > msce_bound(excess, law.lipschitz)


def test_step_c_of_lemma_e1_is_false_and_its_end_is_true():
    """Printed: ℓ(q, s) ≤ |q|. True: ℓ(q, s) ≤ |q - s|."""
    assert pinball_loss(0.0, 1.0, 0.1) > 0.0
    q, s = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21))
    for alpha in (0.1, 0.5, 0.9):
        assert (pinball_loss(q, s, alpha) <= np.abs(q - s)).all()


@given(distinct_scores(min_size=2), alphas)
@few
def test_split_conformal_needs_a_smallest_of_n_plus_one(scores, alpha):
    """Each of n + 1 points left out in turn: the corrected rank covers, the printed need not."""
    n = len(scores) - 1
    rank = conformal_rank(n, alpha)
    ordered = np.sort(scores)

    def covered(pick):
        return np.mean(
            [s <= pick(np.r_[np.delete(ordered, i), np.inf]) for i, s in enumerate(ordered)]
        )

    assert covered(lambda others: others[rank - 1]) >= 1 - alpha - 1e-12


def test_split_conformal_as_printed_covers_alpha():
    """The ⌈(1 - α) n⌉-th largest of n scores and infinity, n = 99: 12 of 100 points covered."""
    n, alpha = 99, 0.1
    printed = int(np.ceil((1 - alpha) * n))
    scores = np.arange(n + 1.0)
    covered = [
        s <= np.sort(np.r_[np.delete(scores, i), np.inf])[-printed] for i, s in enumerate(scores)
    ]
    assert sum(covered) == n + 2 - printed


def test_two_hard_partitions_that_differ_at_one_point_are_two_apart():
    """So an infinite class of them has no finite 1/n-net."""
    cuts = np.linspace(0, 1, 50)
    x = np.concatenate([cuts, [2.0]])
    members = np.eye(2)[(x[None, :] > cuts[:, None]).astype(int)]
    apart = np.abs(members[:, None] - members[None]).sum(axis=-1).max(axis=-1)
    assert (apart[~np.eye(len(cuts), dtype=bool)] == 2).all()
