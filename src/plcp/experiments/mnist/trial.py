"""One trial: a predictor of sharp digits, and all rules on blurred ones."""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from plcp.datasets import fetch_blurred_mnist, mnist_files
from plcp.experiments.by_group import outcome
from plcp.experiments.dependence import dependence
from plcp.experiments.experiment import Experiment, Settings
from plcp.experiments.mnist.images import one_of_each, pack
from plcp.experiments.mnist.report import report
from plcp.experiments.mnist.rules import Images, Method, methods
from plcp.experiments.mnist.settings import PAPERS, QUICK
from plcp.experiments.networks.digits import read_digits
from plcp.experiments.networks.training import one_thread
from plcp.partitions import CollapseWarning
from plcp.quantiles import FloatArray
from plcp.scores import LabelProbability
from plcp.validation import InfiniteThresholdWarning


def run(settings: Settings, seed: int, data_dir: Path | None) -> dict[str, Any]:
    """One trial: another division and blur of the images, another predictor, other networks."""
    n_calibration = settings["n_calibration"]
    # torch and numpy make the same numbers of the same seed
    states = [int(state) for state in np.random.SeedSequence(seed).generate_state(3)]
    data_state, predictor_state, rule_state = states
    digits = fetch_blurred_mnist(
        data_dir,
        settings["sigmas"],
        settings["n_train"],
        n_calibration + settings["n_test"],
        random_state=data_state,
    )
    with one_thread(predictor_state):
        logits = read_digits(
            digits.X_train,
            digits.y_train,
            digits.X,
            settings["channels"],
            settings["predictor_epochs"],
        )
        images = Images(digits.X, digits.y, digits.level, logits)
        calibration, test = images[:n_calibration], images[n_calibration:]
        groups = {f"σ = {s:g}": test.level == k for k, s in enumerate(settings["sigmas"])}
        judged, shares = _judge(settings, rule_state, calibration, test, groups, never_empty=False)
        filled, _ = _judge(settings, rule_state, calibration, test, groups, never_empty=True)
    right = test.logits.argmax(axis=1) == test.y
    return {
        "groups": {name: int(rows.sum()) for name, rows in groups.items()},
        "methods": judged,
        "never_empty": filled,
        "about": {
            "accuracy": [float(right[rows].mean()) for rows in groups.values()],
            "shares": shares,
            "digits": pack(one_of_each(digits.X_train, digits.y_train)),
        },
    }


def _judge(
    settings: Settings,
    state: int,
    calibration: Images,
    test: Images,
    groups: dict[str, Any],
    never_empty: bool,
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """What comes of each method, and how the calibration rows fall into the groups it has."""
    score = LabelProbability(never_empty=never_empty)
    scores = score(calibration.probabilities, calibration.y)
    judged, shares = {}, {}
    for name, method in methods(settings, state).items():
        start = time.perf_counter()
        thresholds = _thresholds(method, calibration, scores, test)
        seconds = time.perf_counter() - start
        sets = score.invert(test.probabilities, thresholds)
        covered = sets.contains(test.y)
        judged[name] = outcome(
            covered,
            sets.size,
            groups,
            **dependence(covered, sets.size),
            empty=sets.is_empty.mean(),
            infinite=np.isinf(thresholds).mean(),
            seconds=seconds,
        )
        if hasattr(method.rule, "group_sizes_"):
            sizes = method.rule.group_sizes_
            shares[name] = (sizes / sizes.sum()).tolist()
    return judged, shares


def _thresholds(
    method: Method, calibration: Images, scores: FloatArray, test: Images
) -> FloatArray:
    """Thresholds of the test images; collapse and infinite thresholds are counted, not warned of.

    No score is negative, so no threshold is: quantile regression plus a constant may be.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        method.rule.fit(method.sees(calibration), scores)
        return np.maximum(method.rule.predict(method.sees(test)), 0.0)


EXPERIMENTS = (
    Experiment(
        name="mnist",
        settings=PAPERS,
        quick=QUICK,
        trials=5,
        run=run,
        report=report,
        files=mnist_files,
    ),
)
