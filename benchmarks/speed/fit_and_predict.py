"""Time and memory as ratios measured in one run; kept in results/speed.json.

python -m benchmarks.speed.fit_and_predict [linear default predict memory import growth]
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
from benchmarks.shared import best_time, save
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.metrics import mean_pinball_loss

from plcp import PLCP, LinearQuantile, OrderedPartition
from plcp.datasets import make_nonlinear, make_synthetic

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


def against_one_boosted_model() -> dict[str, float]:
    """Default fit and predict on 50,000 × 20 in units of one boosted quantile regression."""
    cal, test = make_nonlinear(50_000, random_state=0), make_nonlinear(200_000, random_state=1)
    one = HistGradientBoostingRegressor(loss="quantile", quantile=LEVEL, random_state=0)
    rule = PLCP(random_state=0)
    fit_one = best_time(lambda: one.fit(cal.X, cal.scores))
    fit_rule = best_time(lambda: rule.fit(cal.X, cal.scores))
    predict_one = best_time(lambda: one.predict(test.X), repeats=5)
    predict_rule = best_time(lambda: rule.predict(test.X), repeats=5)
    return {"fit_ratio": fit_rule / fit_one, "predict_ratio": predict_rule / predict_one}


def against_linear_regression() -> dict[str, float]:
    """Predicting a million rows with a linear regressor, in units of LinearRegression.predict."""
    cal, test = make_nonlinear(50_000, random_state=0), make_nonlinear(1_000_000, random_state=1)
    rule = PLCP(OrderedPartition(LinearQuantile()), random_state=0).fit(cal.X, cal.scores)
    line = LinearRegression().fit(cal.X, cal.scores)
    ours = best_time(lambda: rule.predict(test.X), repeats=7)
    return {"predict_ratio": ours / best_time(lambda: line.predict(test.X), repeats=7)}


def peak_of_fit(n: int, regressor: str) -> float:
    """Peak memory of a fit beyond what was held before, in bytes of X, in a process of its own."""
    code = (
        "import threading, time, psutil, numpy as np\n"
        "from plcp import *\n"
        "from plcp.datasets import make_nonlinear\n"
        "warm = make_nonlinear(2000, random_state=1)\n"
        f"make = lambda: {regressor}\n"
        "make().fit(warm.X, warm.scores)\n"  # threads and imports are there before we count
        f"task = make_nonlinear({n}, random_state=0)\n"
        "X, s = task.X, task.scores; del task\n"
        "me, peak, done = psutil.Process(), [0], []\n"
        "def watch():\n"
        "    while not done:\n"
        "        peak[0] = max(peak[0], me.memory_info().rss); time.sleep(0.002)\n"
        "before = me.memory_info().rss\n"
        "threading.Thread(target=watch, daemon=True).start()\n"
        "make().fit(X, s); done.append(1)\n"
        "print((peak[0] - before) / X.nbytes)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def memory() -> dict[str, float]:
    return {
        "default_200000": peak_of_fit(200_000, "PLCP(random_state=0)"),
        "default_1000000": peak_of_fit(1_000_000, "PLCP(random_state=0)"),
        "linear_1000000": peak_of_fit(1_000_000, "PLCP(OrderedPartition(LinearQuantile()))"),
    }


def import_time() -> dict[str, float]:
    """`import plcp` in units of `import sklearn.linear_model`, each in fresh processes."""

    def once(module: str) -> None:
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    ours, theirs = (best_time(lambda m=m: once(m), 9) for m in ("plcp", "sklearn.linear_model"))
    bare = best_time(lambda: once("sys"), 9)
    return {"ratio": (ours - bare) / (theirs - bare), "ratio_with_python": ours / theirs}


def growth() -> dict[str, Any]:
    """Fit time from 10^5 to 5·10^6 rows of 20 features with a linear regressor."""
    sizes = (100_000, 500_000, 1_000_000, 5_000_000)
    times = []
    for n in sizes:
        task = make_nonlinear(n, random_state=0)
        rule = PLCP(OrderedPartition(LinearQuantile()), random_state=0)
        times.append(best_time(lambda task=task, rule=rule: rule.fit(task.X, task.scores), 2))
    slope = np.log(times[-1] / times[0]) / np.log(sizes[-1] / sizes[0])
    return {"rows": sizes, "seconds": times, "exponent": float(slope)}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "linear": against_quantile_regressor,
    "default": against_one_boosted_model,
    "predict": against_linear_regression,
    "memory": memory,
    "import": import_time,
    "growth": growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    print(f"{psutil.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB")
    for part in parser.parse_args().parts:
        results = PARTS[part]()
        print(part, results, flush=True)
        save("speed/fit_and_predict", part, results)


if __name__ == "__main__":
    main()
