"""Whatever is said of a rule's quality is counted on rows it did not learn from."""

import numpy as np
import pytest

from plcp.explain.naming import find_rule
from plcp.explain.surrogate import fit_surrogate

LEARN, JUDGE = np.arange(200), np.arange(200, 400)
X = np.tile(np.arange(200.0), 2)[:, None]


def test_precision_and_recall_are_counts_of_the_rows_that_judge():
    inside = X[:, 0] >= 100
    inside[200:] = (X[200:, 0] >= 140) | (X[200:, 0] < 20)
    found = find_rule(X, inside, LEARN, JUDGE, seed=0, tries=1)
    assert found.text == "x0 ≥ 100"
    assert found.precision == pytest.approx(60 / 100)
    assert found.recall == pytest.approx(60 / 80)


def test_kinds_are_judged_by_rows_that_contradict_them():
    places = (X[:, 0] >= 100).astype(int)
    places[200:] = 1 - places[200:]
    found = fit_surrogate(X, places, np.array([0, 1]), LEARN, JUDGE, seed=0)
    assert [kind.rule for kind in found.kinds] == ["x0 ≤ 99", "x0 ≥ 100"]
    assert found.fidelity == 0
    assert found.chance == 0.5
    assert found.order == pytest.approx(-1)
