"""Outcomes of tables: intervals, sets and truths in columns of any type."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plcp.evaluation import audit
from plcp.evaluation.outcome import judge_covered, judge_intervals, judge_sets


def test_intervals_hold_their_ends_and_sizes_are_lengths():
    frame = pd.DataFrame(
        {"y": [1.0, 2.0, 3.0, 0.0], "lo": [1.0, 0, 3.1, -np.inf], "hi": [2.0, 2, 4, 9]}
    )
    judged = judge_intervals(frame, "y", "lo", "hi")
    assert judged.covered.tolist() == [True, True, False, True]
    assert judged.size.tolist() == pytest.approx([1.0, 2.0, 0.9, np.inf])
    assert judged.kept.all()
    assert judged.notes == ()


def test_rows_without_outcome_or_set_are_left_out_and_counted():
    frame = pd.DataFrame(
        {
            "y": [1.0, np.nan, 2.0, 2.0, 2.0],
            "lo": [0.0, 0, np.nan, np.nan, 3],
            "hi": [2.0, 2, np.nan, 5, 1],
        }
    )
    judged = judge_intervals(frame, "y", "lo", "hi")
    assert judged.kept.tolist() == [True, False, False, False, True]
    assert judged.covered.tolist() == [True, False]
    assert judged.size.tolist() == [2, 0]
    result = " ".join(judged.notes)
    assert "1 row left out: no value in 'y'" in result
    assert "2 rows left out: no set" in result
    assert "1 row had one end only: write inf or -inf" in result
    assert "1 row with 'lo' above 'hi'" in result


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", "object", "boolean"])
def test_numbers_of_any_type_are_read(dtype):
    frame = pd.DataFrame({"y": [1, 0], "lo": [0, 1], "hi": [1, 1]}).astype(dtype)
    assert judge_intervals(frame, "y", "lo", "hi").covered.tolist() == [True, False]


def test_decimals_and_gaps_are_read():
    frame = pd.DataFrame({"y": [Decimal("1.5"), None], "lo": [1, 1], "hi": [2, 2]})
    assert judge_intervals(frame, "y", "lo", "hi").kept.tolist() == [True, False]


@pytest.mark.parametrize("values", [["a", "b"], pd.to_datetime(["2020-01-01"] * 2)])
def test_what_is_no_number_is_refused(values):
    with pytest.raises(ValueError, match="column 'y' must hold numbers, but holds"):
        judge_intervals(pd.DataFrame({"y": values, "lo": [0, 0], "hi": [1, 1]}), "y", "lo", "hi")


SETS = [["a", "b"], ["b"], [], None]


@pytest.mark.parametrize(
    "written",
    [
        SETS,
        [None if labels is None else np.array(labels, dtype=object) for labels in SETS],
        [None if labels is None else "|".join(labels) for labels in SETS],
        [None if labels is None else json.dumps(labels) for labels in SETS],
    ],
    ids=["lists", "arrays", "bars", "json"],
)
def test_sets_are_read_however_they_are_written(written):
    frame = pd.DataFrame({"y": ["a", "a", "a", "a"], "set": pd.Series(written, dtype=object)})
    judged = judge_sets(frame, "y", "set")
    assert judged.kept.tolist() == [True, True, True, False]
    assert judged.covered.tolist() == [True, False, False]
    assert judged.size.tolist() == [2, 1, 0]
    assert [*judged.notes] == [
        "1 row left out: no set was given for them.",
        "1 row with an empty set, which covers nothing.",
    ]


def test_labels_are_compared_by_their_text():
    frame = pd.DataFrame({"y": [1.0, 2.0], "set": [[1, 3], [1]]})
    assert judge_sets(frame, "y", "set").covered.tolist() == [True, False]
    truths = pd.DataFrame({"y": [True, False], "set": ["[true]", "true|false"]})
    assert judge_sets(truths, "y", "set").covered.tolist() == [True, True]
    twice = pd.DataFrame({"y": ["[a", "b"], "set": ["[a|b", "b|b"]})
    assert judge_sets(twice, "y", "set").size.tolist() == [2, 1]


def test_labels_spelled_otherwise_are_refused_not_called_misses():
    frame = pd.DataFrame({"y": [1, 2], "set": ["1.0|2.0", "2.0"]})
    with pytest.raises(ValueError, match=r"'y' holds \['1', '2'\].*'1.0', '2.0'.*spell"):
        judge_sets(frame, "y", "set")
    nothing = pd.DataFrame({"y": [1, 2], "set": [[], []]})
    assert judge_sets(nothing, "y", "set").covered.tolist() == [False, False]


def test_what_is_no_set_is_refused():
    with pytest.raises(ValueError, match=r"'set' must hold sets.*got 3\.5 at row 1"):
        judge_sets(pd.DataFrame({"y": ["a", "b"], "set": [["a"], 3.5]}), "y", "set")


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None],
        [1, 0, None],
        ["true", "False ", None],
        [1.0, 0.0, np.nan],
        ["1", "0", None],
    ],
)
def test_truth_may_be_written_in_several_ways(values):
    judged = judge_covered(pd.DataFrame({"c": values}), "c")
    assert judged.covered.tolist() == [True, False]
    assert judged.size is None
    assert [*judged.notes] == ["1 row left out: no value in 'c'."]


def test_what_is_neither_true_nor_false_is_refused():
    with pytest.raises(
        ValueError, match=r"column 'c' must hold true or false.*got '0\.5' at row 1"
    ):
        judge_covered(pd.DataFrame({"c": [1, 0.5]}), "c")


def test_sizes_beside_covered():
    frame = pd.DataFrame({"c": [1, 0, 1], "s": [2.0, np.inf, np.nan]})
    judged = judge_covered(frame, "c", "s")
    assert judged.size.tolist() == [2.0, np.inf]
    assert judged.covered.tolist() == [True, False]
    assert audit(frame, covered="c", size="s").summary["size_name"] == "size"
    with pytest.raises(ValueError, match="size must be at least 0"):
        judge_covered(frame.assign(s=-1.0), "c", "s")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_tables_of_every_library_say_the_same(make):
    columns = {
        "y": [1.0, 2.0, 3.0],
        "lo": [0.0, 0.0, 0.0],
        "hi": [2.0, 2.5, 1.0],
        "sex": ["f", "m", "f"],
    }
    options = {"target": "y", "lower": "lo", "upper": "hi", "by": "sex"}
    one, other = (
        audit(table, **options).to_dict() for table in (make(columns), pd.DataFrame(columns))
    )
    assert one == other


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({}, "got no columns: name target, lower and upper, or"),
        ({"target": "y", "lower": "lo"}, "got target, lower: name"),
        ({"target": "y", "lower": "lo", "upper": "hi", "covered": "c"}, "got target, lower, upper"),
        ({"target": "y", "lower": "lo", "upper": "hii"}, "did you mean 'hi'"),
        ({"covered": "c", "by": "yy:3"}, "no column 'yy'.*did you mean 'y'"),
        ({"covered": "c", "exclude": ["loo"]}, "did you mean 'lo'"),
        ({"covered": "tags"}, "column 'tags' must hold true or false, but holds lists"),
        ({"covered": "c", "features": ["tags"]}, "column 'tags' holds lists"),
        ({"covered": "c", "alpha": 1.2}, "alpha must lie in"),
        ({"covered": "c", "confidence": 0}, "confidence must lie in"),
    ],
)
def test_mistakes_are_reported_with_their_remedy(roles, message):
    frame = pd.DataFrame({"y": [1.0], "lo": [0.0], "hi": [2.0], "c": [1], "tags": [["a"]]})
    with pytest.raises(ValueError, match=message):
        audit(frame, **roles)


def test_tables_that_are_none_or_empty_are_refused():
    with pytest.raises(ValueError, match="nothing to audit"):
        audit({"c": [None, None]}, covered="c")
    with pytest.raises(ValueError, match="nothing to audit"):
        audit(pd.DataFrame({"c": []}), covered="c")
    with pytest.raises(ValueError, match="must be a DataFrame, an Arrow table or a dict"):
        audit([1, 0], covered="c")
    twice = pd.DataFrame([[1, 0]], columns=["c", "c"])
    with pytest.raises(ValueError, match="several columns named 'c'"):
        audit(twice, covered="c")


def test_swapped_ends_are_refused_and_crossed_ones_counted():
    table = {"y": [0.0] * 20, "lo": [-1.0] * 20, "hi": [1.0] * 20}
    with pytest.raises(ValueError, match=r"'hi' lies above upper 'lo' in 20 of 20 rows.*swapped"):
        audit(table, target="y", lower="hi", upper="lo")
    empty = {"y": [5.0] * 20, "lo": [1.0] * 20, "hi": [-1.0] * 20}  # of no use either way
    assert (
        audit(empty, target="y", lower="lo", upper="hi").summary["overall"]["audited"]["hits"] == 0
    )
