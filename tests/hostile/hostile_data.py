"""Clean rows, as plain as can be: every number is exact in half precision too."""

import numpy as np
import pandas as pd
import polars as pl

N, ALPHA = 60, 0.2
NAMES = ["a", "b", "c"]
_rng = np.random.default_rng(7)

X = np.column_stack(
    [_rng.permutation(N) / 16 - 2, _rng.integers(-16, 17, N) / 8, _rng.integers(-1, 2, N)]
)
SCORES = np.round((2.5 + X[:, 0]) * _rng.exponential(size=N) * 32 + 1) / 32
Y = X[:, 0] - SCORES * _rng.choice([-1, 1], N)
LABELS = np.where(X[:, 0] + _rng.normal(size=N) > 0, "f", "m")
WEIGHTS = _rng.integers(1, 4, N).astype(float)
COVERED = _rng.uniform(size=N) < 0.8
SIZE = SCORES
GROUPS = np.array(["low", "mid", "top"])[X[:, 2].astype(int) + 1]
BAND = np.column_stack([X[:, 0] - 1, X[:, 0] + 1])
PROBABILITY = (np.clip(np.round(8 + 3 * X[:, 0]), 1, 15) / 16)[:, None] * [1, -1] + [0, 1]
CODES = (LABELS == "m").astype(int)


def as_array(values):
    return values


def pandas(values):
    return pd.DataFrame(np.asarray(values), columns=NAMES)


def polars(values):
    return pl.DataFrame(np.asarray(values), schema=NAMES)


def mixed(values):
    """A table with a column of text."""
    frame = pandas(values)
    frame["c"] = np.array(["low", "mid", "top"])[np.asarray(values)[:, 2].astype(int) + 1]
    return frame


def mixed_polars(values):
    return pl.from_pandas(mixed(values))


class Positive:
    """Two groups known beforehand: whether the first column is above zero."""

    def __call__(self, X):
        return np.asarray(X)[:, 0].astype(float) > 0

    def __repr__(self):
        return "positive"
