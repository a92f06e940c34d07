"""Small programs of every kind: continuous or 0/1 features, ties or none, weights or none."""

import numpy as np


def random_program(seed, n_max=40):
    """Features with a constant first, scores, level and weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, n_max))
    d = int(rng.integers(1, min(6, n)))
    binary, ties, weighted = rng.uniform(size=3) < [0.4, 0.4, 0.3]
    columns = rng.integers(0, 2, (n, d - 1)) if binary else rng.normal(size=(n, d - 1))
    features = np.column_stack([np.ones(n), columns]).astype(float)
    scores = rng.integers(0, 5, n).astype(float) if ties else rng.normal(size=n)
    weights = rng.uniform(0.2, 3, n) if weighted else None
    return features, scores, float(rng.choice([0.1, 0.5, 0.8, 0.9])), weights
