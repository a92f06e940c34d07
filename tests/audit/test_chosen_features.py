"""Columns that learned groups may be told by."""

import pandas as pd
import pytest

from plcp.audit import choose_features

TABLE = pd.DataFrame({"age": [1, 2], "sex": ["f", "m"], "y": [0.5, 1.5]})


def test_all_but_what_is_left_out():
    chosen, _ = choose_features(TABLE, None, ["y"])
    assert list(chosen.columns) == ["age", "sex"]


def test_those_that_are_named():
    chosen, _ = choose_features(TABLE, ["sex"], ["y"])
    assert list(chosen.columns) == ["sex"]


def test_one_that_is_not_there_is_refused_by_name():
    with pytest.raises(ValueError, match="height"):
        choose_features(TABLE, ["height"], [])
