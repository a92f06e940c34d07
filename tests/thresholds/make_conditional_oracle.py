"""Thresholds of another package's exact conditional calibration, for test_conditional.py.

    pip install "mapie[conditional]==1.6.0"
    python tests/thresholds/make_conditional_oracle.py

Few columns only: with some fifty of them that package skips events closer than 1e-5 on its path.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor
from sklearn.dummy import DummyRegressor


def thresholds(X, scores, new, alpha):
    """Half the width of its intervals around zero."""
    zero = DummyRegressor(strategy="constant", constant=0.0).fit(X, scores)
    rule = ConditionalSplitConformalRegressor(
        lambda rows: np.column_stack([np.ones(len(rows)), rows]), zero, 1 - alpha
    )
    _, intervals = rule.conformalize(X, scores).predict_interval(new)
    return intervals[:, 1, 0]


def main():
    rng = np.random.default_rng(0)
    cases = []
    for n, d, alpha in ((60, 1, 0.2), (120, 3, 0.1), (200, 4, 0.05)):
        X, new = (rng.uniform(-1, 1, size=(rows, d)).round(6) for rows in (n, 15))
        scores = np.round((1.5 + X[:, 0]) * rng.exponential(size=n), 6)
        found = thresholds(X, scores, new, alpha)
        cases.append(
            {
                "alpha": alpha,
                "X": X.tolist(),
                "scores": scores.tolist(),
                "new": new.tolist(),
                "thresholds": found.tolist(),
            }
        )
    content = {"package": f"mapie {version('mapie')}", "cases": cases}
    path = Path(__file__).with_name("conditional_oracle.json")
    path.write_text(json.dumps(content) + "\n")


if __name__ == "__main__":
    main()
