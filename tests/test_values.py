"""Equal values have equal hashes, whichever type a part of the rows holds them in."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from plcp.out_of_core import hash_rows
from strategies import few

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
UNITS = ("s", "ms", "us", "ns")
FULL = {"bool", "int8", "int64", "uint8", "uint64"}  # types that have no place for a gap
FAMILIES = {
    "booleans": (
        [True, False],
        ["bool", "boolean", "bool[pyarrow]", "object", "float32", "float64"],
    ),
    "whole numbers": (
        [0, 1, 2, 100],
        [
            *FULL - {"bool"},
            "Int64",
            "UInt64",
            "int8[pyarrow]",
            "object",
            "float32",
            "double[pyarrow]",
        ],
    ),
    "numbers": (
        [0.0, 0.5, -1.25, float("inf")],
        ["float32", "float64", "Float64", "double[pyarrow]", "object"],
    ),
    "decimals": (
        [Decimal("0.5"), Decimal("-2.25"), Decimal(3)],
        [pd.ArrowDtype(pa.decimal128(9, 3)), "object", "float64", "Float64"],
    ),
    "text": (
        ["", "a", "b", "nan", "1"],
        ["object", "str", "string", "string[pyarrow]", "large_string[pyarrow]", "category"],
    ),
    "codes": ([1, 2, 3], ["category", "object", "int64", "float64"]),
    "days": (
        [date(1969, 12, 31), date(1970, 1, 1), date(2030, 2, 3), date(2500, 1, 1)],
        ["date32[pyarrow]", "object", *(f"timestamp[{unit}][pyarrow]" for unit in UNITS[:3])],
    ),
    "moments": (
        [datetime(1969, 12, 31, 23), datetime(2020, 1, 2, 3, 4, 5), datetime(2500, 1, 1)],
        [
            "object",
            "datetime64[us, UTC]",
            *(f"datetime64[{unit}]" for unit in UNITS[:3]),
            *(f"timestamp[{unit}][pyarrow]" for unit in UNITS[:3]),
        ],
    ),
    "recent moments": (
        [datetime(1969, 12, 31, 23), datetime(2020, 1, 2, 3, 4, 5)],
        ["object", "datetime64[ns, UTC]", *(f"datetime64[{unit}]" for unit in UNITS)],
    ),
    "durations": (
        [-HOUR, DAY, 3 * DAY + HOUR],
        ["object", "duration[us][pyarrow]", *(f"timedelta64[{unit}]" for unit in UNITS)],
    ),
}


def in_type(values, dtype):
    return pd.DataFrame({"x": pd.Series(values, dtype="object").astype(dtype)})


def hashes(frame):
    return hash_rows(frame, np.zeros(len(frame)))


@few
@given(st.sampled_from([*FAMILIES]), st.data())
def test_a_part_in_a_type_of_its_own_has_the_hashes_of_the_whole(name, data):
    choices, dtypes = FAMILIES[name]
    parts = data.draw(st.lists(st.lists(st.sampled_from([None, *choices]), max_size=4), max_size=4))
    whole = [value for part in parts for value in part]
    expected = hashes(in_type(whole, "object"))
    assert len(set(expected)) == len(set(whole))
    cut = iter(expected)
    for part in parts:
        fit = [dtype for dtype in dtypes if None not in part or dtype not in FULL]
        frame = in_type(part, data.draw(st.sampled_from(fit)))
        assert_array_equal(hashes(frame), [next(cut) for _ in part])


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT, Decimal("nan"), np.datetime64("NaT")])
def test_whatever_is_missing_is_the_same(gap):
    (expected,) = hash_rows(np.array([[np.nan]]), [0.0])
    assert hashes(pd.DataFrame({"x": pd.Series([gap], dtype=object)})) == expected
    assert hashes(pd.DataFrame({"x": pd.Series(["a", gap], dtype=object)}))[1] == expected


@pytest.mark.parametrize("dtype", ["Int64", "str", "category", "datetime64[ns]", "bool[pyarrow]"])
def test_a_part_without_any_value_has_the_hash_of_missing(dtype):
    (expected,) = hash_rows(np.array([[np.nan]]), [0.0])
    assert hashes(pd.DataFrame({"x": pd.Series([None], dtype=dtype)})) == expected


def test_arrays_and_frames_of_the_same_numbers_agree():
    values = [[1, 2], [3, 2**40]]
    expected = hash_rows(np.array(values, dtype=float), np.zeros(2))
    for kind in ("int64", "uint64", "object"):
        assert_array_equal(hash_rows(np.array(values, dtype=kind), np.zeros(2)), expected)
        assert_array_equal(hashes(pd.DataFrame(values, dtype=kind)), expected)


def test_frames_of_polars_agree_with_those_of_pandas():
    columns = {
        "flag": [True, None, False],
        "number": [1, None, 3],
        "text": ["a", None, "b"],
        "moment": [datetime(2020, 1, 1), None, datetime(2500, 1, 1)],
        "aware": [datetime(2020, 1, 1, tzinfo=UTC), None, datetime(2030, 1, 1, tzinfo=UTC)],
        "day": [date(2020, 1, 1), None, date(2500, 1, 1)],
        "span": [DAY, None, HOUR],
    }
    expected = hashes(pd.DataFrame(columns, dtype=object))
    assert_array_equal(hashes(pl.DataFrame(columns)), expected)


def test_nanoseconds_are_told_apart():
    moments = pd.to_datetime(["2020-01-01"]).as_unit("ns")
    frame = pd.DataFrame({"x": [*moments, *(moments + pd.Timedelta(1, "ns"))]})
    assert len(set(hashes(frame))) == 2
    assert_array_equal(hashes(frame.astype(object)), hashes(frame))
