"""Streams watched by monitors: false alarms while nothing drifts, and how soon a drift is found.

Three monitors see the same misses: ours; one that tests only for a drift since the first row; and
one that takes the rate of misses to be alpha, whatever calibration made of it.
"""

import json
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

from plcp import (
    PLCP,
    BatchGCP,
    BatchMVP,
    ConditionalCalibration,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    Rectified,
    SplitConformal,
)
from plcp.datasets import make_nonlinear
from plcp.monitoring.martingale import TILTS, Evidence, Origins, Path, Rows, Urn, follow

ALPHA, RATE = 0.1, 0.05
BAR = -np.log(RATE)
MONITORS = ("ours", "since the first row", "given alpha")
GROUPS = {f"x{i} > 0": lambda X, i=i: X[:, i] > 0 for i in range(3)}


class Sizes(NamedTuple):
    """How many streams, and how long."""

    streams: int
    rows: int
    trials: int
    few_trials: int
    trial_rows: int
    delays: int
    quiet: tuple[int, ...]


FULL = Sizes(300, 50_000, 100, 30, 10_000, 100, (0, 100_000))
QUICK = Sizes(5, 500, 2, 1, 500, 3, (0, 200))

# how the odds of a miss grow after the quiet rows, which rows are there to find it in
DRIFTS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "0.1 to 0.15": (lambda t: np.full(len(t), odds(0.15) / odds(ALPHA)), 20_000),
    "0.1 to 0.2": (lambda t: np.full(len(t), odds(0.2) / odds(ALPHA)), 5_000),
    "0.1 to 0.3": (lambda t: np.full(len(t), odds(0.3) / odds(ALPHA)), 2_000),
    "0.1 to 0.3 over 10,000 rows": (
        lambda t: (odds(0.3) / odds(ALPHA)) ** np.minimum(t / 10_000, 1),
        20_000,
    ),
}
RULES: dict[str, Callable[[int], Any]] = {
    "SplitConformal": lambda seed: SplitConformal(),
    "Mondrian, 2 groups": lambda seed: Mondrian(GROUPS["x0 > 0"]),
    "PLCP, split, linear": lambda seed: PLCP(
        OrderedPartition(LinearQuantile()), calibration="split", random_state=seed
    ),
    "Rectified, linear": lambda seed: Rectified(LinearQuantile(), random_state=seed),
    "PLCP, cross, linear": lambda seed: PLCP(
        OrderedPartition(LinearQuantile()), calibration="cross", random_state=seed
    ),
    "PLCP, cross": lambda seed: PLCP(calibration="cross", random_state=seed),
    "BatchGCP, 3 groups": lambda seed: BatchGCP(GROUPS),
    "BatchMVP, 3 groups": lambda seed: BatchMVP(GROUPS),
    "ConditionalCalibration, 3 groups": lambda seed: ConditionalCalibration(groups=GROUPS),
}
SLOW = {"PLCP, cross"}


def odds(p: float) -> float:
    return p / (1 - p)


def tilted(p: float, factors: Any) -> Any:
    return factors * p / (1 - p + factors * p)


def followed(missed: Any, urn: Urn) -> Path:
    return follow(Evidence.none(), missed, urn.chances(missed))


def heights(path: Path, missed: Any) -> dict[str, Any]:
    """Logarithm of each monitor's evidence after each row."""
    since_first = np.logaddexp.reduce(path.growth[1:], axis=1) - np.log(len(TILTS))
    known = follow(Evidence.none(), missed, np.full(len(missed), ALPHA)).martingale
    return dict(zip(MONITORS, (path.martingale, since_first, known), strict=True))


def share(times: int, of: int) -> dict[str, Any]:
    """How often, with Clopper and Pearson's 95 % interval."""
    low = float(beta.ppf(0.025, times, of - times + 1)) if times else 0.0
    high = float(beta.ppf(0.975, times + 1, of - times)) if times < of else 1.0
    return {"alarms": times, "streams": of, "share": times / of, "low": low, "high": high}


def false_alarms(sizes: Sizes) -> list[dict[str, Any]]:
    """Streams whose rate of misses is what a calibration of n rows left it to be."""
    found = []
    for n in (50, 200, 1000, 5000):
        rng, urn = np.random.default_rng(n), Urn.of(n, ALPHA)
        alarms = dict.fromkeys(MONITORS, 0)
        for rate in rng.beta(*urn, size=sizes.streams):
            missed = rng.uniform(size=sizes.rows) < rate
            for name, height in heights(followed(missed, urn), missed).items():
                alarms[name] += int(height.max() >= BAR)
        each = {name: share(times, sizes.streams) for name, times in alarms.items()}
        found.append({"calibration_rows": n, "rows": sizes.rows, **each})
    return found


