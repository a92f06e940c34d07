"""Columns found by their names, or the nearest ones told."""

import pytest
from hypothesis import given, strategies as st

from plcp._files import find_column, match_columns

NAMES = ["age", "Income", "p_cat", "p_dog", "a,b", "x[1]", "p*"]


@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.data())
def test_every_column_is_found_by_its_own_name(names, data):
    name = data.draw(st.sampled_from(names))
    assert find_column(name, names) == name
    assert match_columns(name, names) == [name]


@pytest.mark.parametrize(
    ("wrong", "right"), [("agee", "age"), ("income", "Income"), (" age", "age"), ("P_CAT", "p_cat")]
)
def test_the_nearest_name_is_told(wrong, right):
    with pytest.raises(ValueError, match=f"no column {wrong!r} in cal.csv: did you mean {right!r}"):
        find_column(wrong, NAMES, "cal.csv")


def test_without_a_near_one_the_first_are_listed():
    names = [f"column{i}" for i in range(100)]
    with pytest.raises(ValueError, match=r"in the table: Its columns are column0, .* and 88 more$"):
        find_column("zzz", names)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("age", ["age"]),
        ("Income, age ,", ["Income", "age"]),
        ("p_*", ["p_cat", "p_dog"]),
        ("p_dog,p_*,p_cat", ["p_dog", "p_cat"]),
        ("a,b", ["a,b"]),
        ("x[1],p*", ["x[1]", "p*"]),
        ("?ge", ["age"]),
        ("p_[cd]*", ["p_cat", "p_dog"]),
        ("*", NAMES),
    ],
)
def test_names_and_wildcards_give_each_column_once(text, found):
    assert match_columns(text, NAMES) == found


@pytest.mark.parametrize("text", ["", " , ", "agee", "age,q_*", "INCOME*"])
def test_each_part_must_name_something(text):
    with pytest.raises(ValueError, match="no column"):
        match_columns(text, NAMES)
