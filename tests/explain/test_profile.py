"""What sets a group apart, and how groups depend on sensitive columns."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact
from scipy.stats.contingency import association

from plcp.explain.columns import read_columns
from plcp.explain.profile import _shares, compare_sensitive, cramers_v, profile


def differences_of(table, inside, **options):
    columns = read_columns(table, np.zeros(len(table)), min_rows=1)
    return profile(columns, [column.read(table) for column in columns], inside, **options)


def test_medians_and_shares_are_those_of_the_rows():
    inside = np.arange(400) < 100
    table = pd.DataFrame(
        {
            "age": np.where(inside, 58, 41) + np.tile([-1, 0, 0, 1], 100),
            "degree": np.where(np.arange(400) % 100 < np.where(inside, 61, 3), "yes", "no"),
            "gap": np.where(inside & (np.arange(400) % 2 == 0), np.nan, 1.0),
            "same": 1,
        }
    )
    found = differences_of(table, inside)
    assert [(one.feature, one.text) for one in found] == [
        ("age", "median age 58, others 41"),
        ("degree", "degree is yes for 61 %, of others 3 %"),
        ("gap", "gap is missing for 50 %, of others 0 %"),
    ]
    assert [one.effect for one in found] == pytest.approx([1, 0.58, 0.5])


def test_the_effect_of_numbers_is_the_difference_of_all_pairs(rng):
    inside = np.arange(300) < 120
    x = np.round(rng.normal(size=300) + inside, 1)
    (one,) = differences_of(pd.DataFrame({"x": x}), inside)
    assert one.effect == pytest.approx(np.sign(x[inside][:, None] - x[~inside]).mean())


@pytest.mark.parametrize("hits", range(1, 8))
def test_shares_are_tested_exactly(hits):
    inside = np.arange(40) < 8
    has = np.concatenate([np.arange(8) < hits, np.arange(32) < 9])
    counts = [[hits, 8 - hits], [9, 23]]
    sides = [fisher_exact(counts, alternative=side).pvalue for side in ("less", "greater")]
    assert _shares("a", "b", has, inside).p_value == pytest.approx(2 * min(sides))


def test_differences_of_chance_are_rarely_reported(rng):
    wrong = 0
    for _ in range(100):
        table = pd.DataFrame({"a": rng.normal(size=100), "b": rng.choice(list("xyz"), 100)})
        wrong += bool(differences_of(table, rng.random(100) < 0.3))
    # one in twenty at worst: 5 expected, and 16 is five standard deviations more
    assert wrong <= 16


def test_the_more_groups_the_more_must_be_proved(rng):
    inside = np.arange(200) < 60
    table = pd.DataFrame({"x": rng.normal(size=200) + 0.5 * inside})
    assert differences_of(table, inside)
    assert not differences_of(table, inside, tries=10**6)


def test_columns_that_were_screened_out_count_as_tests_too(rng):
    inside = np.arange(200) < 60
    table = pd.DataFrame({"x": rng.normal(size=200) + 0.5 * inside})
    assert differences_of(table, inside, tests=2)
    assert not differences_of(table, inside, tests=10**6)


def test_differences_too_small_to_tell_groups_apart_are_hidden(rng):
    inside = np.arange(40_000) < 20_000
    table = pd.DataFrame(
        {
            "share": rng.random(40_000) < np.where(inside, 0.57, 0.5),
            "shift": rng.normal(size=40_000) + 0.1 * inside,
            "often": rng.random(40_000) < np.where(inside, 0.13, 0.0),
            # equal medians, but a third of the group lies at the low end
            "low": np.where(inside, rng.choice([-9.0, 0.0, 0.0], 40_000), rng.normal(size=40_000)),
        }
    )
    found = differences_of(table, inside)
    assert [one.feature for one in found] == ["low", "often"]
    assert found[0].text.startswith("mean low -")


def test_dates_are_reported_as_days():
    inside = np.arange(100) < 50
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.where(inside, 9.5, 0.0), unit="D")
    (one,) = differences_of(pd.DataFrame({"joined": days}), inside)
    assert one.text == "median joined 2020-01-10, others 2020-01-01"


@pytest.mark.parametrize("inside", [np.ones(9, dtype=bool), np.zeros(9, dtype=bool)])
def test_all_rows_or_none_have_no_rest_to_differ_from(inside):
    assert differences_of(pd.DataFrame({"x": np.arange(9)}), inside) == ()


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


def test_numbers_are_reported_by_fifths_and_gaps_apart(rng):
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
def test_few_values_are_reported_as_they_are(column, names):
    table = pd.DataFrame({"x": np.repeat(column, 50)})
    (one,) = compare_sensitive(table, np.arange(len(table)) % 2, np.array([0, 1]))
    assert sorted(one.values) == names
    assert one.overall == pytest.approx([1 / len(names)] * len(names))
