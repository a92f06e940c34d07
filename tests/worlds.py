"""Small worlds for local rules: rows, tied scores, and kernels whose weights are exact."""

import warnings

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from plcp.exceptions import InfiniteThresholdWarning


class Table:
    """A kernel on the numbers 0 … k - 1, by a table of weights that need not be symmetric."""

    def __init__(self, weights):
        self.weights = np.asarray(weights, dtype=float)

    def __call__(self, X, Z):
        return self.weights[np.ix_(X[:, 0].astype(int), Z[:, 0].astype(int))]

    def draw(self, X, rng):
        laws = self.weights / self.weights.sum(axis=1, keepdims=True)
        return np.array([[rng.choice(len(laws), p=laws[int(x)])] for x in X[:, 0]], dtype=float)


@st.composite
def worlds(draw, min_size=2, max_size=14):
    """Places, scores with ties, and a table of eighths: sums and products of them are exact."""
    k, n = draw(st.integers(1, 4)), draw(st.integers(min_size, max_size))
    table = draw(hnp.arrays(float, (k, k), elements=st.integers(0, 8).map(lambda i: i / 8)))
    table[np.arange(k), np.arange(k)] += 0.125
    places = draw(hnp.arrays(np.intp, n, elements=st.integers(0, k - 1)))
    scores = draw(hnp.arrays(float, n, elements=st.integers(-4, 4).map(float)))
    return places, scores, table


def quietly(rule, X, scores, points, **fit):
    """Thresholds of a fresh rule; infinite ones are under test elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        return rule.fit(X, scores, **fit).predict(points)
