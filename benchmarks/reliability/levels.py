"""Several levels from one fit: a partition for each level beside one that all share.

Simulated tasks have an exact MSCE; of the census there are the pinball loss and the worst gap of
groups not given (``PLCP_DATA`` names the data directory). Both relative to Split's,
but gaps.
Seconds are the processor's, which other work on the machine does not change much.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.accuracy.conditional import predictor, real_parts

from plcp import PLCP, SplitConformal
from plcp.datasets import make_nonlinear, make_synthetic
from plcp.metrics import msce
from plcp.quantiles import pinball_loss

LEVELS = [0.05, 0.1, 0.2, 0.5]
SEEDS, ROWS, TEST_ROWS = 3, 5_000, 20_000
SIMULATED = {"paper": make_synthetic, "nonlinear": make_nonlinear}


class Trial(NamedTuple):
    """Rows to calibrate on, rows to judge by, and the judgement of one column of thresholds."""

    X: Any
    scores: np.ndarray
    X_test: Any
    judge: Callable[[np.ndarray, float], dict[str, float]]


def simulated(make: Callable[..., Any], n: int, n_test: int, seed: int) -> Trial:
    cal, test = make(n, random_state=seed), make(n_test, random_state=10_000 + seed)

    def judge(q: np.ndarray, level: float) -> dict[str, float]:
        return {
            "msce": float(msce(test.conditional_coverage(q), level)),
            "coverage": float((test.scores <= q).mean()),
        }

    return Trial(cal.X, cal.scores, test.X, judge)


def census(n: int, seed: int) -> Trial:
    data_dir = Path(os.environ.get("PLCP_DATA", "data"))
    X_train, y_train, X_cal, X_test, y_cal, y_test = real_parts("census", data_dir, seed)
    model = predictor("census").fit(X_train, y_train)
    scores = np.abs(y_test - model.predict(X_test))
    people = {
        "doctors": X_test["SCHL"] >= 23,
        "over 60": X_test["AGEP"] > 60,
        "under 25": X_test["AGEP"] < 25,
        "women": X_test["SEX"] == 2,
    }

    def judge(q: np.ndarray, level: float) -> dict[str, float]:
        covered = np.asarray(scores <= q)
        gaps = [abs(covered[who.to_numpy()].mean() - (1 - level)) for who in people.values()]
        return {
            "pinball": float(pinball_loss(q, scores, level).mean()),
            "coverage": float(covered.mean()),
            "worst_gap": float(max(gaps)),
        }

    calibration = np.abs(y_cal - model.predict(X_cal))[:n]
    return Trial(X_cal[:n], np.asarray(calibration), X_test, judge)


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return action(), time.process_time() - start


def trials(quick: bool) -> Iterator[tuple[str, int, Trial]]:
    """Yield every task and seed; of the census none where only the code is tried out."""
    n, n_test, seeds = (90, 500, 1) if quick else (ROWS, TEST_ROWS, SEEDS)
    for seed in range(seeds):
        for name, make in SIMULATED.items():
            yield name, seed, simulated(make, n, n_test, seed)
        if not quick:
            yield "census", seed, census(n, seed)


def results_of(trial: Trial, seed: int) -> Iterator[dict[str, Any]]:
    """Yield what each way costs and gives, beside Split."""
    rules = {
        "split": SplitConformal(LEVELS),
        "own": PLCP(alpha=LEVELS, calibration="cross", random_state=seed),
        "shared": PLCP(alpha=LEVELS, calibration="cross", share_partition=True, random_state=seed),
    }
    for name, rule in rules.items():
        _, fit_seconds = timed(lambda rule=rule: rule.fit(trial.X, trial.scores))
        q, predict_seconds = timed(lambda rule=rule: rule.predict(trial.X_test))
        alone = np.column_stack([each.predict(trial.X_test) for each in rule.rules_])
        yield {
            "method": name,
            "fit_seconds": fit_seconds,
            "predict_seconds": predict_seconds,
            "raised": (q > alone).mean(axis=0).tolist(),
            "levels": [trial.judge(c, level) for c, level in zip(q.T, LEVELS, strict=True)],
        }


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, losses relative to Split's."""
    of = {name: [r for r in found if r["method"] == name] for name in ("split", "own", "shared")}

    def mean(name: str, key: str) -> np.ndarray:
        return np.array([[at[key] for at in r["levels"]] for r in of[name]]).mean(axis=0)

    keys = found[0]["levels"][0]
    table: dict[str, Any] = {}
    for name in ("own", "shared"):
        table[name] = {
            key: (mean(name, key) / (mean("split", key) if key in ("msce", "pinball") else 1.0))
            .round(4)
            .tolist()
            for key in keys
        }
        table[name]["raised"] = np.mean([r["raised"] for r in of[name]], axis=0).round(6).tolist()
        for key in ("fit_seconds", "predict_seconds"):
            table[name][key] = round(float(np.mean([r[key] for r in of[name]])), 3)
    if "worst_gap" in keys:
        table["split"] = {"worst_gap": mean("split", "worst_gap").round(4).tolist()}
    return table


def measure(quick: bool) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {}
    for name, seed, trial in trials(quick):
        found.setdefault(name, []).extend(results_of(trial, seed))
    seeds = len([r for r in found["paper"] if r["method"] == "own"])
    rows = 90 if quick else ROWS
    tasks = {name: summary(results) for name, results in found.items()}
    return {"levels": LEVELS, "rows": rows, "seeds": seeds, "tasks": tasks}
