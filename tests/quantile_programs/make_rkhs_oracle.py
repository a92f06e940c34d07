"""Writes rkhs_oracle.json: duals of a last row by a second solver (needs cvxpy with Clarabel)."""

import json
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

CASES = {
    "constant": {"seed": 0, "d": 1, "kernel": "gaussian", "level": 0.9, "c": 5.0},
    "smooth": {"seed": 1, "d": 2, "kernel": "gaussian", "level": 0.8, "c": 10.0},
    "rough": {"seed": 2, "d": 3, "kernel": "laplace", "level": 0.5, "c": 3.0},
    "line": {"seed": 3, "d": 1, "kernel": "linear", "level": 0.7, "c": 1.0},
}
SCORES = np.linspace(0.0, 5.0, 21)  # of the last row


def task(case, n=41):
    """Kernel matrix, features and scores of n rows."""
    rng = np.random.default_rng(case["seed"])
    X = rng.normal(size=(n, 3))
    scores = np.abs(rng.normal(size=n)) * (1 + np.abs(X[:, 0]))
    features = np.column_stack([np.ones(n), X[:, : case["d"] - 1]])
    if case["kernel"] == "linear":
        return X @ X.T, features, scores
    distances = cdist(X, X)
    power = 2 if case["kernel"] == "gaussian" else 1
    return np.exp(-(distances**power) / 4), features, scores


def last_dual(kernel, features, scores, level, c):
    """Dual of the last row, from the primal program in the kernel's own coordinates."""
    import cvxpy as cp

    values, vectors = np.linalg.eigh(kernel)
    root = vectors * np.sqrt(np.maximum(values, 0))
    weights, beta = cp.Variable(len(scores)), cp.Variable(features.shape[1])
    above, below = cp.Variable(len(scores), nonneg=True), cp.Variable(len(scores), nonneg=True)
    fits = [root @ weights + features @ beta + above - below == scores]
    loss = level * cp.sum(above) + (1 - level) * cp.sum(below)
    problem = cp.Problem(cp.Minimize(loss + cp.sum_squares(weights) / (2 * c)), fits)
    tight = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
    problem.solve(solver=cp.CLARABEL, **tight)
    if problem.status != "optimal":
        raise RuntimeError(f"Clarabel ended with status {problem.status}")
    return -float(fits[0].dual_value[-1])


def main():
    """Solve each case at each score of the last row."""
    duals = {}
    for name, case in CASES.items():
        kernel, features, scores = task(case)
        duals[name] = []
        for last in SCORES:
            given = np.r_[scores[:-1], last]
            duals[name].append(last_dual(kernel, features, given, case["level"], case["c"]))
    Path(__file__).with_name("rkhs_oracle.json").write_text(json.dumps(duals, indent=1) + "\n")


if __name__ == "__main__":
    main()
