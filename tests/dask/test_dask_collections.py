"""Dask collections as blocks of rows: chunks, indices, types of columns, and what is refused."""

import re

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.sizeof import sizeof
from dask_cases import of_parts, random_lengths
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

import dask
from plcp import (
    PLCP,
    RLCP,
    BatchGCP,
    ConformalClassifier,
    ConformalRegressor,
    LocalCP,
    Mondrian,
    Rectified,
    SplitConformal,
)
from plcp.dask.collections import blockwise, check_columns, pairs_of


def both(*parts):
    return parts


def whole(blocks):
    """All blocks as one."""
    return [np.concatenate(column) for column in zip(*blocks.each(both), strict=True)]


def weighed(X, values, factor):
    assert len(X)  # never called without rows
    return np.asarray(X).sum(axis=1) * np.asarray(values) * factor


@pytest.mark.parametrize("seed", range(20))
def test_blocks_and_functions_of_rows_do_not_depend_on_chunks(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    X, by_row = np.arange(3.0 * n).reshape(n, 3), tuple(random_lengths(rng, n))
    y = X[:, 0] * 10
    lazy = da.from_array(X, chunks=(by_row, int(rng.integers(1, 4))))
    values = da.from_array(y, chunks=(tuple(random_lengths(rng, n)),))
    pairs = pairs_of(lazy, values)
    assert len(pairs.blocks) == len(by_row)
    for found, expected in zip(whole(pairs), (X, y), strict=True):
        assert_array_equal(found, expected)
    assert_array_equal(blockwise(np.sum, lazy, 1), X.sum(axis=1))
    wide = blockwise(np.multiply, lazy, 2, columns=["a", "b", "c"])
    assert wide.shape == X.shape
    assert_array_equal(wide, X * 2)
    assert_array_equal(blockwise(weighed, lazy, 2, other=values), weighed(X, y, 2))


def frame(n=10, n_parts=3):
    table = pd.DataFrame({"a": np.arange(n), "b": np.arange(n) / 2}, index=np.arange(n) * 7)
    return table, dd.from_pandas(table, npartitions=n_parts)


def test_a_frame_gives_a_series_or_a_frame_with_its_index():
    table, lazy = frame()
    thresholds = blockwise(weighed, lazy, 2, other=lazy["b"])
    expected = pd.Series(weighed(table, table["b"], 2), table.index, name="threshold")
    pd.testing.assert_series_equal(thresholds.compute(), expected)
    assert thresholds.name == "threshold"
    ends = blockwise(np.multiply, lazy, 2, columns=["lower", "upper"])
    expected = (table * 2.0).set_axis(["lower", "upper"], axis=1)
    pd.testing.assert_frame_equal(ends.compute(), expected)
    few = lazy[lazy["a"] < 2]  # other parts are empty
    found = blockwise(weighed, few, 1, other=few["b"]).compute()
    assert found.dtype == float
    assert_array_equal(found.index, [0, 7])


def test_frames_and_arrays_may_be_combined():
    table, lazy = frame()
    array = lazy["b"].to_dask_array()
    expected = weighed(table, table["b"], 1)
    assert_array_equal(blockwise(weighed, lazy, 1, other=array), expected)
    assert_array_equal(blockwise(weighed, lazy.to_dask_array(), 1, other=lazy["b"]), expected)
    assert_array_equal(whole(pairs_of(lazy, array))[1], table["b"])


def test_large_arguments_are_in_the_graph_once():
    large = np.zeros(10**6)
    lazy = da.zeros((50, 2), chunks=(1, 2))
    for thresholds in (blockwise(np.max, lazy, large), blockwise(np.max, frame()[1], large)):
        tasks = dict(thresholds.__dask_graph__()).values()
        assert sum(sizeof(getattr(task, "args", ())) > large.nbytes for task in tasks) == 1


def test_images_keep_their_shape():
    X = np.arange(48.0).reshape(6, 2, 4)
    lazy = da.from_array(X, chunks=(4, 1, 2))
    assert_array_equal(whole(pairs_of(lazy, lazy[:, 0, 0]))[0], X)
    assert_array_equal(blockwise(np.sum, lazy, (1, 2)), X.sum(axis=(1, 2)))


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("parent", ["X", "another"])
def test_shared_rows_are_made_once(tmp_path, kind, parent):
    def recorded(block):
        with (tmp_path / "calls").open("a") as calls:
            calls.write("x")
        return block

    if kind == "array":
        rows = da.zeros((9, 2), chunks=(3, 2)).map_blocks(recorded, meta=np.empty((0, 2)))
        X, y = rows[:, :1], rows.sum(axis=1)
    else:
        rows = frame()[1].map_partitions(recorded, meta=frame()[0][:0])
        X, y = rows[["a"]], rows.map_partitions(total, meta=("y", float))
    pairs_of(rows if parent == "X" else X, y, other=y + 1).each(both)
    assert len((tmp_path / "calls").read_text()) == 3


def total(part):
    return part.sum(axis=1)


def test_columns_are_put_in_the_order_of_the_meta():
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


def test_collections_that_cannot_be_aligned_are_refused():
    with pytest.raises(ValueError, match="y is a Dask collection, but X is not"):
        pairs_of(np.zeros((4, 1)), da.zeros(4))
    unknown = da.zeros(8, chunks=2)[da.ones(8, chunks=2) > 0]
    with pytest.raises(ValueError, match="X has 2 parts, but groups has 4"):
        pairs_of(da.zeros((8, 1), chunks=(4, 1)), da.zeros(8), groups=unknown)


def test_names_and_numbers_of_columns_are_compared_before_rows_are_computed():
    _, lazy = frame()
    rule = SplitConformal()
    check_columns(rule, lazy, reset=True)
    assert_array_equal(rule.feature_names_in_, ["a", "b"])
    with pytest.raises(ValueError, match="feature names should match"):
        check_columns(rule, lazy[["b", "a"]], reset=False)
    check_columns(rule, da.zeros((3, 5)), reset=True)
    assert (rule.n_features_in_, hasattr(rule, "feature_names_in_")) == (5, False)
    table = frame()[0].set_axis(["a", "a"], axis=1)
    with pytest.raises(ValueError, match="X has several columns named a: rename them"):
        check_columns(SplitConformal(), dd.from_pandas(table, npartitions=2), reset=True)


# --- types of columns

NUMBERS = pd.Series([1.5, 2.5, 3.5])
TEXT = pd.Series(["a", "b", "c"])
DAYS = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]))
OTHER_KINDS = {
    "text": (NUMBERS, NUMBERS.astype("str")),
    "text among numbers": (NUMBERS, pd.Series([1.5, "b", 2.5], dtype=object)),
    "categories": (NUMBERS, NUMBERS.astype("category")),
    "numbers": (TEXT, NUMBERS),
    "dates": (NUMBERS, DAYS),
    "durations": (DAYS, DAYS - DAYS[0]),
}
SAME_KINDS = {
    "width": (NUMBERS, NUMBERS.astype("float32")),
    "whole numbers": (NUMBERS, pd.Series([1, 2, 3])),
    "booleans with a gap": (pd.Series([True, False, True]), pd.Series([True, None, False])),
    "objects": (NUMBERS, NUMBERS.astype(object)),
    "units": (DAYS, DAYS.astype("datetime64[s]")),
    "zones": (DAYS, DAYS.dt.tz_localize("UTC")),
    "layout of text": (TEXT, TEXT.astype("category")),
    "all missing": (NUMBERS, pd.Series([None, None, None], dtype=object)),
    "all NaN": (TEXT, NUMBERS * np.nan),
    "no rows": (NUMBERS, TEXT[:0]),
}


