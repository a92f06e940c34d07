"""Collections as blocks, functions of rows on them, and what both take from a collection."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.sizeof import sizeof
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from plcp.dask.collections import blockwise, check_columns, check_parts, pairs_of
from plcp.thresholds import SplitConformal
from strategies import few


@st.composite
def cuts(draw, n):
    """Lengths of parts of n rows, some of them empty."""
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    return tuple(np.diff([0, *ends, n]).tolist())


@st.composite
def cut_rows(draw):
    """Rows with values, cut in two ways."""
    n = draw(st.integers(1, 12))
    X = np.arange(3.0 * n).reshape(n, 3)
    return X, X[:, 0] * 10, draw(cuts(n)), draw(cuts(n)), draw(st.sampled_from([1, 2, 3]))


def both(*parts):
    return parts


def joined(spread):
    """All blocks as one."""
    return [np.concatenate(column) for column in zip(*spread.each(both), strict=True)]


@few
@given(cut_rows())
def test_blocks_are_the_rows_in_their_order_however_they_are_cut(drawn):
    X, y, by_row, other, width = drawn
    pairs = pairs_of(da.from_array(X, chunks=(by_row, width)), da.from_array(y, chunks=(other,)))
    assert len(pairs.blocks) == len(by_row)
    for found, expected in zip(joined(pairs), (X, y), strict=True):
        assert_array_equal(found, expected)


@few
@given(cut_rows())
def test_a_function_of_rows_gives_what_it_gives_on_all(drawn):
    X, y, by_row, other, width = drawn
    lazy = da.from_array(X, chunks=(by_row, width))
    assert_array_equal(blockwise(np.sum, lazy, 1), X.sum(axis=1))
    wide = blockwise(np.multiply, lazy, 2, columns=["a", "b", "c"])
    assert wide.shape == X.shape
    assert_array_equal(wide, X * 2)
    beside = blockwise(weighed, lazy, 2, beside=da.from_array(y, chunks=(other,)))
    assert_array_equal(beside, weighed(X, y, 2))


def weighed(X, values, factor):
    assert len(X)  # never called without rows
    return np.asarray(X).sum(axis=1) * np.asarray(values) * factor


def frame(n=10, n_parts=3):
    table = pd.DataFrame({"a": np.arange(n), "b": np.arange(n) / 2}, index=np.arange(n) * 7)
    return table, dd.from_pandas(table, npartitions=n_parts)


def test_a_frame_gives_a_series_or_a_frame_with_its_index():
    table, lazy = frame()
    thresholds = blockwise(weighed, lazy, 2, beside=lazy["b"])
    expected = pd.Series(weighed(table, table["b"], 2), table.index, name="threshold")
    pd.testing.assert_series_equal(thresholds.compute(), expected)
    assert thresholds.name == "threshold"
    ends = blockwise(np.multiply, lazy, 2, columns=["lower", "upper"])
    expected = (table * 2.0).set_axis(["lower", "upper"], axis=1)
    pd.testing.assert_frame_equal(ends.compute(), expected)


def test_frames_and_arrays_may_stand_beside_each_other():
    table, lazy = frame()
    array = lazy["b"].to_dask_array()
    expected = weighed(table, table["b"], 1)
    assert_array_equal(blockwise(weighed, lazy, 1, beside=array), expected)
    assert_array_equal(blockwise(weighed, lazy.to_dask_array(), 1, beside=lazy["b"]), expected)
    assert_array_equal(joined(pairs_of(lazy, array))[1], table["b"])


def test_parts_that_are_empty_give_nothing_in_a_frame():
    _, lazy = frame()
    found = blockwise(weighed, lazy[lazy["a"] < 2], 1, beside=lazy[lazy["a"] < 2]["b"]).compute()
    assert found.dtype == float
    assert_array_equal(found.index, [0, 7])


def test_the_model_is_in_the_graph_once():
    large = np.zeros(10**6)
    lazy = da.zeros((50, 2), chunks=(1, 2))
    for thresholds in (blockwise(np.max, lazy, large), blockwise(np.max, frame()[1], large)):
        tasks = dict(thresholds.__dask_graph__()).values()
        assert sum(sizeof(getattr(task, "args", ())) > large.nbytes for task in tasks) == 1


def test_images_keep_their_shape():
    X = np.arange(48.0).reshape(6, 2, 4)
    lazy = da.from_array(X, chunks=(4, 1, 2))
    assert_array_equal(joined(pairs_of(lazy, lazy[:, 0, 0]))[0], X)
    assert_array_equal(blockwise(np.sum, lazy, (1, 2)), X.sum(axis=(1, 2)))


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("parent", ["X", "another"])
def test_rows_that_several_are_made_of_are_made_once(tmp_path, kind, parent):
    def witnessed(block):
        with (tmp_path / "calls").open("a") as calls:
            calls.write("x")
        return block

    if kind == "array":
        rows = da.zeros((9, 2), chunks=(3, 2)).map_blocks(witnessed, meta=np.empty((0, 2)))
        X, y = rows[:, :1], rows.sum(axis=1)
    else:
        rows = frame()[1].map_partitions(witnessed, meta=frame()[0][:0])
        X, y = rows[["a"]], rows.map_partitions(total, meta=("y", float))
    pairs_of(rows if parent == "X" else X, y, other=y + 1).each(both)
    assert len((tmp_path / "calls").read_text()) == 3


def total(part):
    return part.sum(axis=1)


def test_columns_in_another_order_are_put_in_order():
    _, lazy = frame()
    turned = lazy.map_partitions(turned_round, meta=lazy._meta, enforce_metadata=False)
    assert all(list(X.columns) == ["a", "b"] for X, _ in pairs_of(turned, lazy["a"]).each(both))


def turned_round(part):
    return part[["b", "a"]]


def test_a_part_of_another_width_is_named():
    lazy = da.zeros((8, 2), chunks=(4, 2)).map_blocks(widened, dtype=float, meta=np.empty((0, 2)))
    with pytest.raises(ValueError, match=r"part 1 of 2.*shape \(3,\) here, and \(2,\) elsewhere"):
        pairs_of(lazy, da.zeros(8, chunks=4)).each(both)


def widened(block, block_info=None):
    return np.zeros((4, 2 + block_info[0]["chunk-location"][0]))


def test_scores_of_a_part_are_checked_where_there_are_some():
    X, y = da.zeros((4, 1), chunks=((0, 4), 1)), np.array([1, 2, 3, 4])
    scores = pairs_of(X, y, check=check_parts).each(both)
    assert [part[1].dtype for part in scores] == [float, float]
    with pytest.raises(ValueError, match=r"part 1 of 2.*inf \(infinity\) at row 2"):
        pairs_of(X, np.array([1, 2, np.inf, 4]), check=check_parts).each(both)


def test_in_memory_and_lazy_do_not_mix_without_need():
    with pytest.raises(ValueError, match="y is a Dask collection, but X is not"):
        pairs_of(np.zeros((4, 1)), da.zeros(4))
    unknown = da.zeros(8, chunks=2)[da.ones(8, chunks=2) > 0]
    with pytest.raises(ValueError, match="X has 2 parts, but groups has 4"):
        pairs_of(da.zeros((8, 1), chunks=(4, 1)), da.zeros(8), groups=unknown)


def test_names_and_numbers_of_columns_are_compared_before_any_row_is_made():
    _, lazy = frame()
    rule = SplitConformal()
    check_columns(rule, lazy, reset=True)
    assert_array_equal(rule.feature_names_in_, ["a", "b"])
    with pytest.raises(ValueError, match="feature names should match"):
        check_columns(rule, lazy[["b", "a"]], reset=False)
    check_columns(rule, da.zeros((3, 5)), reset=True)
    assert (rule.n_features_in_, hasattr(rule, "feature_names_in_")) == (5, False)


def test_two_columns_of_one_name_are_refused_as_they_are_locally():
    table = frame()[0].set_axis(["a", "a"], axis=1)
    with pytest.raises(ValueError, match="X has several columns named a: rename them"):
        check_columns(SplitConformal(), dd.from_pandas(table, npartitions=2), reset=True)
