"""Kernel programs: a second solver, brute force, the leave-one-out law, and their limits."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_rkhs_oracle import CASES, SCORES, task
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from plcp.programs.kernel import (
    NUGGET,
    TOLERANCE,
    kernel_thresholds,
    solve_kernel_program,
)
from plcp.quantiles import conformal_quantile
from strategies import alphas, distinct_scores, few

ORACLE = json.loads(Path(__file__).with_name("rkhs_oracle.json").read_text())


def rough(A, B):
    """Kernel whose matrices are far from singular, so that duals are as exact as thresholds."""
    return np.exp(-np.abs(A[:, None] - B).sum(axis=2))


def left_out(kernel, features, scores, level, c, new):
    """Thresholds of one row at duals u, from all others."""
    rest = np.delete(np.arange(len(scores)), new)
    inner = kernel[np.ix_(rest, rest)]
    solution = solve_kernel_program(inner, features[rest], scores[rest], level, c)

    def thresholds(u):
        size = len(u)
        k_test, phi = np.tile(kernel[new, rest], (size, 1)), np.tile(features[new], (size, 1))
        kappa = np.full(size, kernel[new, new])
        return kernel_thresholds(solution, k_test, kappa, phi, np.asarray(u))

    return thresholds


def duals_by_patterns(kernel, features, scores, level, c):
    """Duals by trying which rows lie below, on and above the fit: all 3^n."""
    n, d = features.shape
    kernel = kernel + NUGGET * np.mean(np.diag(kernel)) * np.eye(n)
    for pattern in itertools.product([-1, 0, 1], repeat=n):
        on = np.flatnonzero(np.array(pattern) == 0)
        eta = np.where(np.array(pattern) > 0, level, level - 1.0)
        eta[on] = 0.0
        system = np.block(
            [[c * kernel[np.ix_(on, on)], features[on]], [features[on].T, np.zeros((d, d))]]
        )
        if np.linalg.matrix_rank(system) < len(system):
            continue
        right = np.r_[scores[on] - c * kernel[on] @ eta, -features.T @ eta]
        solved = np.linalg.solve(system, right)
        eta[on], beta = solved[: len(on)], solved[len(on) :]
        residuals = scores - c * kernel @ eta - features @ beta
        inside = (eta[on] >= level - 1) & (eta[on] <= level)
        if inside.all() and (residuals * np.array(pattern) >= 0).all():
            return eta
    raise AssertionError("no pattern is optimal")


@pytest.mark.parametrize("name", CASES)
def test_duals_of_a_second_solver(name):
    case = CASES[name]
    level = case["level"]
    duals = np.clip(ORACLE[name], level - 1, level)
    q = left_out(*task(case), level, case["c"], -1)(np.r_[duals, level - 1, level])
    inside = (duals > level - 1 + 1e-9) & (duals < level - 1e-9)
    assert inside.sum() >= 2
    assert_allclose(q[:-2][inside], SCORES[inside], atol=1e-6)
    assert (SCORES[duals >= level - 1e-9] >= q[-1] - 1e-6).all()
    assert (SCORES[duals <= level - 1 + 1e-9] <= q[-2] + 1e-6).all()


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_brute_force_over_all_patterns(rng, d, level):
    for c in (0.1, 1.0, 10.0):
        X, scores = rng.normal(size=(6, 2)), rng.normal(size=6)
        kernel, features = rough(X, X), np.column_stack([np.ones(6), X])[:, :d]
        solution = solve_kernel_program(kernel, features, scores, level, c)
        expected = duals_by_patterns(kernel, features, scores, level, c)
        assert_allclose(solution.position.point()[d:], expected, atol=1e-8)


@pytest.mark.parametrize(
    ("n", "d", "level"), [(5, 1, 0.9), (12, 2, 0.8), (20, 1, 0.5), (30, 3, 0.9)]
)
@pytest.mark.parametrize("c", [0.01, 1.0, 30.0])
def test_each_left_out_row_finds_its_dual_of_the_joint_fit(rng, n, d, level, c):
    # So a uniform dual covers with probability level: Σ (level - η_j) / n = level, as Σ η_j = 0.
    X, scores = rng.normal(size=(n, 3)), np.abs(rng.normal(size=n))
    kernel, features = rough(X, X), np.column_stack([np.ones(n), X])[:, :d]

    def dual(new):
        thresholds = left_out(kernel, features, scores, level, c, new)

        def excess(u):
            return thresholds([u])[0] - scores[new]

        if excess(level) <= 0:
            return level
        if excess(level - 1) >= 0:
            return level - 1
        return brentq(lambda u: np.clip(excess(u), -1e9, 1e9), level - 1, level, xtol=1e-13)

    duals = np.array([dual(new) for new in range(n)])
    joint = solve_kernel_program(kernel, features, scores, level, c)
    assert_allclose(features.T @ duals, 0, atol=n * 1e-8)
    assert_allclose(duals, joint.position.point()[d:], atol=1e-8)


@few
@given(distinct_scores(), alphas, st.booleans())
def test_without_a_kernel_it_is_split(scores, alpha, tiny):
    # The path ends where a dual meets its bound whenever (1 - alpha)(n + 1) is whole.
    n = len(scores)
    kernel, c = (np.eye(n + 1), 1e-12) if tiny else (np.zeros((n + 1, n + 1)), 1e-3)
    given = kernel, np.ones((n + 1, 1)), np.r_[scores, np.nan]
    expected = conformal_quantile(scores, alpha)
    (q,) = left_out(*given, 1 - alpha, c, n)([1 - alpha])
    assert_allclose(q, expected, rtol=0, atol=10 * TOLERANCE * (np.ptp(scores) + 1))


@few
@given(st.integers(0, 1000), alphas)
def test_without_a_kernel_disjoint_groups_are_mondrian(seed, alpha):
    rng = np.random.default_rng(seed)
    groups = np.r_[0:4, rng.integers(0, 4, 60)]
    scores = rng.permutation(64) / 64
    features = np.column_stack([np.ones(64), groups[:, None] == np.arange(4)]).astype(float)
    solution = solve_kernel_program(np.zeros((64, 64)), features, scores, 1 - alpha, 1e-3)
    new = features[[0, 1, 2, 3]]
    q = kernel_thresholds(solution, np.zeros((4, 64)), np.zeros(4), new, np.full(4, 1 - alpha))
    expected = [conformal_quantile(scores[groups == g], alpha) for g in range(4)]
    assert_allclose(q, expected, rtol=0, atol=10 * TOLERANCE)


def task_of(rng, n=60, d=2):
    """Kernel, features and scores of n rows, smooth as people's kernels are."""
    X = rng.normal(size=(n, 2))
    square = ((X[:, None] - X) ** 2).sum(axis=2)
    scores = np.abs(rng.normal(size=n)) * (1 + np.abs(X[:, 0]))
    return np.exp(-square / 2), np.column_stack([np.ones(n), X])[:, :d], scores