def column_blocks(*parts):
    """X of all blocks, of one column, whose meta is that of the first part."""
    with dask.config.set({"dataframe.convert-string": False}):
        X = of_parts(*(part.to_frame("x") for part in parts))
        y = of_parts(*(NUMBERS[: len(part)] for part in parts))
        return [X for X, _ in pairs_of(X, y).each(both)]


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_a_column_of_another_kind_in_one_part_is_named(name):
    one, other = OTHER_KINDS[name]
    here, elsewhere = re.escape(f"({other.dtype}) here"), re.escape(f"({one.dtype}) elsewhere")
    error = rf"part 2 of 3.*column 'x' of X holds \w+ {here} and \w+ {elsewhere}: write it in one"
    with pytest.raises(ValueError, match=error):
        column_blocks(one, one, other)


@pytest.mark.parametrize("name", SAME_KINDS)
def test_columns_of_one_kind_may_have_several_types(name):
    one, other = SAME_KINDS[name]
    found = column_blocks(one, other)
    pd.testing.assert_series_equal(found[1]["x"], other, check_names=False)


# --- ordinary estimators refuse Dask collections instead of computing them silently

N = 60
X = np.random.default_rng(0).normal(size=(N, 2))
Y = X[:, 0] > 0
SCORES = np.abs(X[:, 1])
RULES = {
    "split": SplitConformal(),
    "mondrian": Mondrian(groups=lambda X: X[:, 0] > 0),
    "plcp": PLCP(n_groups=2, random_state=0),
    "gcp": BatchGCP(groups=lambda X: X[:, :1] > 0),
    "rectified": Rectified(random_state=0),
    "local": LocalCP(),
    "rlcp": RLCP(random_state=0),
}
MODELS = {
    "regressor": ConformalRegressor(
        FrozenEstimator(LinearRegression().fit(X, Y)), threshold=SplitConformal()
    ),
    "classifier": ConformalClassifier(
        FrozenEstimator(LogisticRegression().fit(X, Y)), threshold=SplitConformal()
    ),
}
ORDINARY = {**RULES, **MODELS}


def never(block):
    raise AssertionError("the rows were computed")


def lazy(values):
    """The same values on Dask, which raise if they are computed."""
    return da.from_array(values, chunks=20).map_blocks(never, dtype=values.dtype)


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_estimators_refuse_collections(name):
    estimator, y = ORDINARY[name], SCORES if name in RULES else Y
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=2)
    for given, error in (
        ((lazy(X), y), r"X is a Dask Array.*plcp\.dask.*X\.compute\(\)"),
        ((X, lazy(y)), r"y is a Dask Array.*plcp\.dask"),
        ((frame, y), r"X is a Dask DataFrame.*plcp\.dask"),
    ):
        with pytest.raises(TypeError, match=error):
            estimator.fit(*given)
    if name in ("split", "mondrian", "plcp", "regressor"):
        with pytest.raises(TypeError, match=r"sample_weight is a Dask Array.*plcp\.dask"):
            estimator.fit(X, y, sample_weight=lazy(np.ones(N)))
    fitted = estimator.fit(X, y)
    for method in ("predict", "predict_set", "predict_proba"):
        if hasattr(fitted, method):
            with pytest.raises(TypeError, match=r"X is a Dask Array.*plcp\.dask"):
                getattr(fitted, method)(lazy(X))