def rules(sizes: Sizes) -> list[dict[str, Any]]:
    """Rules calibrated again on 1,000 rows each time, and watched."""
    found = []
    for name, make in RULES.items():
        trials = sizes.few_trials if name in SLOW else sizes.trials
        alarms = 0
        for seed in range(trials):
            cal = make_nonlinear(1000, random_state=seed)
            new = make_nonlinear(sizes.trial_rows, random_state=10_000 + seed)
            monitor = make(seed).fit(cal.X, cal.scores).monitor(RATE)
            alarms += bool(monitor.update(new.X, new.scores).report().drifting)
        exact = not monitor.guarantee_.startswith("Approximate")
        found.append({"rule": name, "exact": exact, "rows": len(new.X), **share(alarms, trials)})
    return found


def delays(sizes: Sizes) -> list[dict[str, Any]]:
    """Rows from the drift to the alarm, and from the drift to its estimated beginning."""
    found = []
    for drift, (factors, rows) in DRIFTS.items():
        for quiet in sizes.quiet:
            rng, urn = np.random.default_rng(quiet), Urn.of(1000, ALPHA)
            raised: dict[str, list[float]] = {name: [] for name in MONITORS}
            errors = []
            for rate in rng.beta(*urn, size=sizes.delays):
                after = tilted(rate, factors(np.arange(rows)))
                missed = rng.uniform(size=quiet + rows) < np.r_[np.full(quiet, rate), after]
                path = followed(missed, urn)
                for name, height in heights(path, missed).items():
                    raised[name].append(first(height >= BAR) - quiet)
                errors.append(since(path, missed) - quiet)
            each = {name: waits(rows_until) for name, rows_until in raised.items()}
            dated = np.nanquantile(errors, [0.25, 0.5, 0.75]).tolist()
            found.append({"drift": drift, "quiet": quiet, **each, "begun_said_minus_true": dated})
    return found


def first(reached: Any) -> float:
    """Number of rows up to the first that is reached, itself included."""
    return float(np.argmax(reached) + 1) if reached.any() else np.inf


def since(path: Path, missed: Any) -> float:
    """Row at which ours estimates that the drift began; NaN without an alarm."""
    if not (path.martingale >= BAR).any():
        return np.nan
    n = int(np.argmax(path.martingale >= BAR)) + 1
    rows = Rows(missed[:n], np.zeros(n), np.arange(n), np.full(n, None))
    origins = Origins.none().after(rows, path.growth[:n], 0, 0)
    return float(origins.row[origins.likeliest(path.growth[n])])


def waits(rows: list[float]) -> dict[str, Any]:
    """Shares that were too early and that were found, and quartiles of rows until found."""
    values = np.array(rows)
    timely = values[values > 0]
    quartiles = np.quantile(timely, [0.25, 0.5, 0.75], method="higher") if len(timely) else []
    return {
        "before": float(np.mean(values <= 0)),
        "found": float(np.mean(np.isfinite(values) & (values > 0))),
        "rows": [float(q) if np.isfinite(q) else None for q in quartiles],
    }


def cost(sizes: Sizes) -> dict[str, Any]:
    """Size of the state and time a row, of ten groups and all rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(10, size=(10 * sizes.trial_rows, 1)).astype(float)
    scores = rng.exponential(size=len(X))
    rule = Mondrian(0).fit(X[: sizes.trial_rows], scores[: sizes.trial_rows])
    monitor = rule.monitor()
    start = time.perf_counter()
    monitor.update(X, scores, at="2026-01-01")
    seconds = time.perf_counter() - start
    return {
        "groups": len(rule.groups_) + 1,
        "rows": len(X),
        "state_bytes": len(json.dumps(json.loads(monitor.to_json()))),
        "microseconds_a_row": 1e6 * seconds / len(X),
    }


def measure(quick: bool) -> dict[str, Any]:
    sizes = QUICK if quick else FULL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows, which are there on purpose
        return {
            "alpha": ALPHA,
            "rate": RATE,
            "false_alarms": false_alarms(sizes),
            "rules": rules(sizes),
            "delays": delays(sizes),
            "cost": cost(sizes),
        }
