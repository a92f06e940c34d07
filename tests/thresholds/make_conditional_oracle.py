"""Thresholds of the authors' own package, for test_conditional.py: exact, at several duals.

It needs an old NumPy, so an environment of its own:

    pip install "numpy<1.25" "scipy<1.12" "scikit-learn<1.6" "cvxpy<1.5" conditionalconformal==0.0.5
    python tests/thresholds/make_conditional_oracle.py
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np


def with_constant(X):
    X = np.atleast_2d(X)
    return np.column_stack([np.ones(len(X)), X])


def thresholds(X, scores, new, alpha, targets):
    """Thresholds of each new row (one per line) at each target of its dual."""
    from conditionalconformal import CondConf  # here, as the tests' environment has none

    package = CondConf(lambda X, y: y, with_constant)
    package.setup_problem(X, scores)
    level = 1 - alpha
    return [
        [
            float(np.ravel(package.predict(level, row[None], lambda q, _: q, threshold=u))[0])
            for u in targets
        ]
        for row in new
    ]


def main():
    rng = np.random.default_rng(0)
    cases = []
    for n, d, alpha in ((60, 1, 0.2), (120, 3, 0.1), (200, 4, 0.05)):
        X, new = (rng.uniform(-1, 1, size=(rows, d)).round(6) for rows in (n, 12))
        scores = np.round((1.5 + X[:, 0]) * rng.exponential(size=n), 6)
        targets = [1 - alpha, 0.6, 0.3, -0.6 * alpha]
        cases.append(
            {
                "alpha": alpha,
                "targets": targets,
                "X": X.tolist(),
                "scores": scores.tolist(),
                "new": new.tolist(),
                "thresholds": thresholds(X, scores, new, alpha, targets),
            }
        )
    content = {"package": f"conditionalconformal {version('conditionalconformal')}", "cases": cases}
    path = Path(__file__).with_name("conditional_oracle.json")
    path.write_text(json.dumps(content) + "\n")


if __name__ == "__main__":
    main()
