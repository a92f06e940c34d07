"""Any number of rows, made where they are needed: the same rows however they are cut into blocks.

Rows come in units, each from a seed of its own; a block is one or more units.
"""

import os
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed

from plcp.datasets import ScoreTask, make_nonlinear

FEATURES = 20
UNIT = 50_000  # rows of one seed
TEST_SEED = 2**31 - 1  # beyond every unit's
N_TEST = 100_000

Pair = tuple[np.ndarray, np.ndarray]
_rows_made = [0]  # by this process, ever: shows how often a fit went through its rows


def units_of(n: int) -> list[tuple[int, int]]:
    """Seed and rows of each unit of n rows."""
    return [(start // UNIT, min(UNIT, n - start)) for start in range(0, n, UNIT)]


def made(units: list[tuple[int, int]]) -> Pair:
    """Features and scores of some units, one after the other."""
    _rows_made[0] += sum(rows for _, rows in units)
    tasks = [make_nonlinear(rows, random_state=seed) for seed, rows in units]
    if len(tasks) == 1:
        return tasks[0].X, tasks[0].scores
    return np.vstack([task.X for task in tasks]), np.concatenate([task.scores for task in tasks])


def rows_made() -> tuple[int, int]:
    """Number of this process, and how many rows it has made."""
    return os.getpid(), _rows_made[0]


def units_in_a_block(n: int) -> int:
    """One where two workers need something to do, five where blocks would be too many."""
    return 1 if n <= 1_000_000 else 5


def collections(n: int, together: int | None = None) -> tuple[da.Array, da.Array]:
    """Features and scores as dask arrays of blocks of so many units, made again at every pass."""
    units, step = units_of(n), together or units_in_a_block(n)
    X, y = [], []
    for start in range(0, len(units), step):
        own = units[start : start + step]
        rows = sum(rows for _, rows in own)
        # no two calls share keys: what one fit left on the workers must not serve the next
        pair = delayed(made, pure=False, nout=2)(own)
        X.append(da.from_delayed(pair[0], (rows, FEATURES), dtype=float))
        y.append(da.from_delayed(pair[1], (rows,), dtype=float))
    return da.concatenate(X), da.concatenate(y)


def whole(n: int) -> Pair:
    """The same rows in memory."""
    X, y = np.empty((n, FEATURES)), np.empty(n)
    for seed, rows in units_of(n):
        here = slice(seed * UNIT, seed * UNIT + rows)
        X[here], y[here] = made([(seed, rows)])
    return X, y


def new_rows(n: int = N_TEST) -> ScoreTask:
    """New rows, the same for every method, whose noise is known."""
    return make_nonlinear(n, random_state=TEST_SEED)


def through(X: da.Array, y: da.Array) -> list[Any]:
    """Make every block once and read it: what a pass costs before anything is learned."""
    # as they are: Dask would make a block once for X and once more for y
    parts = (array.to_delayed(optimize_graph=False).ravel() for array in (X, y))
    return [delayed(_read)(*pair) for pair in zip(*parts, strict=True)]


def _read(X: np.ndarray, y: np.ndarray) -> float:
    return float(X.sum() + y.sum())
