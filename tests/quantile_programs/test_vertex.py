"""A vertex is certified by duality, and agrees with another solver."""

import numpy as np
import pytest
from cases import random_program
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from plcp.exceptions import ProgramError
from plcp.quantile_programs import vertex as module
from plcp.quantile_programs.vertex import fit_vertex, span_of
from plcp.quantiles import pinball_loss

FEASIBLE = 1e-7  # HiGHS's own tolerance


def total_loss(features, scores, level, weights, coef):
    losses = pinball_loss(features @ coef, scores, 1 - level)
    return losses.sum() if weights is None else weights @ losses


def certify(features, scores, level, weights):
    """Duals within their bounds that balance the features prove the loss to be the least."""
    vertex = fit_vertex(features, scores, level, weights)
    counts = np.ones(len(scores)) if weights is None else weights
    assert (vertex.duals <= level * counts * (1 + 1e-8)).all()
    assert (vertex.duals >= (level - 1) * counts * (1 + 1e-8)).all()
    rounding = 1e-10 * counts.sum() * np.abs(features).max()
    assert_allclose(vertex.duals @ features, 0, atol=rounding)
    loss = total_loss(features, scores, level, weights, vertex.coef)
    assert_allclose(loss, vertex.duals @ scores, atol=1e-9 * counts.sum() * np.ptp(scores))
    fitted = features[vertex.basis] @ vertex.coef
    assert_allclose(fitted, scores[vertex.basis], atol=1e-9 * np.ptp(scores))
    return vertex


@pytest.mark.parametrize("seed", range(200))
def test_duals_prove_the_vertex_best(seed):
    certify(*random_program(seed))


@pytest.mark.parametrize("seed", range(40))
def test_as_good_as_another_solver(seed):
    features, scores, level, weights = random_program(1000 + seed)
    counts = np.ones(len(scores)) if weights is None else weights
    bounds = np.column_stack([(level - 1) * counts, level * counts])
    zero = np.zeros(features.shape[1])
    found = linprog(-scores, A_eq=features.T, b_eq=zero, bounds=bounds, method="highs")
    coef = fit_vertex(features, scores, level, weights).coef
    loss = total_loss(features, scores, level, weights, coef)
    assert_allclose(loss, -found.fun, atol=FEASIBLE * counts.sum() * np.abs(scores).max())


@pytest.mark.parametrize("seed", range(40))
def test_many_rows_are_first_solved_near_the_start(seed, monkeypatch):
    monkeypatch.setattr(module, "THINNED", 30)
    rng = np.random.default_rng(seed)
    features = np.column_stack(
        [np.ones(400), rng.integers(0, 2, (400, 5)) < 1, rng.normal(size=400)]
    )
    scores = rng.standard_t(1.5, 400) * (1 + features[:, 1])
    certify(features, scores, 0.9, rng.uniform(0, 2, 400) if seed % 2 else None)


def test_unpromising_rows_are_looked_at_again(monkeypatch):
    """An edge that leaves the rows in doubt sends the search back to all of them."""
    monkeypatch.setattr(module, "THINNED", 30)
    calls = []
    plain = module.descend

    def refuse_few(vertex):
        calls.append(len(vertex.residuals))
        if len(calls) == 1:
            raise ProgramError("no end")
        return plain(vertex)

    monkeypatch.setattr(module, "descend", refuse_few)
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(400), rng.normal(size=(400, 2))])
    certify(features, rng.normal(size=400), 0.9, None)
    assert calls[0] < calls[1] == 400


def test_as_many_rows_as_columns_are_all_met():
    rng = np.random.default_rng(0)
    features, scores = rng.normal(size=(4, 4)), rng.normal(size=4)
    vertex = fit_vertex(features, scores, 0.9)
    assert sorted(vertex.basis) == [0, 1, 2, 3]
    assert_allclose(features @ vertex.coef, scores)


def test_a_constant_score_is_met_everywhere():
    features = np.column_stack([np.ones(30), np.arange(30.0)])
    vertex = fit_vertex(features, np.full(30, 7.0), 0.9)
    assert_allclose(vertex.predict(features), 7.0)


def test_thresholds_of_disjoint_groups_are_scores_to_the_last_bit():
    rng = np.random.default_rng(0)
    groups = rng.integers(3, size=200)
    scores = rng.normal(size=200)
    fitted = fit_vertex(np.eye(3)[groups], scores, 0.9).predict(np.eye(3))
    for group in range(3):
        assert fitted[group] in scores[groups == group]


def test_dependent_columns_change_nothing_and_strangers_are_unbounded():
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=100)
    scores = rng.exponential(1.0 + sex)
    both = np.column_stack([np.ones(100), sex, 1 - sex])
    vertex = fit_vertex(both, scores, 0.9)
    assert_array_equal(
        vertex.predict(both), fit_vertex(both[:, :2], scores, 0.9).predict(both[:, :2])
    )
    assert vertex.coef[2] == 0
    assert vertex.predict(np.array([[1.0, 0, 0]]))[0] == np.inf


def test_no_end_is_an_error_that_says_how_far_it_came(monkeypatch):
    monkeypatch.setattr(module, "MAX_PIVOTS", 1)
    monkeypatch.setattr(module, "smoothed_residuals", lambda program, level: -program.ranked)
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(50), rng.normal(size=(50, 5))])
    with pytest.raises(ProgramError, match=r"50 scores on 6 columns did not settle: 1 pivots"):
        fit_vertex(features, rng.normal(size=50), 0.9)


def test_span_of_columns():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(50, 3)) * [1, 1e6, 1e-6]
    columns = np.column_stack(
        [base[:, 0], base[:, 0] * 2, base[:, 1:], base @ [1, 2, 3], np.zeros(50)]
    )
    span = span_of(columns)
    assert span.kept.tolist() == [0, 2, 3]
    assert span.dropped.tolist() == [1, 4, 5]
    coordinates = span.coordinates(columns)
    assert_allclose(coordinates.T @ coordinates / 50, np.eye(3), atol=1e-9)
    assert span.contains(columns).all()
    stranger = columns[:1] + np.eye(6)[1]
    assert not span.contains(stranger)[0]
