"""RxRx1's protocol: sets for experiments on which the predictor was not trained.

Half of their rows, at random, calibrate; nobody but an oracle is told where a test row comes from.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp.experiments.broken_ties import BrokenTies
from plcp.experiments.by_group import DEFAULT, PUBLISHED, SPLIT, outcome
from plcp.experiments.experiment import Settings
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import TorchPartition
from plcp.quantiles import FloatArray
from plcp.rows import take
from plcp.scores import CumulativeProbability
from plcp.shifts import GroupProbabilities
from plcp.thresholds import PLCP, ConditionalCalibration, Mondrian, SplitConformal
from plcp.validation import InfiniteThresholdWarning

CONDITIONAL, ORACLE = "Conditional Calibration", "oracle"
PENALTIES = [0.001, 0.01, 0.1, 1.0]  # inverse strengths that cross-validation chooses from


@dataclass(frozen=True)
class HeldOut:
    """Rows of experiments that the predictor never saw.

    Attributes
    ----------
    logits : array (n, k)
        What the predictor says of each label.
    features : array (n, d)
        Columns that Conditional Calibration and PLCP by default learn from.
    inputs : array or data set
        What the published partition, a network, learns from.
    label, experiment : arrays (n,)
        The true label, and the experiment each row comes from.
    """

    logits: FloatArray
    features: NDArray[Any]
    inputs: Any
    label: NDArray[np.int64]
    experiment: NDArray[Any]

    def __getitem__(self, rows: NDArray[np.intp]) -> "HeldOut":
        return HeldOut(
            self.logits[rows],
            self.features[rows],
            take(self.inputs, rows),
            self.label[rows],
            self.experiment[rows],
        )


@dataclass(frozen=True)
class Halves:
    """Calibration and test rows of one trial, and the network of the published partition."""

    calibration: HeldOut
    test: HeldOut
    module: Any
    settings: Settings
    seed: int


def split_at_random(rows: HeldOut, module: Any, settings: Settings, seed: int) -> Halves:
    """Return random halves of the rows, without a look at their experiments."""
    order = np.random.default_rng(seed).permutation(len(rows.label))
    half = len(order) // 2
    return Halves(rows[order[:half]], rows[order[half:]], module, settings, seed)


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
        empty = float(sets.is_empty.mean())
        found[name] = outcome(
            sets.contains(test.label), sets.size, groups, empty=empty, seconds=seconds, **told
        )
    return found


Thresholds = tuple[FloatArray, dict[str, float]]


def split_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """One threshold for all."""
    rule = SplitConformal(halves.settings["alpha"])
    return rule.fit(halves.calibration.features, scores).predict(halves.test.features), {}


def conditional_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """Half of the calibration rows learn to tell experiments, the others calibrate against that."""
    calibration, half = halves.calibration, len(scores) // 2
    plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    grid = {"logisticregression__C": PENALTIES}
    shifts = GroupProbabilities(GridSearchCV(plain, grid, scoring="neg_log_loss"))
    shifts.fit(calibration.features[:half], calibration.experiment[:half])
    rule = ConditionalCalibration(FrozenEstimator(shifts), alpha=halves.settings["alpha"])
    rule.fit(calibration.features[half:], scores[half:])
    with warnings.catch_warnings():  # infinite thresholds are counted
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        thresholds = rule.predict(halves.test.features)
    told = shifts.classifier_.predict(halves.test.features) == halves.test.experiment
    return thresholds, {"told": told.mean(), "infinite": float(np.isinf(thresholds).mean())}


def published_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """Softmax groups of a network; thresholds of the optimisation itself, groups drawn from h."""
    settings = halves.settings
    partition = TorchPartition(
        halves.module, structure="softmax", epochs=settings["partition_epochs"]
    )
    rule = PLCP(
        partition,
        settings["n_groups"],
        settings["alpha"],
        calibration="joint",
        assignment="sample",
        random_state=halves.seed,
    )
    with warnings.catch_warnings():  # the number of groups is told
        warnings.simplefilter("ignore", CollapseWarning)
        rule.fit(halves.calibration.inputs, scores)
    return rule.predict(halves.test.inputs), {"groups_learned": rule.n_groups_}


def default_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """What a user gets who chooses nothing."""
    rule = PLCP(alpha=halves.settings["alpha"], random_state=halves.seed)
    return rule.fit(halves.calibration.features, scores).predict(halves.test.features), {}


def oracle_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """One threshold an experiment, told where each row comes from."""
    rule = Mondrian(alpha=halves.settings["alpha"])
    rule.fit(halves.calibration.features, scores, groups=halves.calibration.experiment)
    return rule.predict(halves.test.features, groups=halves.test.experiment), {}


RULES: dict[str, Callable[[Halves, FloatArray], Thresholds]] = {
    SPLIT: split_thresholds,
    CONDITIONAL: conditional_thresholds,
    PUBLISHED: published_thresholds,
    DEFAULT: default_thresholds,
    ORACLE: oracle_thresholds,
}


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

    The paper's score is 0 at the likeliest label, which is thus in every set. Where that label is
    right more often than 1 - alpha, as a classifier taught on the calibration rows tells, sets
    cover as often as it is right; elsewhere 1 - alpha is asked. The test rows themselves say how
    often that is, so a classifier that is too sure cannot raise it.
    """
    calibration, test = halves.calibration, halves.test
    was_right = calibration.logits.argmax(axis=1) == calibration.label
    level = 1 - halves.settings["alpha"]
    if was_right.all() or not was_right.any():
        easy = np.full(len(test.label), was_right.all())
    else:
        classifier = HistGradientBoostingClassifier(random_state=halves.seed)
        classifier.fit(calibration.features, was_right)
        easy = classifier.predict_proba(test.features)[:, 1] > level
    right = test.logits.argmax(axis=1) == test.label
    return np.where(easy, right.astype(float), level)
