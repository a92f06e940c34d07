"""What the metrics cost, as ratios measured in one run; kept in results/metrics.json.

python benchmarks/metrics.py [coverage]
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from plcp.metrics import coverage_by_group
from records import save
from speed import best_time

ROWS, GROUPS = 1_000_000, 20


def coverage_table() -> dict[str, float]:
    """A million rows in twenty groups: the whole table beside bare means of the same rows.

    Seconds, and ratios to: one mean of as many floats, one mean of the booleans, the means of
    groups already taken apart, and a mean and a comparison for each group.
    """
    rng = np.random.default_rng(0)
    covered, size = rng.random(ROWS) < 0.9, rng.exponential(size=ROWS)
    labels = rng.integers(0, GROUPS, ROWS)
    parts = [covered[labels == group] for group in range(GROUPS)]
    means: dict[str, Callable[[], Any]] = {
        "mean_of_floats": lambda: np.mean(size),
        "mean_of_booleans": lambda: np.mean(covered),
        "mean_of_each_part": lambda: [np.mean(part) for part in parts],
        "mean_of_each_group": lambda: [np.mean(covered[labels == g]) for g in range(GROUPS)],
    }
    seconds = best_time(lambda: coverage_by_group(covered, size, labels, alpha=0.1), repeats=50)
    ratios = {f"in_{name}": seconds / best_time(mean, repeats=50) for name, mean in means.items()}
    masks = rng.random((ROWS, GROUPS)) < 0.3
    names = np.array([f"group {i}" for i in range(GROUPS)])[labels]
    return {
        "seconds": seconds,
        **ratios,
        "seconds_overlapping": best_time(lambda: coverage_by_group(covered, size, masks)),
        "seconds_text_labels": best_time(lambda: coverage_by_group(covered, size, names)),
    }


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "coverage": coverage_table,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    for part in parser.parse_args().parts:
        results = PARTS[part]()
        print(part, results, flush=True)
        save("metrics", part, results)


if __name__ == "__main__":
    main()
