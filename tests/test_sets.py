"""Prediction sets: membership, size, clipping, and the same content in every format."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from plcp.sets import Intervals, LabelSets

ends = st.integers(-8, 8).map(float) | st.sampled_from([np.inf, -np.inf])
rows = st.lists(st.tuples(ends, ends, st.integers(-9, 9).map(float)), min_size=1, max_size=12)


def intervals_and_labels(drawn):
    lower, upper, y = np.array(drawn).T
    return Intervals(lower, upper), lower, upper, y


@settings(max_examples=60)
@given(rows)
def test_an_interval_holds_what_lies_between_its_ends(drawn):
    intervals, lower, upper, y = intervals_and_labels(drawn)
    np.testing.assert_array_equal(intervals.contains(y), (lower <= y) & (y <= upper))


@settings(max_examples=60)
@given(rows)
def test_empty_intervals_have_no_size_and_no_ends(drawn):
    intervals, lower, upper, _ = intervals_and_labels(drawn)
    empty = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
    np.testing.assert_array_equal(intervals.is_empty, empty)
    assert np.isnan(intervals.to_numpy()[empty]).all()
    assert (intervals.size[empty] == 0).all()
    np.testing.assert_array_equal(intervals.size[~empty], upper[~empty] - lower[~empty])


@settings(max_examples=60)
@given(rows, st.integers(-8, 0), st.integers(0, 8))
def test_clip_is_the_intersection(drawn, low, high):
    intervals, *_, y = intervals_and_labels(drawn)
    inside = (low <= y) & (y <= high)
    np.testing.assert_array_equal(
        intervals.clip(low, high).contains(y), intervals.contains(y) & inside
    )
    np.testing.assert_array_equal(
        intervals.clip(low).contains(y), intervals.contains(y) & (low <= y)
    )
    np.testing.assert_array_equal(intervals.clip().to_numpy(), intervals.to_numpy())


def test_empty_intervals_can_be_rebuilt_from_their_ends():
    intervals = Intervals([0.0, 3.0], [1.0, 2.0])
    again = Intervals(*intervals.to_numpy().T)
    np.testing.assert_array_equal(again.to_numpy(), intervals.to_numpy())


@pytest.mark.parametrize(
    "rows", [slice(1, None), np.array([False, True, True]), np.array([1, 2]), [1, 2]]
)
def test_rows_of_intervals_and_label_sets(rows):
    intervals = Intervals([0.0, 1.0, 3.0], [1.0, 2.0, 2.0])
    np.testing.assert_array_equal(intervals[rows].to_numpy(), intervals.to_numpy()[1:])
    sets = LabelSets(np.eye(3, dtype=bool), classes=["a", "b", "c"])
    np.testing.assert_array_equal(sets[rows].to_numpy(), np.eye(3, dtype=bool)[1:])
    assert sets[rows].to_lists() == [["b"], ["c"]]


def test_one_row_is_still_a_set():
    assert len(Intervals([0.0, 1.0], [1.0, 2.0])[1]) == 1
    assert LabelSets(np.eye(2, dtype=bool))[-1].to_lists() == [[1]]


def test_iteration_and_numpy_see_the_rows():
    intervals = Intervals([0.0, 1.0], [1.0, 2.0])
    assert [row.upper[0] for row in intervals] == [1.0, 2.0]
    np.testing.assert_array_equal(np.asarray(intervals), intervals.to_numpy())
    sets = LabelSets(np.eye(2, dtype=bool))
    assert np.asarray(sets).dtype == bool


def test_sets_are_frozen():
    intervals = Intervals([0.0], [1.0])
    with pytest.raises(AttributeError):
        intervals.lower = np.array([2.0])
    with pytest.raises(ValueError, match="read-only"):
        intervals.lower[0] = 2.0
    mask = np.array([[True, False]])
    sets = LabelSets(mask)
    mask[0, 0] = False
    assert sets.to_lists() == [[0]]
    with pytest.raises(AttributeError):
        sets.classes = ["a", "b"]


def test_an_index_changes_nothing_but_the_labels_of_rows():
    index = pd.Index(["a", "b"])
    intervals, sets = Intervals([0.0, 3.0], [1.0, 2.0]), LabelSets([[True, False], [True, True]])
    for plain in (intervals, sets):
        named = plain.with_index(index)
        np.testing.assert_array_equal(named.to_numpy(), plain.to_numpy())
        assert named.to_pandas().index.equals(index)
        assert named[1:].to_pandas().index.tolist() == ["b"]
        with pytest.raises(ValueError, match="one label for each of 2 sets, got 1"):
            plain.with_index(index[:1])


def test_frames_hold_the_same_numbers():
    intervals = Intervals([0.0, 3.0], [1.0, 2.0])
    frame = intervals.to_pandas(index=["a", "b"])
    assert list(frame.columns) == intervals.to_polars().columns == ["lower", "upper"]
    assert list(frame.index) == ["a", "b"]
    np.testing.assert_array_equal(frame.to_numpy(), intervals.to_numpy())
    np.testing.assert_array_equal(intervals.to_polars().to_numpy(), intervals.to_numpy())


def test_frames_of_labels_hold_the_same_mask():
    sets = LabelSets([[True, False, True], [False, False, False]], classes=[3, 5, 7])
    frame = sets.to_pandas(index=[10, 20])
    assert list(frame.columns) == sets.to_polars().columns == ["3", "5", "7"]
    assert list(frame.index) == [10, 20]
    np.testing.assert_array_equal(frame.to_numpy(), sets.to_numpy())
    np.testing.assert_array_equal(sets.to_polars().to_numpy(), sets.to_numpy())


masks = hnp.arrays(bool, st.tuples(st.integers(0, 6), st.integers(1, 5)))
names = st.sampled_from([np.array([5, 3, 9, 1, 7]), np.array(list("zbxay"))])


@settings(max_examples=60)
@given(masks, names)
def test_lists_and_membership_agree(mask, labels):
    sets = LabelSets(mask, classes=labels[: mask.shape[1]])
    lists = sets.to_lists()
    for label in sets.classes:
        inside = [label in members for members in lists]
        assert sets.contains(np.full(len(mask), label)).tolist() == inside
    assert sets.size.tolist() == [len(members) for members in lists]
    np.testing.assert_array_equal(sets.is_empty, sets.size == 0)


def test_labels_may_come_as_any_column():
    sets = LabelSets([[True, False], [True, False]]).with_classes(["no", "yes"])
    for y in (["no", "yes"], pd.Series(["no", "yes"]), pl.Series(["no", "yes"])):
        assert sets.contains(y).tolist() == [True, False]


def test_short_reprs():
    assert repr(Intervals([0.0, 0.0], [1.0, np.inf])) == "Intervals(n=2, median size=inf, empty=0)"
    assert repr(Intervals([], [])) == "Intervals(n=0, empty=0)"
    assert repr(LabelSets(np.zeros((0, 2), dtype=bool))) == "LabelSets(n=0, classes=2, empty=0)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Intervals([0.0], [1.0, 2.0]), r"\(1,\) and \(2,\)"),
        (lambda: Intervals(0.0, 1.0), r"shape \(n,\)"),
        (lambda: Intervals([0.0, np.nan], [1.0, 2.0]), "got nan and 2.0 at row 1"),
        (lambda: Intervals([0.0], [1.0]).contains([0.0, 1.0]), r"shape \(1,\), got \(2,\)"),
        (lambda: Intervals([0.0, 0.0], [1.0, 1.0]).contains([0.0, np.nan]), "got nan at row 1"),
        (lambda: Intervals([0.0], [1.0]).clip(2, 1), "lower=2.0 and upper=1.0"),
        (lambda: LabelSets([[1, 0]]), "must be boolean .* got dtype int64"),
        (lambda: LabelSets([True, False]), r"shape \(2,\)"),
        (lambda: LabelSets([[True, False]], classes=["a"]), "2 distinct labels"),
        (lambda: LabelSets([[True, False]], classes=["a", "a"]), r"\['a', 'a'\]"),
        (lambda: LabelSets([[True]], classes=["a"]).contains(["b"]), "y holds 'b', not among"),
        (lambda: LabelSets([[True]]).contains(["0"]), "y holds '0', not among"),
        (lambda: LabelSets([[True]]).contains([0, 0]), r"shape \(1,\), got \(2,\)"),
    ],
)
def test_errors_name_the_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
