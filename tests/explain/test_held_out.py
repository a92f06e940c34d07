"""Whatever is said of a rule's quality is counted on rows it did not learn from."""

import numpy as np
import pytest

from plcp.explain.rules import find_rule, fit_surrogate

LEARN, JUDGE = np.arange(200), np.arange(200, 400)
X = np.tile(np.arange(200.0), 2)[:, None]


def judged(inside):
    """Return the rule learned for x0 ≥ 100, judged by rows of which other ones are inside."""
    truth = X[:, 0] >= 100
    truth[200:] = inside(X[200:, 0])
    return find_rule(X, truth, LEARN, JUDGE, seed=0, tries=1)


def test_precision_and_recall_are_counts_of_the_rows_that_judge():
    found = judged(lambda x: (x >= 110) | (x < 5))
    assert found.text == "x0 ≥ 100"
    assert found.precision == pytest.approx(90 / 100)
    assert found.recall == pytest.approx(90 / 95)


@pytest.mark.parametrize(
    ("inside", "is_shown"),
    [
        (lambda x: x >= 120, True),  # 80 of the rule's 100 rows
        (lambda x: x >= 121, False),
        (lambda x: (x >= 100) | (x < 25), True),  # 100 of the group's 125 rows
        (lambda x: (x >= 100) | (x < 26), False),
    ],
)
def test_a_rule_is_shown_from_eight_in_ten_on_of_its_rows_and_of_the_group(inside, is_shown):
    found = judged(inside)
    assert bool(found.text) == is_shown
    assert (found.precision is None) == (found.recall is None) == (not is_shown)


def test_kinds_are_judged_by_rows_that_contradict_them():
    places = (X[:, 0] >= 100).astype(int)
    places[200:] = 1 - places[200:]
    found = fit_surrogate(X, places, np.array([0, 1]), LEARN, JUDGE, seed=0)
    assert [kind.rule for kind in found.kinds] == ["x0 ≤ 99", "x0 ≥ 100"]
    assert found.fidelity == 0
    assert found.chance == 0.5
    assert found.order == pytest.approx(-1)
