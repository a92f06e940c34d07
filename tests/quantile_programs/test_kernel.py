"""Kernel programs: a second solver, brute force, the leave-one-out law, and their limits."""

import itertools
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from make_rkhs_oracle import CASES, SCORES, task
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq

from plcp.exceptions import ProgramError
from plcp.quantile_programs import kernel as elbow
from plcp.quantile_programs.kernel import (
    MARGIN,
    NUGGET,
    TOLERANCE,
    kernel_bytes,
    kernel_thresholds,
    solve_kernel_program,
)
from plcp.quantiles import conformal_quantile
from strategies import alphas, distinct_scores, few, scores_with_counts

ORACLE = json.loads(Path(__file__).with_name("rkhs_oracle.json").read_text())


def rough(A, B):
    """Kernel whose matrices are far from singular, so that duals are as exact as thresholds."""
    return np.exp(-np.abs(A[:, None] - B).sum(axis=2))


def task_of(rng, n=60, d=2):
    """Kernel, features and scores of n rows, smooth as people's kernels are."""
    X = rng.normal(size=(n, 2))
    square = ((X[:, None] - X) ** 2).sum(axis=2)
    scores = np.abs(rng.normal(size=n)) * (1 + np.abs(X[:, 0]))
    return np.exp(-square / 2), np.column_stack([np.ones(n), X])[:, :d], scores


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
        on, side = np.flatnonzero(np.equal(pattern, 0)), np.array(pattern)
        eta = np.where(side > 0, level, level - 1.0) * (side != 0)
        inner = c * kernel[np.ix_(on, on)]
        system = np.block([[inner, features[on]], [features[on].T, np.zeros((d, d))]])
        if np.linalg.matrix_rank(system) < len(system):
            continue
        right = np.r_[scores[on] - c * kernel[on] @ eta, -features.T @ eta]
        solved = np.linalg.solve(system, right)
        eta[on], beta = solved[: len(on)], solved[len(on) :]
        residuals = scores - c * kernel @ eta - features @ beta
        inside = (eta[on] >= level - 1) & (eta[on] <= level)
        if inside.all() and (residuals * side >= 0).all():
            return eta
    raise AssertionError("no pattern is optimal")


@pytest.mark.parametrize("name", CASES)
def test_duals_of_a_second_solver(name):
    # The nugget, which the oracle does not know, moves thresholds by c K(x, x) NUGGET or so.
    case, level = CASES[name], CASES[name]["level"]
    duals = np.clip(ORACLE[name], level - 1, level)
    q = left_out(*task(case), level, case["c"], -1)(np.r_[duals, level - 1, level])
    inside = (duals > level - 1 + 1e-9) & (duals < level - 1e-9)
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


SHIFTS = {
    "constant": lambda X: np.ones((len(X), 1)),
    "linear": lambda X: np.column_stack([np.ones(len(X)), X]),
    "groups": lambda X: (np.arange(len(X))[:, None] % 4 == np.arange(4)).astype(float),
}


@pytest.mark.parametrize("shifts", SHIFTS)
@pytest.mark.parametrize(("n", "level"), [(6, 0.5), (12, 0.8), (25, 0.9)])
@pytest.mark.parametrize("c", [0.01, 1.0, 30.0])
def test_each_left_out_row_finds_its_dual_of_the_joint_fit(rng, shifts, n, level, c):
    # So a uniform dual covers with probability level: Σ (level - η_j) / n = level, as Σ η_j = 0.
    X, scores = rng.normal(size=(n, 3)), np.abs(rng.normal(size=n))
    kernel, features = rough(X, X), SHIFTS[shifts](X)

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
    # Thresholds rise with the dual by c times the variance that is left given all other rows.
    error = 3 * MARGIN * np.ptp(scores) * np.diag(np.linalg.inv(kernel)) / c
    assert (np.abs(duals - joint.position.point()[-n:]) <= error).all()
    assert (np.abs(features.T @ duals) <= np.abs(features.T) @ error).all()


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


def test_thresholds_rise_with_the_dual(rng):
    u = np.linspace(-0.1, 0.9, 301)
    for c in (0.01, 1.0, 100.0):
        q = left_out(*task_of(rng), 0.9, c, -1)(u)
        assert (np.diff(q) >= -TOLERANCE).all()
        assert q[-1] > q[0]


def test_row_order_shift_and_scale(rng):
    (kernel, features, scores), u = task_of(rng), [-0.05, 0.0, 0.9]
    base = left_out(kernel, features, scores, 0.9, 2.0, -1)(u)
    order = np.r_[rng.permutation(59), 59]
    moved = kernel[np.ix_(order, order)], features[order], scores[order]
    assert_allclose(left_out(*moved, 0.9, 2.0, -1)(u), base, rtol=1e-7)
    shifted = left_out(kernel, features, scores + 8, 0.9, 2.0, -1)(u)
    assert_allclose(shifted, base + 8, rtol=1e-7)
    scaled = left_out(kernel, features, 1e9 * scores, 0.9, 2e9, -1)(u)
    assert_allclose(scaled, 1e9 * base, rtol=1e-7)
    other = left_out(1e6 * kernel, features * [1, 1e6], scores, 0.9, 2e-6, -1)(u)
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


