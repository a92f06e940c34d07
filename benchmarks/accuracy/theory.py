"""Bounds beside what they bound: populations with known quantiles, and samples from them."""

import numpy as np
from benchmarks.accuracy.populations import SCALES, SHAPES, make
from benchmarks.shared import save

from plcp.partitions.ordered import interval_of, optimal_cuts
from plcp.quantiles import weighted_quantiles
from plcp.theory import (
    best_m,
    finite_excess,
    log_growth_ordered,
    msce_bound,
    population_excess,
    sharp_best_m,
    sharp_finite_excess,
    sharp_population_excess,
)

GROUPS = (2, 4, 8, 16, 32, 64)
ATOMS = 512
POINTS = (100, 1_000, 10_000, 100_000)
LEARNED_ATOMS = 64  # the library's optimal cuts distinguish 128 values
RUNS = 20
DELTA = 0.05


def population_rows():
    """Excess and MSCE of the best m groups, and the bounds on them."""
    rows = []
    for scale in SCALES:
        for shape in SHAPES:
            law = make(scale, shape, ATOMS)
            thresholds = law.best_thresholds(GROUPS[-1])
            for m in GROUPS:
                paper = population_excess(m, law.variance)
                sharp = sharp_population_excess(m, law.variance, **known(law, shape))
                rows.append(
                    {"scale": scale, "shape": shape, "m": m}
                    | measured(law, thresholds[m - 1])
                    | bounds(paper, sharp, law)
                )
    return rows


def learned_rows():
    """Excess and MSCE of groups learned from n points, and the bounds on them."""
    rows = []
    for scale in ("even", "two clusters"):
        law = make(scale, "uniform", LEARNED_ATOMS)  # scores in [0, 1]
        for n in POINTS:
            for m in (1, *GROUPS):
                growth = log_growth_ordered(m, n_features=1, n=n)
                paper = finite_excess(m, n, law.variance, DELTA, growth)
                sharp = sharp_finite_excess(
                    m, n, law.variance, DELTA, growth, hard=True, **known(law, "uniform")
                )
                runs = [measured(law, learn(law, n, m, seed)) for seed in range(RUNS)]
                worst = {key: max(run[key] for run in runs) for key in runs[0]}
                rows.append({"scale": scale, "n": n, "m": m} | worst | bounds(paper, sharp, law))
    return rows


def choice_rows():
    """The number of groups each bound would choose."""
    law = make("even", "uniform", LEARNED_ATOMS)
    rows = []
    for n in (*POINTS, 10**6, 10**8):

        def growth(m, n=n):
            return log_growth_ordered(m, n_features=1, n=n)

        sharp = sharp_best_m(n, law.variance, DELTA, growth, hard=True, **known(law, "uniform"))
        rows.append({"n": n, "paper": best_m(n, law.variance, DELTA, growth), "sharp": sharp})
    return rows


def known(law, shape):
    """What a sharp bound may use: Lipschitz constant and range, where the scores have a range."""
    if shape != "uniform":
        return {"alpha": law.alpha}
    return {"alpha": law.alpha, "lipschitz": law.lipschitz, "score_range": law.scale[-1]}


def measured(law, threshold):
    return {"excess": law.excess(threshold), "msce": law.msce(threshold)}


def bounds(paper, sharp, law):
    return {
        "paper excess": float(paper),
        "sharp excess": float(sharp),
        "paper msce": float(msce_bound(paper, law.lipschitz)),
        "sharp msce": float(msce_bound(sharp, law.lipschitz)),
    }


def learn(law, n, m, seed):
    """Threshold of each x by m intervals of least empirical loss."""
    k, scores = law.draw(n, np.random.default_rng(seed))
    cuts = optimal_cuts(law.scale[k], scores, None, m, law.alpha)
    members = np.eye(len(cuts) + 1)[interval_of(law.scale[k], cuts)]
    return weighted_quantiles(scores, members, 1 - law.alpha)[interval_of(law.scale, cuts)]


def check(rows):
    """No measurement above its bound."""
    for row in rows:
        assert row["excess"] <= row["sharp excess"] <= row["paper excess"], row
        assert row["msce"] <= row["sharp msce"] <= row["paper msce"], row


def show(rows):
    for row in rows:
        values = (f"{value:.2e}" if isinstance(value, float) else value for value in row.values())
        print(*values, sep="  ")


if __name__ == "__main__":
    parts = {"population": population_rows(), "learned": learned_rows(), "choice": choice_rows()}
    check(parts["population"] + parts["learned"])
    for part, rows in parts.items():
        print(part, *rows[0], sep="  ")
        show(rows)
        save("accuracy/theory", part, rows)
