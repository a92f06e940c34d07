"""Figure 1: noise that doubles in variance right of zero, and the boundary PLCP is to find."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from plcp.datasets import ScoreTask
from plcp.experiments.by_group import outcome
from plcp.experiments.experiment import Experiment, Settings
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT, as_published
from plcp.experiments.toy.law import side_quantiles
from plcp.experiments.toy.points import draw_points, share_by_x
from plcp.experiments.toy.report import LEAVES, LEFT, ORDERED, RIGHT, TWO_GROUPS, report
from plcp.metrics import msce
from plcp.partitions import CollapseWarning, SoftmaxPartition, TreePartition
from plcp.thresholds import PLCP, SplitConformal

GRID = np.linspace(-1, 1, 20_001)  # where a change of group is looked for


def run(settings: Settings, seed: int, data_dir: Path | None) -> dict[str, Any]:
    """One trial: every rule at the largest size, those of two groups at the smaller ones too."""
    alpha, sizes = settings["alpha"], settings["sizes"]
    points = draw_points(settings, seed)
    calibration, test = points.calibration, points.test
    rules = _rules(alpha, points.rule_state)
    for rule in rules.values():
        rule.fit(calibration.X, calibration.scores)
    q = {name: np.asarray(rule.predict(test.X), dtype=float) for name, rule in rules.items()}
    right = test.X[:, 0] >= 0
    middle = side_quantiles(alpha).mean()
    return {
        "groups": {LEFT: int((~right).sum()), RIGHT: int(right.sum())},
        "methods": {
            name: outcome(
                test.scores <= q[name],
                2 * q[name],
                {LEFT: ~right, RIGHT: right},
                msce=float(msce(test.conditional_coverage(q[name]), alpha)),
                agreement=float(((q[name] > middle) == right).mean()),
            )
            for name in rules
        },
        "about": {
            "by_x": {name: share_by_x(test.X[:, 0], test.scores <= q[name]) for name in rules},
            "thresholds": rules[PUBLISHED].thresholds_.tolist(),
            "changes": {
                name: [
                    *(changes(_refitted(rules[name], calibration, n)) for n in sizes[:-1]),
                    changes(rules[name]),
                ]
                for name in TWO_GROUPS
            },
        },
    }


def _rules(alpha: float, state: int) -> dict[str, Any]:
    # No early stopping: with two groups in one dimension there is nothing to overfit.
    softmax = SoftmaxPartition(early_stopping=False)
    return {
        SPLIT: SplitConformal(alpha),
        PUBLISHED: as_published(softmax, 2, alpha, state),
        DEFAULT: PLCP(alpha=alpha, random_state=state),
        ORDERED: PLCP(n_groups=2, alpha=alpha, random_state=state),
        LEAVES: PLCP(TreePartition(), 2, alpha, random_state=state),
    }


def _refitted(rule: PLCP, calibration: ScoreTask, n: int) -> PLCP:
    """Return the same rule taught by the first n rows."""
    with warnings.catch_warnings():
        # A group that nobody is in has no boundary, which is what the trial then records.
        warnings.simplefilter("ignore", CollapseWarning)
        return clone(rule).fit(calibration.X[:n], calibration.scores[:n])


def changes(rule: PLCP) -> list[float]:
    """Places where the likeliest group changes; with memberships h, where they cross."""
    groups = rule.memberships(GRID[:, None]).argmax(axis=1)
    middles = (GRID[1:] + GRID[:-1]) / 2
    return [round(float(x), 5) for x in middles[np.diff(groups) != 0]]


EXPERIMENTS = (
    Experiment(
        name="toy",
        settings={"alpha": 0.1, "sizes": [500, 5_000, 50_000], "n_test": 50_000},
        quick={"alpha": 0.1, "sizes": [500, 2_000], "n_test": 2_000},
        trials=20,
        run=run,
        report=report,
    ),
)
