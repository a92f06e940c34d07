"""How the number of groups was chosen, as the fitted rule itself tells it."""

from types import SimpleNamespace

import pytest

from plcp import PLCP, SoftmaxPartition, SplitConformal, TreePartition
from plcp.datasets import make_toy
from plcp.evaluation import choice_of


@pytest.fixture(scope="module")
def task():
    return make_toy(1500, random_state=0)


def test_a_search_is_told_as_its_curve(task):
    rule = PLCP(TreePartition(), calibration="joint", random_state=0).fit(task.X, task.scores)
    choice = choice_of(rule)
    tried = {step["n_groups"]: step["held_out"] for step in rule.history_ if "held_out" in step}
    assert {point["n_groups"]: point["loss"] for point in choice["points"]} == tried
    numbers = [point["n_groups"] for point in choice["points"]]
    assert len(numbers) > 1
    assert numbers == sorted(numbers)
    assert choice["chosen"] == rule.n_groups_


def test_a_curve_rises_by_the_number_of_groups_not_by_loss():
    tried = [{"n_groups": m, "held_out": loss} for m, loss in ((4, 0.2), (1, 0.3), (2, 0.1))]
    history = [*tried, {"held_out": 1.0}, {"loss": 0.5}]
    rule = SimpleNamespace(n_groups="auto", n_groups_=2, history_=history)
    points = choice_of(rule)["points"]
    assert [(point["n_groups"], point["loss"]) for point in points] == [
        (1, 0.3),
        (2, 0.1),
        (4, 0.2),
    ]


def test_a_number_that_was_asked_for_or_follows_from_the_rows_has_no_curve(task):
    asked = PLCP(SoftmaxPartition(), n_groups=2, calibration="joint", random_state=0)
    choice = choice_of(asked.fit(task.X, task.scores))
    assert choice["points"] == []
    assert choice["about"] == "Groups asked for: 2."
    default = choice_of(PLCP(random_state=0, cv=2).fit(task.X, task.scores))
    assert default["points"] == []
    assert "One group for 200 calibration rows" in default["about"]


def test_a_rule_without_learned_groups_chose_nothing(task):
    assert choice_of(SplitConformal().fit(task.X, task.scores)) is None
