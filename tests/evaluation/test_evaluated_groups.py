"""Groups by columns of a table, and what is measured in each."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest

from plcp.evaluation import By, Described, GroupList, Outcome, parse_by, summarise
from plcp.evaluation.groups import group_by
from plcp.evaluation.roles import check_by
from strategies import alphas, few

NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
READINGS = {  # what a label says, read back by another hand
    rf"x up to {NUMBER}": lambda x, high: x <= high,
    rf"x {NUMBER} and over": lambda x, low: x >= low,
    rf"x {NUMBER} to {NUMBER}": lambda x, low, high: (low <= x) & (x <= high),
    rf"x under {NUMBER}": lambda x, high: x < high,
    rf"x {NUMBER} to under {NUMBER}": lambda x, low, high: (low <= x) & (x < high),
    rf"x is {NUMBER}": lambda x, value: x == value,
    r"x is missing": lambda x: np.isnan(x),
}


def holds(label, values):
    """Whether a label, read as a sentence, is true of each value."""
    for pattern, law in READINGS.items():
        if found := re.fullmatch(pattern, label):
            return law(values, *map(float, found.groups()))
    raise AssertionError(f"empty can read {label!r}")


def names(frame, by):
    return [group.name for group in group_by(frame, by).groups]


numbers = st.one_of(
    st.lists(st.integers(-50, 50).map(float) | st.just(np.nan), min_size=1, max_size=80),
    st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=1, max_size=80),
)


@few
@given(numbers.filter(lambda values: not np.isnan(values).all()), st.none() | st.integers(2, 9))
def test_a_label_of_numbers_is_true_of_its_rows_and_of_no_others(values, bins):
    column = np.array(values)
    grouped = group_by(pd.DataFrame({"x": column}), By("x", bins))
    for i, group in enumerate(grouped.groups):
        np.testing.assert_array_equal(grouped.codes == i, holds(group.name, column))
    assert len(grouped.groups) <= (bins or 12) + 1
    assert (np.bincount(grouped.codes, minlength=len(grouped.groups)) > 0).all()


def test_bins_hold_about_as_many_rows_and_begin_at_round_numbers(rng):
    frame = pd.DataFrame({"income": rng.lognormal(10, 1, size=20_000)})
    grouped = group_by(frame, By("income", 4))
    counts = np.bincount(grouped.codes)
    assert len(counts) == 4
    assert np.abs(counts - 5000).max() <= 2 * 0.05 * 5000 + 2  # each end moves by a twentieth
    assert all(
        len(digits) <= 5
        for name in names(frame, By("income", 4))
        for digits in re.findall(r"\d+", name)
    )


def test_many_equal_values_do_not_join_all_rows_in_one_bin():
    frame = pd.DataFrame({"x": [0.0] * 90 + list(range(1, 11))})
    assert names(frame, By("x", 3)) == ["x up to 0", "x 1 and over"]
    assert names(pd.DataFrame({"x": [3] * 40}), By("x", 3)) == ["x is 3"]


@pytest.mark.parametrize(("counts", "in_bins"), [((5, 50, 45), [55, 45]), ((45, 50, 5), [45, 55])])
def test_a_bin_ends_on_the_nearer_side_of_a_frequent_value(counts, in_bins):
    grouped = group_by(pd.DataFrame({"x": np.repeat([0, 1, 2], counts)}), By("x", 2))
    assert np.bincount(grouped.codes).tolist() == in_bins


def test_few_values_are_groups_each_and_many_are_cut():
    few_values, many = pd.DataFrame({"x": np.arange(12)}), pd.DataFrame({"x": np.arange(13)})
    assert names(few_values, By("x")) == [f"x is {i}" for i in range(12)]
    assert len(names(many, By("x"))) == 5
    assert "13 values" in group_by(many, By("x")).about


def test_dates_are_reported_as_dates():
    days = pd.date_range("2019-01-01", "2020-12-31")
    frame = pd.DataFrame({"joined": [*days, pd.NaT]})
    result = names(frame, By("joined", 2))
    cut = re.fullmatch(r"joined before (\d{4}-\d\d-\d\d)", result[0])[1]
    assert result[1:] == [f"joined from {cut} on", "joined is missing"]
    codes = group_by(frame, By("joined", 2)).codes
    np.testing.assert_array_equal(codes[:-1], (days >= cut).astype(int))
    assert names(frame.head(1), By("joined")) == ["joined is 2019-01-01"]


def test_durations_are_reported_in_days():
    frame = pd.DataFrame({"wait": pd.to_timedelta([1, 2, 30], "D")})
    assert names(frame, By("wait")) == ["wait is 1 day", "wait is 2 days", "wait is 30 days"]


def test_categories_have_their_own_order_and_names():
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(["M", "S", None], ["S", "M", "L"], ordered=True),
            "flag": [True, False, True],
            "code": pd.Categorical([10, 9, 9]),
            "text": ["missing", "", None],
            "mixed": pd.Series([1, "1", 2.5], dtype=object),
            "nothing": [np.nan] * 3,
            "unsure": pd.Series([True, None, False], dtype=object),
        }
    )
    assert names(frame, By("size")) == ["size is S", "size is M", "size is missing"]
    assert names(frame, By("flag")) == ["flag is false", "flag is true"]
    assert names(frame, By("code")) == ["code is 9", "code is 10"]
    assert names(frame, By("text")) == ['text is ""', 'text is "missing"', "text is missing"]
    assert names(frame, By("mixed")) == ["mixed is 1", "mixed is 2.5"]
    assert group_by(frame, By("mixed")).codes.tolist() == [0, 0, 1]
    assert names(frame, By("unsure")) == ["unsure is false", "unsure is true", "unsure is missing"]
    assert names(frame, By("nothing", 3)) == ["nothing is missing"]
    assert group_by(frame, By("nothing")).codes.tolist() == [0, 0, 0]
    assert group_by(frame, By("size")).codes.tolist() == [1, 0, 2]


def test_rare_categories_are_taken_together():
    often = [f"s{i:02d}" for i in range(30) for _ in range(2)]
    frame = pd.DataFrame({"state": [*often, "a", "z", None]})
    grouped = group_by(frame, By("state"))
    result = [group.name for group in grouped.groups]
    assert result == [
        *(f"state is s{i:02d}" for i in range(30)),
        "state: others",
        "state is missing",
    ]
    assert [result[code] for code in grouped.codes[-3:]] == ["state: others"] * 2 + [
        "state is missing"
    ]
    assert "30 most frequent of 32 values" in grouped.about


def test_what_to_group_by_is_read_as_people_write_it():
    assert parse_by("sex, race,age:5,") == (By("sex"), By("race"), By("age", 5))
    assert parse_by("a:b") == (By("a:b"),)
    assert parse_by("") == ()
    assert check_by([By("a"), "b:3"]) == (By("a"), By("b", 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [("age:1", "bins of 'age' must be a whole number, at least 2, got 1"), ("a,a:3", "'a'.*twice")],
)
def test_what_cannot_be_meant_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_by(text)


def test_a_column_that_is_not_there_and_bins_of_categories_are_refused():
    frame = pd.DataFrame({"income": [1.0], "sex": ["f"]})
    with pytest.raises(ValueError, match="did you mean 'income'"):
        group_by(frame, By("incme"))
    for nested in (["a"], {"a": 1}, np.arange(2)):
        with pytest.raises(ValueError, match="'sex' cannot be made, as it holds lists"):
            group_by(pd.DataFrame({"sex": pd.Series([None, nested], dtype=object)}), By("sex"))
    with pytest.raises(ValueError, match="'sex' holds categories: leave out :5"):
        group_by(frame, By("sex", 5))


def groups_of(counts):
    """Rows of groups with given hits and misses, and the groups."""
    covered = np.concatenate([np.repeat([True, False], pair) for pair in counts])
    codes = np.repeat(np.arange(len(counts)), [sum(pair) for pair in counts])
    named = [Described(f"group {i}") for i in range(len(counts))]
    return covered.astype(bool), GroupList(named, codes, "made up")


@few
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=5).filter(
        lambda counts: any(map(sum, counts))
    ),
    alphas,
    st.sampled_from([0.5, 0.9, 0.95]),
)
def test_bounds_are_exact_for_each_and_for_all_at_once(counts, alpha, confidence):
    covered, groups = groups_of(counts)
    summary = summarise(
        {"ours": Outcome(covered)}, alpha=alpha, confidence=confidence, learned=groups
    )
    together = 1 - (1 - confidence) / sum(sum(pair) > 0 for pair in counts)
    for (hits, misses), group in zip(counts, summary["learned"]["groups"], strict=True):
        cell, n = group["cells"]["ours"], hits + misses
        assert (cell["n"], cell["hits"], group["n"]) == (n, hits, n)
        assert group["share"] == n / len(covered)
        if n == 0:
            assert cell["coverage"] is None
            assert (cell["low"], cell["high"], cell["verdict"]) == (0, 1, "undecided")
            continue
        assert cell["coverage"] == hits / n
        each, both = (binomtest(hits, n).proportion_ci(c, "exact") for c in (confidence, together))
        assert (cell["low"], cell["high"]) == pytest.approx(tuple(each))
        assert (cell["low_all"], cell["high_all"]) == pytest.approx(tuple(both))
        twice_the_misses = max(2 * summary["target"] - 1, 0)
        is_told = cell["low_all"] >= twice_the_misses and cell["low_all"] > 0
        expected = "on target" if is_told else "undecided"
        if cell["low_all"] >= summary["target"]:
            expected = "above"
        elif cell["high_all"] < summary["target"]:
            expected = "below"
        assert cell["verdict"] == expected


def test_all_rows_have_bounds_of_their_own():
    covered, groups = groups_of([(90, 10), (40, 2)])
    whole = summarise({"ours": Outcome(covered)}, alpha=0.1, learned=groups)["overall"]["ours"]
    exact = binomtest(130, 142).proportion_ci(0.95, "exact")
    assert (whole["low_all"], whole["high_all"]) == pytest.approx(tuple(exact))
    assert (whole["low"], whole["high"]) == (whole["low_all"], whole["high_all"])


def test_sizes_are_means_and_infinite_ones_are_said_as_text():
    covered, groups = groups_of([(2, 0), (1, 1), (0, 0)])
    size = np.array([1.0, 2.0, 4.0, np.inf])
    result = summarise({"ours": Outcome(covered, size)}, alpha=0.1, learned=groups)
    sizes = [group["cells"]["ours"]["size"] for group in result["learned"]["groups"]]
    assert sizes == [1.5, "inf", None]
    unknown = summarise({"ours": Outcome(covered)}, alpha=0.1, learned=groups)
    assert unknown["overall"]["ours"]["size"] is None
    assert unknown["lengths"] is None


def test_each_method_is_measured_on_the_same_rows_and_groups_on_theirs():
    covered, groups = groups_of([(30, 10), (20, 20)])
    others = ~covered
    part = GroupList(groups.groups, groups.codes[::2], "every other row", np.arange(80)[::2])
    result = summarise(
        {"Split": Outcome(others), "PLCP": Outcome(covered)}, alpha=0.1, learned=part
    )
    assert result["methods"] == ["Split", "PLCP"]
    for i, group in enumerate(result["learned"]["groups"]):
        rows = part.rows[part.codes == i]
        assert group["cells"]["PLCP"]["hits"] == covered[rows].sum()
        assert group["cells"]["Split"]["hits"] == others[rows].sum()
        assert group["share"] == len(rows) / 40
