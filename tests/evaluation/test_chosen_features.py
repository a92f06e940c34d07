"""Columns that learned groups may be told by."""

import pandas as pd
import pytest

from plcp.evaluation import choose_features

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


def test_what_names_rows_or_never_changes_is_not_searched_unless_named():
    n = 150
    table = pd.DataFrame(
        {
            "id": range(n),
            "key": [27_000_000_000_000_000 + i for i in range(n)],
            "gap": [None, *range(1, n)],
            "same": 1.5,
            "word": ["x"] * n,
            "amount": [i + 0.5 for i in range(n)],
            "day": pd.date_range("2020-01-01", periods=n),
            "maybe": [None, *["x"] * (n - 1)],
        }
    )
    chosen, notes = choose_features(table, None, [])
    assert list(chosen.columns) == ["amount", "day", "maybe"]
    unsearched = ("id", "key", "gap", "same", "word")
    assert [note.split("'")[1] for note in notes[:-1]] == [*unsearched]
    assert "name all features" in notes[-1]
    assert list(choose_features(table, ["id", "same"], [])[0].columns) == ["id", "same"]


@pytest.mark.parametrize("prefix", ["", "plcp_"])
@pytest.mark.parametrize(
    "made",
    [
        ["lower", "upper", "group", "threshold"],
        ["set", "threshold"],
        ["group", "threshold"],
        ["lower", "upper", "threshold", "lower_0.05", "upper_0.05", "threshold_0.05"],
    ],
)
def test_columns_that_apply_made_are_not_searched(prefix, made):
    table = TABLE.assign(**{prefix + name: [0.5, 1.5] for name in made})
    chosen, notes = choose_features(table, None, ["y"])
    assert list(chosen.columns) == ["age", "sex"]
    assert len(notes) == len(made) + 1


def test_a_group_alone_is_the_users_own():
    table = TABLE.assign(group=["a", "b"])
    assert "group" in choose_features(table, None, [])[0].columns
