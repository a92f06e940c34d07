"""History and choice of the number of groups: what was recorded is what is drawn."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from plcp import (
    PLCP,
    ClassifierPartition,
    ConformalRegressor,
    InfiniteThresholdWarning,
    LinearQuantile,
    OrderedPartition,
    SignedResidual,
    SoftmaxPartition,
    SplitConformal,
    TreePartition,
)
from plcp.datasets import make_toy
from plcp.plotting import HistoryDisplay, SelectionDisplay

TASK = make_toy(600, random_state=0)
SOFT = SoftmaxPartition(max_rounds=5)


def fit(rule):
    return rule.fit(TASK.X, TASK.scores)


def test_the_steps_of_a_descent():
    rule = fit(PLCP(SOFT, n_groups=2, calibration="joint", random_state=0))
    display = HistoryDisplay.from_estimator(rule)
    for key, label in (("held_out", "on rows held out"), ("objective", "on the rows learned from")):
        losses = [step[key] for step in rule.history_]
        assert_array_equal(display.lines_[label].get_ydata(), losses)
        assert_array_equal(display.lines_[label].get_xdata(), np.arange(len(losses)) + 1)
    assert display.points_ is None


@pytest.mark.parametrize("partition", [SOFT, ClassifierPartition()])
def test_each_fold_has_a_line(partition):
    rule = fit(PLCP(partition, n_groups=2, cv=2, calibration="cross", random_state=0))
    display = HistoryDisplay.from_estimator(rule)
    key = "held_out" if partition is SOFT else "out_of_fold"
    for model in range(2):
        losses = [step[key] for step in rule.history_ if step["model"] == model]
        (line,) = [
            line
            for label, line in display.lines_.items()
            if label.endswith(f"model {model}") and "learned" not in label
        ]
        assert_array_equal(line.get_ydata(), losses)
    colors = {label[-1]: line.get_color() for label, line in display.lines_.items()}
    assert colors["0"] != colors["1"]


def test_members_of_a_mixed_index():
    rule = fit(PLCP(n_groups=2, cv=2, calibration="cross", random_state=0))
    display = HistoryDisplay.from_estimator(rule)
    losses = [step["out_of_fold"] for step in rule.history_]
    assert_array_equal(display.points_.get_xdata(), losses)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [f"{step['member']}, weight {step['weight']:.2f}" for step in rule.history_]


def test_epochs_of_a_network():
    steps = [{"epoch": i, "loss": 1 / i, "held_out": 2 / i} for i in (1, 2, 3)]
    display = HistoryDisplay.from_predictions(steps)
    assert_array_equal(display.curves["on the rows learned from"], [1, 1 / 2, 1 / 3])
    assert_array_equal(display.curves["on rows held out"], [2, 1, 2 / 3])


@pytest.mark.parametrize("partition", [SOFT, OrderedPartition(LinearQuantile())])
def test_the_curve_is_what_was_tried_in_order(partition):
    rule = fit(PLCP(partition, within="constant", calibration="joint", random_state=0))
    display = SelectionDisplay.from_estimator(rule)
    tried = {step["n_groups"]: step["held_out"] for step in rule.history_ if "n_groups" in step}
    assert_array_equal(display.line_.get_xdata(), sorted(tried))
    assert_array_equal(display.line_.get_ydata(), [tried[m] for m in sorted(tried)])
    assert display.chosen == rule.partition_.n_groups
    assert_array_equal(display.chosen_.get_data(), [[display.chosen], [min(tried.values())]])


def test_steps_of_the_choice_are_no_steps_of_the_descent():
    rule = fit(PLCP(SOFT, calibration="joint", random_state=0))
    steps = [step for step in rule.history_ if "n_groups" not in step]
    display = HistoryDisplay.from_estimator(rule)
    assert len(steps) < len(rule.history_)
    assert all(len(losses) == len(steps) for losses in display.curves.values())


def test_a_conformal_estimator_shows_its_rule(models):
    inner = HistoryDisplay.from_estimator(models["PLCP"].tail_rules_[0])
    assert HistoryDisplay.from_estimator(models["PLCP"]).members == inner.members


def few_points():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        return PLCP(within="constant").fit(TASK.X[:5], TASK.scores[:5])


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: fit(PLCP(calibration="cross")), "one group for 200 rows, at most 20"),
        (lambda: fit(PLCP(calibration="cross", n_groups=3)), "n_groups=3 was given"),
        (few_points, "too few calibration points"),
    ],
)
def test_no_curve_says_how_the_number_came_about(make, why):
    with pytest.raises(ValueError, match=rf"{why}.*PLCP\(n_groups='auto', within='constant'\)"):
        SelectionDisplay.from_estimator(make())


@pytest.mark.parametrize("display", [HistoryDisplay, SelectionDisplay])
def test_nothing_to_show_is_said(display):
    with pytest.raises(ValueError, match="SplitConformal keeps no history"):
        display.from_estimator(fit(SplitConformal()))
    with pytest.raises(ValueError, match="history holds no"):
        display.from_predictions([])
    with pytest.raises(NotFittedError):
        display.from_estimator(PLCP())


def test_trees_leave_no_history():
    rule = fit(PLCP(TreePartition(), n_groups=2, cv=2, calibration="cross", random_state=0))
    with pytest.raises(ValueError, match="left none"):
        HistoryDisplay.from_estimator(rule)


def test_two_tails_have_two_histories(people):
    X, y = people[0][["age"]], people[1]
    rule = PLCP(n_groups=2, cv=2, calibration="cross", random_state=0)
    line = FrozenEstimator(LinearRegression().fit(X, y))
    model = ConformalRegressor(line, SignedResidual(), rule).fit(X, y)
    with pytest.raises(ValueError, match=r"tail_rules_\[0\]"):
        HistoryDisplay.from_estimator(model)
    HistoryDisplay.from_estimator(model.tail_rules_[1])
