"""Sizes that a file tells and compiled code believes are compared with what is there."""

import numpy as np
import pytest
from opened_files import opened, resealed, with_entries
from sklearn.ensemble import RandomForestClassifier

import plcp


@pytest.mark.parametrize("name", ["n_classes_", "n_outputs_"])
def test_a_forest_that_says_it_has_more_classes_than_its_trees(tmp_path, name):
    """It would make room for as many as it says, and fill memory at the first question."""

    def change(entries):
        for each in entries:
            state = each.get("object", [None, {}])[1]
            if "estimators_" in state:
                state[name] = 10**9

    X, labels = np.eye(3)[[0, 1, 2] * 10], [0, 1, 2] * 10
    forest = RandomForestClassifier(2, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match=f"{name} is another than that of a tree"):
        plcp.load(resealed(with_entries(opened(forest), change), tmp_path / "m.plcp"))
