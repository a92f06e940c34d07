"""Frames become numbers: categories as codes, dates as days, gaps as nan."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from plcp.indices.tables import MAX_CATEGORIES, TableEncoder

COLUMNS = {
    "number": [1.0, None, 3.0],
    "whole": [1, 2, 3],
    "flag": [True, False, True],
    "text": ["b", None, "a"],
    "day": [dt.datetime(1970, 1, 2), None, dt.datetime(1970, 1, 1, 12)],
}
EXPECTED = np.array([[1, 1, 1, 1, 1], [np.nan, 2, 0, np.nan, np.nan], [3, 3, 1, 0, 0.5]])


@pytest.mark.parametrize("library", [pd, pl])
def test_each_kind_of_column(library):
    frame = library.DataFrame(COLUMNS)
    encoder = TableEncoder().fit(frame)
    np.testing.assert_array_equal(encoder.transform(frame), EXPECTED)
    np.testing.assert_array_equal(encoder.categorical_, [False, False, False, True, False])


def test_pandas_categories_nullable_numbers_and_objects():
    frame = pd.DataFrame(
        {
            "category": pd.Categorical([3, 1, None], categories=[1, 2, 3]),
            "nullable": pd.array([1, None, 2], dtype="Int64"),
            "object": pd.Series(["x", 5, None], dtype=object),
        }
    )
    encoded = TableEncoder().fit(frame).transform(frame)
    np.testing.assert_array_equal(encoded, [[1, 1, 1], [0, np.nan, 0], [np.nan, 2, np.nan]])


def test_polars_categories_and_enums():
    frame = pl.DataFrame(
        {
            "category": pl.Series(["b", "a", None], dtype=pl.Categorical),
            "enum": pl.Series(["x", "y", "x"], dtype=pl.Enum(["x", "y"])),
        }
    )
    encoded = TableEncoder().fit(frame).transform(frame)
    np.testing.assert_array_equal(encoded, [[1, 0], [0, 1], [np.nan, 0]])


def test_unseen_and_rare_categories_count_as_missing():
    names = [f"c{i:03d}" for i in range(300)]
    often = pd.DataFrame({"c": names + names[:MAX_CATEGORIES]})
    encoder = TableEncoder().fit(often)
    codes = encoder.transform(pd.DataFrame({"c": ["c000", "c299", "new"]}))[:, 0]
    np.testing.assert_array_equal(codes, [0, np.nan, np.nan])


def test_both_libraries_give_the_same_numbers():
    arrays = [
        TableEncoder().fit(f).transform(f) for f in (pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS))
    ]
    np.testing.assert_array_equal(*arrays)


def test_arrays_pass_without_a_copy():
    X = np.ones((3, 2))
    assert TableEncoder().fit(X).transform(X) is X
