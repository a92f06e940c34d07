"""RxRx1's protocol: sets for experiments on which the predictor was not trained.

Half of their rows, at random, calibrate; nobody but an oracle is told where a test row comes from.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from plcp.experiments.by_group import outcome
from plcp.experiments.shifted.broken_ties import BrokenTies
from plcp.experiments.shifted.held_out import Halves
from plcp.experiments.shifted.rules import RULES
from plcp.quantiles import FloatArray
from plcp.scores import CumulativeProbability


def compare_rules(halves: Halves) -> dict[str, Any]:
    """Coverage and set size of every rule by experiment; again with ties broken, if asked."""
    names = np.unique(np.concatenate([halves.calibration.experiment, halves.test.experiment]))
    groups = {str(name): halves.test.experiment == name for name in names}
    score = fitted(CumulativeProbability(temperature="fit"), halves)
    results = {
        "groups": {name: int(rows.sum()) for name, rows in groups.items()},
        "methods": _outcomes(halves, score, groups),
        "about": {"temperature": score.temperature_, **about(halves, groups)},
    }
    if halves.settings["break_ties"]:
        broken = BrokenTies(temperature="fit", random_state=halves.seed)
        results["ties_broken"] = _outcomes(halves, fitted(broken, halves), groups)
    return results


def fitted(score: CumulativeProbability, halves: Halves) -> CumulativeProbability:
    """Fit the temperature of a score on the calibration rows."""
    calibration = halves.calibration
    return score.fit(softmax(calibration.logits, axis=1), calibration.label)


def _outcomes(
    halves: Halves, score: CumulativeProbability, groups: dict[str, NDArray[np.bool_]]
) -> dict[str, Any]:
    test = halves.test
    scores = score(softmax(halves.calibration.logits, axis=1), halves.calibration.label)
    found = {}
    for name, thresholds_of in RULES.items():
        start = time.perf_counter()
        thresholds, told = thresholds_of(halves, scores)
        seconds = round(time.perf_counter() - start, 3)
        sets = score.invert(softmax(test.logits, axis=1), thresholds)
        covered = sets.contains(test.label)
        numbers = {"hard": mean_or_one(covered[~halves.easy]), "empty": sets.is_empty.mean()}
        found[name] = outcome(covered, sets.size, groups, **numbers, seconds=seconds, **told)
    return found


def mean_or_one(covered: NDArray[np.bool_]) -> float:
    """Share that is covered; where there is nothing to miss, all of it."""
    return float(covered.mean()) if len(covered) else 1.0


def about(halves: Halves, groups: dict[str, NDArray[np.bool_]]) -> dict[str, Any]:
    """Accuracy of the predictor by experiment, and the least coverage that it leaves."""
    right = halves.test.logits.argmax(axis=1) == halves.test.label
    least = least_coverage(halves)
    return {
        "accuracy": [float(right[rows].mean()) for rows in groups.values()],
        "least": [float(least[rows].mean()) for rows in groups.values()],
    }


def least_coverage(halves: Halves) -> FloatArray:
    """Least coverage, row by row, of sets that are never empty and hold on easy and hard rows.

    The paper's score is 0 at the likeliest label, which is thus in every set: easy rows are covered
    as often as that label is right, and of hard rows 1 - alpha is asked. The test rows themselves
    say how often it is right, so that rows wrongly taken for easy ones cannot raise it.
    """
    right = halves.test.logits.argmax(axis=1) == halves.test.label
    return np.where(halves.easy, right.astype(float), 1 - halves.settings["alpha"])
