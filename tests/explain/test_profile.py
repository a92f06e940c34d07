"""Differences of a group from the rest, against scipy's exact tests and counts by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from plcp.explain.columns import read_columns
from plcp.explain.profile import _shares, profile


def told(table, inside, **options):
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
    found = told(table, inside)
    assert [(one.feature, one.text) for one in found] == [
        ("age", "median age 58, others 41"),
        ("degree", "degree is yes for 61 %, of others 3 %"),
        ("gap", "gap is missing for 50 %, of others 0 %"),
    ]
    assert [one.effect for one in found] == pytest.approx([1, 0.58, 0.5])


def test_the_effect_of_numbers_is_the_difference_of_all_pairs(rng):
    inside = np.arange(300) < 120
    x = np.round(rng.normal(size=300) + inside, 1)
    (one,) = told(pd.DataFrame({"x": x}), inside)
    assert one.effect == pytest.approx(np.sign(x[inside][:, None] - x[~inside]).mean())


@pytest.mark.parametrize("hits", range(1, 8))
def test_shares_are_tested_exactly(hits):
    inside = np.arange(40) < 8
    has = np.concatenate([np.arange(8) < hits, np.arange(32) < 9])
    counts = [[hits, 8 - hits], [9, 23]]
    sides = [fisher_exact(counts, alternative=side).pvalue for side in ("less", "greater")]
    assert _shares("a", "b", has, inside).p_value == pytest.approx(2 * min(sides))


def test_differences_of_chance_are_rarely_told(rng):
    wrong = 0
    for _ in range(100):
        table = pd.DataFrame({"a": rng.normal(size=100), "b": rng.choice(list("xyz"), 100)})
        wrong += bool(told(table, rng.random(100) < 0.3))
    # one in twenty at worst: 5 expected, and 16 is five standard deviations more
    assert wrong <= 16


def test_the_more_groups_the_more_must_be_proved(rng):
    inside = np.arange(200) < 60
    table = pd.DataFrame({"x": rng.normal(size=200) + 0.5 * inside})
    assert told(table, inside)
    assert not told(table, inside, tries=10**6)


def test_columns_that_were_screened_out_count_as_tests_too(rng):
    inside = np.arange(200) < 60
    table = pd.DataFrame({"x": rng.normal(size=200) + 0.5 * inside})
    assert told(table, inside, tests=2)
    assert not told(table, inside, tests=10**6)


def test_dates_are_told_as_days():
    inside = np.arange(100) < 50
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.where(inside, 9.5, 0.0), unit="D")
    (one,) = told(pd.DataFrame({"joined": days}), inside)
    assert one.text == "median joined 2020-01-10, others 2020-01-01"


@pytest.mark.parametrize("inside", [np.ones(9, dtype=bool), np.zeros(9, dtype=bool)])
def test_all_rows_or_none_have_no_rest_to_differ_from(inside):
    assert told(pd.DataFrame({"x": np.arange(9)}), inside) == ()
