"""The rules that RxRx1's protocol compares; none but the oracle is told a row's experiment."""

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT, as_published
from plcp.experiments.shifted.held_out import Halves
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import TorchPartition
from plcp.quantiles import FloatArray
from plcp.shifts import GroupProbabilities
from plcp.thresholds import PLCP, ConditionalCalibration, Mondrian, SplitConformal
from plcp.validation import InfiniteThresholdWarning

CONDITIONAL, ORACLE = "Conditional Calibration", "oracle"
PENALTIES = [0.001, 0.01, 0.1, 1.0]  # inverse strengths that cross-validation chooses from

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
    rule = as_published(partition, settings["n_groups"], settings["alpha"], halves.seed)
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
