"""Coverage, bounds, sizes and verdicts of groups, against scipy's own exact intervals."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest

from plcp.evaluation import Described, GroupList, Outcome, summarise
from strategies import alphas, few


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
    told = summarise({"ours": Outcome(covered, size)}, alpha=0.1, learned=groups)
    sizes = [group["cells"]["ours"]["size"] for group in told["learned"]["groups"]]
    assert sizes == [1.5, "inf", None]
    unknown = summarise({"ours": Outcome(covered)}, alpha=0.1, learned=groups)
    assert unknown["overall"]["ours"]["size"] is None
    assert unknown["lengths"] is None


def test_each_method_is_measured_on_the_same_rows_and_groups_on_theirs():
    covered, groups = groups_of([(30, 10), (20, 20)])
    others = ~covered
    part = GroupList(groups.groups, groups.codes[::2], "every other row", np.arange(80)[::2])
    told = summarise({"Split": Outcome(others), "PLCP": Outcome(covered)}, alpha=0.1, learned=part)
    assert told["methods"] == ["Split", "PLCP"]
    for i, group in enumerate(told["learned"]["groups"]):
        rows = part.rows[part.codes == i]
        assert group["cells"]["PLCP"]["hits"] == covered[rows].sum()
        assert group["cells"]["Split"]["hits"] == others[rows].sum()
        assert group["share"] == len(rows) / 40


def test_rows_must_be_there_and_be_the_same():
    with pytest.raises(ValueError, match="no row to measure"):
        summarise({"ours": Outcome(np.zeros(0, dtype=bool))}, alpha=0.1)
    with pytest.raises(ValueError, match="at least"):
        summarise({}, alpha=0.1)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        summarise({"a": Outcome(np.ones(3, bool)), "b": Outcome(np.ones(4, bool))}, alpha=0.1)
