"""One trial: another draw of the data, all rules on the same scores."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from plcp.datasets import ScoreTask, make_synthetic
from plcp.experiments.by_group import Floats, outcome
from plcp.experiments.experiment import Experiment, Settings
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT, as_published
from plcp.experiments.synthetic.report import BATCH_GCP, N_TOLD, report
from plcp.metrics import msce
from plcp.partitions import SoftmaxPartition
from plcp.thresholds import PLCP, BatchGCP, SplitConformal, ThresholdRule

N_BINARY = 10


def run(settings: Settings, seed: int, data_dir: Path | None) -> dict[str, Any]:
    """One trial: its own θ, linear regression, and all rules on the same scores."""
    states = [int(state) for state in np.random.SeedSequence(seed).generate_state(5)]
    coef_state, train_state, calibration_state, test_state, rule_state = states
    model = _fitted_model(settings, coef_state, train_state)
    calibration = draw(settings, "n_calibration", coef_state, calibration_state)
    scores = np.abs(calibration.y - model.predict(calibration.X))
    test = draw(settings, "n_test", coef_state, test_state)
    prediction = model.predict(test.X)
    groups = dict(zip(group_names(), members(test.X).T, strict=True))
    return {
        "groups": {name: int(rows.sum()) for name, rows in groups.items()},
        "methods": {
            name: _judged(rule, calibration.X, scores, test, prediction, groups)
            for name, rule in _rules(settings, rule_state).items()
        },
        "about": {"r2": float(model.score(test.X, test.y))},
    }


def draw(settings: Settings, part: str, coef_state: int, state: int) -> ScoreTask:
    """Draw one part of the data: ``n_train``, ``n_calibration`` or ``n_test`` rows."""
    return make_synthetic(settings[part], state, coef_state, noise=settings["noise"])


def _fitted_model(settings: Settings, coef_state: int, state: int) -> LinearRegression:
    """Linear regression; the training rows, half the memory of a trial, are gone afterwards."""
    train = draw(settings, "n_train", coef_state, state)
    return LinearRegression(copy_X=False).fit(train.X, train.y)


def group_names() -> list[str]:
    """Names of the 20 groups, as the paper numbers them."""
    return [str(number) for number in range(1, 2 * N_BINARY + 1)]


def members(X: Floats) -> NDArray[np.bool_]:
    """Rows of the 20 groups, a column each: X_i = 0 is group 2i - 1, X_i = 1 is group 2i.

    Examples
    --------
    >>> members(np.array([[0.0, 1, 1, 1, 1, 1, 1, 1, 1, 1]]))[0, :4].tolist()
    [True, False, False, True]
    """
    ones = X[:, :N_BINARY] == 1
    return np.stack([~ones, ones], axis=2).reshape(len(X), 2 * N_BINARY)


def _rules(settings: Settings, state: int) -> dict[str, ThresholdRule]:
    alpha = settings["alpha"]
    return {
        SPLIT: SplitConformal(alpha),
        BATCH_GCP: BatchGCP(list(range(N_TOLD // 2)), alpha),  # both values of nine columns
        PUBLISHED: as_published(SoftmaxPartition(), settings["n_groups"], alpha, state),
        DEFAULT: PLCP(alpha=alpha, random_state=state),
    }


def _judged(
    rule: ThresholdRule,
    X: Floats,
    scores: Floats,
    test: ScoreTask,
    prediction: Floats,
    groups: dict[str, NDArray[np.bool_]],
) -> dict[str, Any]:
    """Fit a rule, and measure its intervals on the test rows."""
    start = time.perf_counter()
    threshold = np.asarray(rule.fit(X, scores).predict(test.X), dtype=np.float64)
    seconds = time.perf_counter() - start
    inside = test.conditional_coverage(threshold, prediction)
    draws = isinstance(rule, PLCP) and rule.assignment == "sample"
    inside_over_draws = coverage_over_draws(rule, test, prediction) if draws else inside
    return outcome(
        np.abs(test.y - prediction) <= threshold,
        2 * threshold,
        groups,
        msce=float(msce(inside, rule.alpha)),
        msce_over_draws=float(msce(inside_over_draws, rule.alpha)),
        seconds=round(seconds, 3),
    )


def coverage_over_draws(rule: PLCP, test: ScoreTask, prediction: Floats) -> Floats:
    """P(covered | x) = Σ h_i(x) P(S ≤ q_i | x), the group of x not yet drawn."""
    memberships = rule.memberships(test.X)
    inside = np.zeros(len(test.X))
    for group, threshold in enumerate(rule.thresholds_):
        inside += memberships[:, group] * test.conditional_coverage(threshold, prediction)
    return np.clip(inside, 0.0, 1.0)  # memberships add up to one but for rounding


def _experiment(name: str, noise: str, trials: int) -> Experiment:
    common = {"alpha": 0.1, "noise": noise}
    return Experiment(
        name=name,
        settings=common
        | {"n_train": 150_000, "n_calibration": 50_000, "n_test": 50_000, "n_groups": 25},
        quick=common | {"n_train": 2_000, "n_calibration": 600, "n_test": 2_000, "n_groups": 3},
        trials=trials,
        run=run,
        report=report,
    )


EXPERIMENTS = (
    _experiment("synthetic", "variance", trials=100),
    _experiment("synthetic-deviation", "deviation", trials=20),
)
