"""Coverage by group: of one trial what a loop counts, of many trials each in its place."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plcp.experiments.report import group_table, outcome, overall_table, summarise

METHODS = ["one", "two"]
GROUPS = {"a": 3, "b": 7, "c": 5}


def number(trial, method, group, what):
    """Give every cell of every trial a number of its own."""
    return trial / 10 + METHODS.index(method) / 100 + group / 1000 + (what == "size")


def record(trial, alpha=0.2):
    return {
        "settings": {"alpha": alpha},
        "results": {
            "groups": {name: rows + trial for name, rows in GROUPS.items()},
            "methods": {
                method: {
                    "coverage": [number(trial, method, g, "coverage") for g in range(3)],
                    "size": [number(trial, method, g, "size") for g in range(3)],
                    "overall": {"coverage": trial + 0.25, "loss": trial / 8},
                }
                for method in METHODS
            },
        },
    }


@pytest.fixture
def summary():
    return summarise([record(trial) for trial in range(4)])


def test_an_outcome_counts_rows_of_overlapping_groups(rng):
    covered, size = rng.random(50) < 0.7, rng.exponential(size=50)
    groups = {"odd": rng.random(50) < 0.5, "all": np.ones(50, dtype=bool)}
    found = outcome(covered, size, groups, loss=np.float64(0.5))
    for place, rows in enumerate(groups.values()):
        inside = [i for i in range(50) if rows[i]]
        assert_allclose(found["coverage"][place], sum(covered[i] for i in inside) / len(inside))
        assert_allclose(found["size"][place], sum(size[i] for i in inside) / len(inside))
    assert found["overall"]["coverage"] == found["coverage"][1]
    assert found["overall"]["size"] == found["size"][1]
    assert found["overall"]["loss"] == 0.5
    assert json.loads(json.dumps(found)) == found


def test_groups_may_be_lists_of_zeros_and_ones():
    found = outcome([1, 0, 1], [1, 2, 3], {"first": [1, 0, 0], "others": [0, 1, 1]})
    assert found["coverage"] == [1.0, 0.5]
    assert found["size"] == [1.0, 2.5]


def test_a_summary_has_every_number_in_its_place(summary):
    assert summary.groups == list(GROUPS)
    assert summary.methods == METHODS
    for trial in range(4):
        assert_array_equal(summary.counts[trial], [3 + trial, 7 + trial, 5 + trial])
        for method in METHODS:
            assert summary.overall[method]["loss"][trial] == trial / 8
            for g in range(3):
                cell = number(trial, method, g, "coverage"), number(trial, method, g, "size")
                assert summary.coverage[method][trial, g] == cell[0]
                assert summary.size[method][trial, g] == cell[1]


def test_a_gap_is_that_of_the_mean_over_trials_not_the_mean_of_gaps():
    """Two trials that miss to both sides alike have no gap."""
    trials = [record(0), record(0)]
    for one, value in zip(trials, (0.75, 0.85), strict=True):
        one["results"]["methods"]["one"]["coverage"] = [value, 0.5, 1.0]
    assert_allclose(summarise(trials).gap("one"), [0.0, 0.3, 0.2], atol=1e-15)


def test_tables_have_a_row_for_each_group_and_each_method(summary):
    by_group = group_table(summary, "By group", digits=1)
    assert by_group.header == ["", *METHODS]
    assert by_group.rows[2] == ["c", "0.152 (1.2)", "0.162 (1.2)"]
    overall = overall_table(summary, "All", {"loss": "pinball loss", "coverage": "coverage"}, 2)
    assert overall.header == ["", "pinball loss", "coverage"]
    assert overall.rows[1] == ["two", "0.19 (0.00 to 0.38)", "1.75 (0.25 to 3.25)"]


def test_digits_may_be_named_for_some_columns(summary):
    columns = {"loss": "loss", "coverage": "coverage"}
    table = overall_table(summary, "All", columns, {"loss": 5})
    assert table.rows[0] == ["one", "0.18750 (0.00000 to 0.37500)", "1.750 (0.250 to 3.250)"]