@few
@given(scores_with_counts(), alphas)
def test_scores_that_tie_with_the_threshold_are_covered(drawn, alpha):
    scores = np.repeat(*drawn)
    n = len(scores)
    expected = conformal_quantile(scores, alpha)
    given = np.eye(n + 1), np.ones((n + 1, 1)), np.r_[scores, np.nan]
    (q,) = left_out(*given, 1 - alpha, 1e-12, n)([1 - alpha])
    assert expected <= q
    assert_allclose(q, expected, rtol=0, atol=10 * TOLERANCE)


def test_new_rows_that_are_calibration_rows_among_ties(rng):
    kernel, features, scores = task_of(rng)
    twice = np.r_[0:60, 0:60]
    kernel, features, scores = kernel[np.ix_(twice, twice)], features[twice], scores[twice].round(1)
    solution = solve_kernel_program(kernel, features, scores, 0.8, 10.0)
    u = np.tile([0.8, -0.2], 60)
    q = kernel_thresholds(solution, kernel, np.diag(kernel), features, u)
    assert np.isfinite(q).all()
    assert_allclose(q[:60], q[60:], rtol=0, atol=TOLERANCE)
    middle = kernel_thresholds(solution, kernel, np.diag(kernel), features, np.zeros(120))
    assert (np.sign(u) * (q - middle) >= 0).all()


def test_an_outlier_does_not_blur_the_others(rng):
    kernel, features, scores = task_of(rng, d=1)
    scores[0] = 1e3 + scores.max()
    base = left_out(kernel, features, scores, 0.8, 2.0, -1)([0.8])
    scores[0] = 1e12
    assert_allclose(left_out(kernel, features, scores, 0.8, 2.0, -1)([0.8]), base, rtol=1e-7)
    scores[:40] = scores[0] = 0.0
    base = left_out(kernel, features, scores, 0.8, 2.0, -1)([0.8])
    tiny = left_out(kernel, features, 1e-9 * scores, 0.8, 2e-9, -1)([0.8])
    assert_allclose(tiny, 1e-9 * base, rtol=1e-7)


def test_infinite_where_nothing_is_known(rng):
    kernel, _, scores = task_of(rng, 8)
    ones = np.ones((8, 1))
    solution = solve_kernel_program(kernel, ones, scores, 0.95, 1.0)
    q = kernel_thresholds(solution, kernel[:2], np.ones(2), ones[:2], np.array([0.95, -0.05]))
    assert_array_equal(np.isinf(q), [True, False])
    solution = solve_kernel_program(kernel, np.ones((8, 2)), scores, 0.5, 1.0)
    phi = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    q = kernel_thresholds(solution, kernel[:3], np.ones(3), phi, np.array([0.5, -0.5, 0.5]))
    assert_array_equal(np.where(np.isinf(q), q, 0.0), [np.inf, -np.inf, 0.0])


@pytest.mark.parametrize("scores", [[3.0], [0.0, 0.0, 0.0], [7.0] * 30, [0.0] * 29 + [1.0]])
def test_one_row_and_equal_scores(scores):
    n = len(scores)
    solution = solve_kernel_program(np.ones((n, n)), np.ones((n, 1)), np.array(scores), 0.5, 1.0)
    q = kernel_thresholds(solution, np.ones((1, n)), np.ones(1), np.ones((1, 1)), np.array([0.5]))
    assert scores[0] <= q[0] <= scores[0] + 1e-6


@pytest.mark.parametrize("refresh", [1, 7])
def test_columns_worked_out_afresh_change_nothing(rng, monkeypatch, refresh):
    task, u = task_of(rng, 100), [-0.1, 0.3, 0.9]
    base = left_out(*task, 0.9, 100.0, -1)(u)
    monkeypatch.setattr(elbow.follow, "__defaults__", (refresh,))
    assert_allclose(left_out(*task, 0.9, 100.0, -1)(u), base, rtol=1e-9)


def test_lost_digits_are_won_back_afresh(rng, monkeypatch):
    task, u = task_of(rng), [-0.1, 0.3, 0.9]
    base = left_out(*task, 0.9, 10.0, -1)(u)

    follow = elbow.follow

    def loses_digits(tableau, start, right, refresh=elbow.REFRESH):
        if refresh > 1:
            raise ProgramError("lost")
        return follow(tableau, start, right, refresh)

    monkeypatch.setattr("plcp.quantile_programs.kernel.follow", loses_digits)
    assert_allclose(left_out(*task, 0.9, 10.0, -1)(u), base, rtol=1e-9)


def test_errors_say_how_far_it_came(rng, monkeypatch):
    kernel, features, scores = task_of(rng)
    with pytest.raises(ProgramError, match=r"after 5 rounds .* fail by .* larger l2"):
        solve_kernel_program(kernel, features, scores, 0.9, 1e12)
    with pytest.raises(ProgramError, match=r"not positive semidefinite.*variance -"):
        solve_kernel_program(-kernel, features, scores, 0.9, 1.0)
    monkeypatch.setattr(elbow, "MAX_PIVOTS", 3)
    with pytest.raises(ProgramError, match=r"did not end: 3 pivots made, .* of the way left"):
        solve_kernel_program(kernel, features, scores, 0.9, 1.0)


def test_memory_is_what_was_announced(rng):
    n, new = 1200, 50
    kernel, features, scores = task_of(rng, n)
    tracemalloc.start()
    solution = solve_kernel_program(kernel.copy(), features, scores, 0.9, 10.0)
    u = np.full(new, 0.9)
    kernel_thresholds(solution, kernel[:new].copy(), np.ones(new), features[:new], u)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kernel_bytes(n, new) / 2 <= peak <= kernel_bytes(n, new)