def test_thresholds_rise_with_the_dual(rng):
    u = np.linspace(-0.1, 0.9, 301)
    for c in (0.01, 1.0, 100.0):
        q = left_out(*task_of(rng), 0.9, c, -1)(u)
        assert (np.diff(q) >= -TOLERANCE).all()
        assert q[-1] > q[0]


def test_row_order_shift_and_scale(rng):
    kernel, features, scores = task_of(rng)
    base = left_out(kernel, features, scores, 0.9, 2.0, -1)([-0.05, 0.0, 0.9])
    order = np.r_[rng.permutation(59), 59]
    moved = kernel[np.ix_(order, order)], features[order], scores[order]
    assert_allclose(left_out(*moved, 0.9, 2.0, -1)([-0.05, 0.0, 0.9]), base, rtol=1e-7)
    shifted = left_out(kernel, features, scores + 8, 0.9, 2.0, -1)([-0.05, 0.0, 0.9])
    assert_allclose(shifted, base + 8, rtol=1e-7)
    scaled = left_out(kernel, features, 1e9 * scores, 0.9, 2e9, -1)([-0.05, 0.0, 0.9])
    assert_allclose(scaled, 1e9 * base, rtol=1e-7)
    other = left_out(1e6 * kernel, features * [1, 1e6], scores, 0.9, 2e-6, -1)([-0.05, 0.0, 0.9])
    assert_allclose(other, base, rtol=1e-7)


def test_points_together_are_points_alone(rng):
    kernel, features, scores = task_of(rng, 400)
    cal, new = slice(0, 100), slice(100, 400)
    solution = solve_kernel_program(kernel[cal, cal], features[cal], scores[cal], 0.9, 1.0)
    given = kernel[new, cal], np.ones(300), features[new], rng.uniform(-0.1, 0.9, 300)
    together = kernel_thresholds(solution, *given)
    alone = [
        kernel_thresholds(solution, *(part[i : i + 1] for part in given))[0] for i in range(300)
    ]
    assert_allclose(together, alone, rtol=1e-12)
    assert kernel_thresholds(solution, *(part[:0] for part in given)).shape == (0,)
