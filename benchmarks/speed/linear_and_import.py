"""Linear quantile regression and import, beside scikit-learn's; results/linear_and_import.json.

python -m benchmarks.speed.linear_and_import [linear import]
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psutil
from benchmarks.shared import best_time, save
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss

from plcp import LinearQuantile
from plcp.datasets import make_synthetic

LEVEL = 0.9


def against_quantile_regressor() -> dict[str, float]:
    """LinearQuantile and scikit-learn's linear program on 20,000 × 100."""
    task = make_synthetic(20_000, random_state=0)
    ours, theirs = LinearQuantile(LEVEL), QuantileRegressor(quantile=LEVEL, alpha=0)
    our_time = best_time(lambda: ours.fit(task.X, task.scores))
    their_time = best_time(lambda: theirs.fit(task.X, task.scores), repeats=1)
    losses = [
        mean_pinball_loss(task.scores, model.predict(task.X), alpha=LEVEL)
        for model in (ours, theirs)
    ]
    return {
        "seconds": our_time,
        "sklearn_seconds": their_time,
        "times_faster": their_time / our_time,
        "excess_loss": losses[0] / losses[1] - 1,
    }


def import_time() -> dict[str, float]:
    """`import plcp` in units of `import sklearn.linear_model`, each in fresh processes."""

    def once(module: str) -> None:
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    ours, theirs = (best_time(lambda m=m: once(m), 9) for m in ("plcp", "sklearn.linear_model"))
    bare = best_time(lambda: once("sys"), 9)
    return {"ratio": (ours - bare) / (theirs - bare), "ratio_with_python": ours / theirs}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "linear": against_quantile_regressor,
    "import": import_time,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    print(f"{psutil.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB")
    for part in parser.parse_args().parts:
        results = PARTS[part]()
        print(part, results, flush=True)
        save("speed/linear_and_import", part, results)


if __name__ == "__main__":
    main()
