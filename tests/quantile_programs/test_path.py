"""The path of the dual against a solver of every program on the way, and the law it proves."""

import numpy as np
import pytest
from cases import random_program
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from plcp.exceptions import ProgramError
from plcp.quantile_programs import path as module
from plcp.quantile_programs.path import thresholds_along, track_of
from plcp.quantile_programs.vertex import fit_vertex

NEAR = 1e-6  # of a score: either side of a threshold, far above HiGHS's tolerance on the duals
FEASIBLE = 1e-6


def dual_of_new_row(features, scores, level, weights, row, score):
    """Solve the program of all rows, the new one among them."""
    counts = np.append(np.ones(len(scores)) if weights is None else weights, 1.0)
    found = linprog(
        -np.append(scores, score),
        A_eq=np.vstack([features, row]).T,
        b_eq=np.zeros(features.shape[1]),
        bounds=np.column_stack([(level - 1) * counts, level * counts]),
        method="highs",
    )
    return found.x[-1]


def new_rows(features, rng):
    mixed = features[rng.integers(len(features), size=3)]
    near = np.column_stack([np.ones(2), rng.normal(size=(2, features.shape[1] - 1))])
    return mixed if set(np.unique(features)) <= {0, 1} else np.vstack([mixed, near])


@pytest.mark.parametrize("seed", range(60))
def test_the_dual_passes_its_target_at_the_threshold(seed):
    features, scores, level, weights = random_program(seed)
    rng = np.random.default_rng(seed)
    scores = scores + 1e-3 * rng.uniform(size=len(scores))  # HiGHS may choose freely among ties
    rows = new_rows(features, rng)
    targets = rng.uniform(level - 1, level, len(rows))
    targets[0] = level
    track = track_of(fit_vertex(features, scores, level, weights))
    given = features, scores, level, weights
    for row, u, q in zip(rows, targets, thresholds_along(track, rows, targets), strict=True):
        below, above = (q - NEAR, q + NEAR) if np.isfinite(q) else (np.sign(q) * 1e5,) * 2
        if q > -np.inf:
            assert dual_of_new_row(*given, row, below) <= u + FEASIBLE
        if q < np.inf:
            assert dual_of_new_row(*given, row, above) >= u - FEASIBLE


def duals_in_turn(features, scores, level):
    """Dual of each row in the program of all, found on the path of the others to it."""
    duals = np.empty(len(scores))
    for j in range(len(scores)):
        others = np.arange(len(scores)) != j
        track = track_of(fit_vertex(features[others], scores[others], level))
        low, high = level - 1, level
        for _ in range(3):  # a hundredfold closer each time
            targets = np.linspace(low, high, 101)
            q = thresholds_along(track, np.tile(features[j], (101, 1)), targets)
            passed = int(np.searchsorted(q, scores[j]))
            low, high = targets[max(passed - 1, 0)], targets[min(passed, 100)]
        duals[j] = high
    return duals, 100.0**-3


@pytest.mark.parametrize("seed", range(12))
def test_randomised_coverage_is_exact_under_every_shift(seed):
    """Over all n + 1 places of the test row, P(η ≤ U) - (1 - alpha) = -η sums to 0 with f."""
    rng = np.random.default_rng(seed)
    n, d = 14, 1 + seed % 4
    columns = rng.integers(0, 2, (n, d - 1)) if seed % 2 else rng.normal(size=(n, d - 1))
    features = np.column_stack([np.ones(n), columns]).astype(float)
    duals, resolution = duals_in_turn(features, rng.normal(size=n), 0.8)
    assert_allclose(duals @ features, 0, atol=n * resolution * np.abs(features).max())


def test_thresholds_rise_with_the_target():
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(40), rng.normal(size=(40, 3))])
    track = track_of(fit_vertex(features, rng.normal(size=40), 0.8))
    targets = np.linspace(-0.2, 0.8, 300)
    q = thresholds_along(track, np.tile(features[0] * 2, (300, 1)), targets)
    assert (q[1:] >= q[:-1]).all()
    assert len(np.unique(q)) > 1


@pytest.mark.parametrize("seed", range(10))
def test_rows_do_not_disturb_each_other_and_refreshing_changes_nothing(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    features = np.column_stack([np.ones(200), rng.normal(size=(200, 7))])
    track = track_of(fit_vertex(features, rng.exponential(size=200), 0.9))
    rows = np.column_stack([np.ones(20), rng.normal(size=(20, 7))])
    targets = rng.uniform(-0.1, 0.9, 20)
    together = thresholds_along(track, rows, targets)
    alone = [thresholds_along(track, rows[[i]], targets[[i]])[0] for i in range(20)]
    assert_allclose(together, alone, rtol=1e-9)
    monkeypatch.setattr(module, "REFRESH", 1)
    assert_allclose(thresholds_along(track, rows, targets), together, rtol=1e-9)


def test_a_row_without_features_is_predicted_to_be_zero():
    """Whatever β, z'β = 0: the sign of the new score alone decides about its dual."""
    track = track_of(
        fit_vertex(np.column_stack([np.ones(50), np.arange(50.0)]), np.arange(50.0) ** 2, 0.9)
    )
    q = thresholds_along(track, np.zeros((2, 2)), np.array([0.5, -0.05]))
    assert_allclose(q, 0.0, atol=1e-12)


def test_no_end_is_an_error_that_says_how_far_it_came(monkeypatch):
    monkeypatch.setattr(module, "MAX_PIVOTS", 2)
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(300), rng.normal(size=(300, 9))])
    track = track_of(fit_vertex(features, rng.normal(size=300), 0.9))
    with pytest.raises(ProgramError, match=r"path of \d+ rows did not end"):
        thresholds_along(track, features[:5], np.full(5, 0.9))


def test_blocks_bound_the_memory():
    track = track_of(fit_vertex(np.ones((1000, 1)), np.arange(1000.0), 0.9))
    assert track.rows_at_once * 1000 <= module.BLOCK_ENTRIES


def test_a_path_without_end_among_many_rows_takes_few_looks(monkeypatch):
    """Eight rows of a group of their own: the others do not change, whatever rounding says."""
    looks = []
    plain = module._first_to_vanish
    monkeypatch.setattr(module, "_first_to_vanish", lambda *a: looks.append(1) or plain(*a))
    group = np.repeat([0, 1, 2], [8, 1000, 992])
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(2000), np.eye(3)[group]])
    track = track_of(fit_vertex(features, rng.exponential(1.0 + group), 0.9))
    assert thresholds_along(track, features[:1], np.array([0.9]))[0] == np.inf
    assert len(looks) <= 2 * 9 + 5  # its rows leave one by one, and the rows watched double
