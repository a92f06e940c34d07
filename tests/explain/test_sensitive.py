"""Dependence on named columns, against scipy and counts by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats.contingency import association

from plcp.explain.profile import compare_sensitive, cramers_v


def test_shares_are_those_of_the_rows():
    places = np.repeat([0, 1, 2], 100)
    women = np.array([44, 38, 62])[places]
    sex = np.where(np.arange(300) % 100 < women, "f", "m")
    (one,) = compare_sensitive(pd.DataFrame({"sex": sex}), places, np.array([3, 4, 7]))
    assert dict(zip(one.values, one.overall, strict=True)) == {"sex is f": 0.48, "sex is m": 0.52}
    at = one.values.index("sex is f")
    assert [row[at] for row in one.shares] == [0.44, 0.38, 0.62]
    assert one.text in (
        "sex is f: 62 % of group 7, 48 % of all",
        "sex is m: 38 % of group 7, 52 % of all",
    )


def test_without_dependence_nothing_is_made_of_noise():
    places = np.tile([0, 1], 100)
    (one,) = compare_sensitive(
        pd.DataFrame({"x": np.repeat(["a", "b"], 100)}), places, np.array([0, 1])
    )
    assert one.dependence == 0
    assert one.text == "groups do not depend on x beyond chance"


def test_the_correction_vanishes_with_many_rows(rng):
    counts = rng.integers(1, 50, (4, 3))
    assert cramers_v(counts * 10**6) == pytest.approx(
        association(counts, method="cramer"), abs=1e-6
    )


def test_independent_columns_have_no_bias(rng):
    tables = [rng.multinomial(200, np.ones(30) / 30).reshape(10, 3) for _ in range(200)]
    plain = np.mean([association(table, method="cramer") for table in tables])
    corrected = np.mean([cramers_v(table) for table in tables])
    assert corrected < plain / 2


@pytest.mark.parametrize("counts", [[[5, 7]], [[5], [7]], [[0, 0], [3, 4]]])
def test_one_group_or_one_value_depend_on_nothing(counts):
    assert cramers_v(np.array(counts)) == 0


def test_numbers_are_told_by_fifths_and_gaps_apart(rng):
    x = rng.normal(size=1000)
    x[:100] = np.nan
    (one,) = compare_sensitive(pd.DataFrame({"x": x}), np.arange(1000) % 2, np.array([0, 1]))
    assert len(one.values) == 6
    assert one.values[-1] == "x is missing"
    assert one.overall == pytest.approx([0.18] * 5 + [0.1], abs=0.09)  # a quarter, on each side
    for row in one.shares:
        assert sum(row) == pytest.approx(1)


def test_a_column_of_one_value_is_taken():
    table = pd.DataFrame({"x": ["a"] * 10, "y": [1.0] * 10, "z": [np.nan] * 10})
    found = compare_sensitive(table, np.arange(10) % 2, np.array([0, 1]))
    assert [one.dependence for one in found] == [0, 0, 0]


def test_a_group_without_rows_differs_from_nobody():
    places = np.repeat([0, 2], 100)
    sex = np.where(np.arange(200) % 100 < np.array([45, 0, 60])[places], "f", "m")
    (one,) = compare_sensitive(pd.DataFrame({"sex": sex}), places, np.array([0, 1, 2]))
    assert "group 1" not in one.text


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ([1, 2], ["x is 1", "x is 2"]),
        ([0.5, 3.0, 7.25], ["x is 0.5", "x is 3", "x is 7.25"]),
        ([False, True], ["x is false", "x is true"]),
        (["f", "m"], ["x is f", "x is m"]),
        (["f"], ["x is f"]),
        (pd.to_datetime(["2020-01-01", "2021-05-03"]), ["x is 2020-01-01", "x is 2021-05-03"]),
    ],
)
def test_few_values_are_told_as_they_are(column, names):
    table = pd.DataFrame({"x": np.repeat(column, 50)})
    (one,) = compare_sensitive(table, np.arange(len(table)) % 2, np.array([0, 1]))
    assert sorted(one.values) == names
    assert one.overall == pytest.approx([1 / len(names)] * len(names))
