"""The proof that a line is near the least loss, beside a dual point that was made by hand."""

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss

from plcp.out_of_core.linear import ANY, Candidate, Evaluation, Grid, Search, sums_of

TAU, N = 0.9, 300
ROUNDED = 1e-5  # of the loss: features and residuals are whole steps of 2^-20 and 2^-24


def rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    return X, X @ [1.0, -2.0] + np.exp(X[:, 0] / 2) * rng.normal(size=N)


def best_line(X, y):
    program = QuantileRegressor(quantile=TAU, alpha=0, solver="highs").fit(X, y)
    loss = mean_pinball_loss(y, program.predict(X), alpha=TAU)
    return np.append(program.coef_, program.intercept_), loss


def evaluated(X, y, theta, bandwidth):
    spread = np.append(X.std(axis=0), 1.0)
    candidate = Candidate(theta, spread, bandwidth, ANY, -1, 0.0)
    sums = sums_of(X, y, [candidate], Grid(np.zeros(2), np.ones(2)), 1, 0)
    return candidate, Evaluation.of(sums, 0, candidate, TAU)


def loss_proved(X, y, candidate):
    """Mean of a y over dual weights a in [τ - 1, τ] that are orthogonal to the features.

    No line has a smaller loss. The weights are moved as the docstring of ``excess`` says.
    """
    z, h = np.column_stack([X, np.ones(N)]), candidate.bandwidth
    r = y - z @ candidate.theta
    room = np.maximum(1 - np.abs(r) / h, 0)
    length = np.sqrt(np.square(z / candidate.spread).sum(axis=1) / (1.5**2 * z.shape[1]))
    room /= np.maximum(length, 1)
    weights = TAU - 0.5 + 0.5 * np.clip(r / h, -1, 1)
    shift = np.linalg.solve((z * room[:, None]).T @ z, 2 * h * z.T @ weights)
    moved = weights - room * (z @ shift) / (2 * h)
    assert np.abs(z.T @ moved).max() < 1e-9
    feasible = moved.min() >= TAU - 1 - 1e-12 and moved.max() <= TAU + 1e-12
    return (moved @ y) / N, feasible


def test_no_dual_point_proves_less_than_the_bound_says():
    beyond_the_gap = 0
    for seed in range(6):
        X, y = rows(seed)
        theta, least = best_line(X, y)
        rng = np.random.default_rng(seed)
        for bandwidth in (0.3, 1.0, 3.0):
            for _ in range(20):
                near = theta + rng.normal(size=3) * 0.02 * np.sqrt(bandwidth)
                candidate, found = evaluated(X, y, near, bandwidth)
                if np.isfinite(found.excess):
                    proved, feasible = loss_proved(X, y, candidate)
                    assert feasible
                    assert proved <= least * (1 + ROUNDED)
                    assert found.loss - proved <= found.excess + ROUNDED * found.loss
                    beyond_the_gap += found.loss - proved > found.gap + ROUNDED * found.loss
    assert beyond_the_gap  # so that the weights' way counts


@pytest.mark.parametrize("seed", range(3))
def test_a_line_is_certified_within_a_thousandth_and_not_beyond(seed):
    X, y = rows(seed)
    theta, least = best_line(X, y)
    certified = nearly = 0
    for bandwidth in np.geomspace(0.003, 3, 25):
        at = theta
        for _ in range(4):  # at the program's line, and where the smoothed loss is least
            candidate, found = evaluated(X, y, at, bandwidth)
            search = Search(candidate)
            search.learn([found])
            if search.is_certified:
                assert found.excess <= 1e-3 * found.loss
                assert found.loss <= least * (1 + 1e-3 + ROUNDED)
            certified += search.is_certified
            nearly += 1e-3 < found.excess / found.loss < 2e-3
            at = at + found.step
    assert certified
    assert nearly
