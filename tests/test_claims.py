"""What the library is for: coverage that holds where Split's does not, on fixed seeds."""

import numpy as np
import pytest

from plcp import PLCP, OrderedPartition, SoftmaxPartition, SplitConformal
from plcp.datasets import make_nonlinear, make_synthetic, make_toy
from plcp.metrics import msce

pytestmark = pytest.mark.slow

SEEDS = range(2)


def error(rule, task, test):
    q = rule.fit(task.X, task.scores).predict(test.X)
    return float(msce(test.conditional_coverage(q), rule.alpha))


def relative_error(rule, make, n):
    """MSCE over the seeds relative to Split's."""
    ours = theirs = 0.0
    for seed in SEEDS:
        task, test = make(n, random_state=seed), make(5000, random_state=100 + seed)
        ours += error(rule.set_params(random_state=seed), task, test)
        theirs += error(SplitConformal(rule.alpha), task, test)
    return ours / theirs


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_default_has_less_than_a_fifth_of_the_error_of_split_on_the_papers_task(alpha):
    assert relative_error(PLCP(alpha=alpha), make_synthetic, 5000) < 1 / 5


def test_default_has_less_than_half_of_the_error_of_split_where_noise_bends():
    assert relative_error(PLCP(), make_nonlinear, 4000) < 1 / 2


def test_exact_calibration_keeps_most_of_the_gain():
    assert relative_error(PLCP(calibration="split"), make_synthetic, 8000) < 1 / 2


@pytest.mark.parametrize("partition", [SoftmaxPartition(n_starts=1), OrderedPartition()])
@pytest.mark.parametrize("calibration", ["joint", "split", "cross"])
def test_every_calibration_halves_the_error_on_the_toy(partition, calibration):
    rule = PLCP(partition, n_groups=2, calibration=calibration, within="constant")
    assert relative_error(rule, make_toy, 4000) < 1 / 2


def test_toy_groups_are_the_sign_of_x():
    task = make_toy(8000, random_state=0)
    groups = PLCP(SoftmaxPartition(), n_groups=2, random_state=0).fit(task.X, task.scores)
    away = np.abs(task.X[:, 0]) > 0.25
    right = groups.groups(task.X[away]) == (task.X[away, 0] > 0)
    assert right.all()
