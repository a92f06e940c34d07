"""Weighted conformal quantiles of many points at once, block by block."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from plcp.locality.kernels import BoxKernel, GaussianKernel
from plcp.quantiles import FloatArray, IntArray

SYMMETRIC = (GaussianKernel, BoxKernel)  # and known to give no wrong weights
WeightsAroundDraws = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
ROUNDING = 1e-10  # error of a weight: copies of one point may differ by so much
FAINT = -500.0  # log weight of a test point below which exp is about to underflow


def blocks(n_rows: int, width: int, most: int) -> Iterator[slice]:
    """Slices of rows: neither a block of ``width`` columns nor a square one exceeds ``most``."""
    size = max(1, min(most // max(width, 1), int(most**0.5)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def rows_reaching(weights: FloatArray, own: FloatArray, level: float) -> IntArray:
    """First column at which each row's running sum is level · (its total + own).

    The number of columns where none is, or where nothing weighs anything. Two levels: sums of √n
    runs of columns, then the columns of the one run in which the level is reached.

    Examples
    --------
    >>> rows_reaching(np.array([[1.0, 1.0, 2.0], [1.0, 0.0, 0.0]]), np.array([0.0, 1.0]), 0.5)
    array([1, 0])
    """
    m, n = weights.shape
    run = max(1, int(n**0.5))
    whole = n // run * run
    sums = weights[:, :whole].reshape(m, -1, run) @ np.ones(run)  # twice as fast as sum
    sums = np.column_stack([sums, weights[:, whole:].sum(axis=1)])
    ends = np.cumsum(sums, axis=1)
    total = ends[:, -1] + own
    # Rounding, of the sums or the weights, must not push a target met exactly to the next score.
    slack = 4 * np.finfo(float).eps * n + ROUNDING * (1 - level)
    target = (level - slack) * total
    hit = (ends < target[:, None]).sum(axis=1)
    found = hit < ends.shape[1]
    hit = np.where(found, hit, 0)
    columns = np.minimum(hit[:, None] * run + np.arange(run), n - 1)
    inside = np.take_along_axis(weights, columns, axis=1)
    inside[:, 0] += np.where(hit > 0, ends[np.arange(m), hit - 1], 0.0)
    short = (np.cumsum(inside, axis=1) < target[:, None]).sum(axis=1)
    position = hit * run + np.minimum(short, run - 1)
    return np.where(found & (total > 0), np.minimum(position, n - 1), n)


def weights_around(kernel: Any, X: FloatArray, Z: FloatArray) -> FloatArray:
    """H(x_i, z_j) as checked weights, one row for each z_j."""
    if isinstance(kernel, SYMMETRIC):
        return kernel(Z, X)
    return np.ascontiguousarray(weights_from(kernel, X, Z).T)


def weights_from(kernel: Any, X: FloatArray, Z: FloatArray) -> FloatArray:
    """H(x_i, z_j) as checked weights, one row for each x_i."""
    weights = kernel(X, Z)
    return weights if isinstance(kernel, SYMMETRIC) else checked(weights, (len(X), len(Z)))


def weights_around_draws(kernel: Any, X: FloatArray) -> WeightsAroundDraws:
    """Weights as a function of points p and draws z: H(x_i, z_j), a row a draw, and H(p_j, z_j).

    They have a factor of each row, chosen so that weights too small for a float are told apart.
    """
    if not hasattr(kernel, "logs_to"):
        return lambda points, drawn: (
            weights_around(kernel, X, drawn),
            weights_around(kernel, points, drawn).diagonal(),
        )
    logs_to_rows = kernel.logs_to(X)

    def weights(points: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        logs, own = logs_to_rows(drawn), kernel.log_pairs(points, drawn)
        faint = np.flatnonzero(own < FAINT)
        if len(faint):
            top = np.maximum(logs[faint].max(axis=1), own[faint])
            logs[faint] -= top[:, None]
            own[faint] -= top
        return np.exp(logs, out=logs), np.exp(own)

    return weights


def checked(weights: Any, shape: tuple[int, int]) -> FloatArray:
    """Weights of somebody's own kernel: the right shape, no NaN, nothing negative."""
    weights = np.asarray(weights, dtype=float)
    if weights.shape != shape:
        raise ValueError(
            f"kernel(X, Z) must give one weight for each row of X and of Z, shape {shape}, "
            f"got {weights.shape}"
        )
    wrong = ~((weights >= 0) & np.isfinite(weights))
    if wrong.any():
        raise ValueError(
            f"kernel(X, Z) must give finite weights that are not negative, got {weights[wrong][0]}"
        )
    return weights
