"""Columns of every Arrow type become what the printed rule says of them."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from plcp.regressors.encoding import TableEncoder
from plcp.tables.columns import (
    CATEGORIES,
    Framer,
    check_kind,
    coded,
    kind_of,
    learn_features,
    learn_labels,
    to_frame,
)
from strategies import few

EPOCH = dt.datetime(1970, 1, 1)
WORDS = st.sampled_from(["", "a", "b", "é", "<b>", "1"])
MOMENTS = st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1))


def _days(moment):
    return (moment - EPOCH) // dt.timedelta(seconds=1) / 86400


# type, values, and the number that a value stands for
ODD = {
    "int8": (pa.int8(), st.integers(-128, 127), float),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1), float),
    "float32": (pa.float32(), st.floats(width=32), float),
    "decimal": (pa.decimal128(8, 2), st.decimals(-999, 999, places=2), float),
    "bool": (pa.bool_(), st.booleans(), float),
    "date32": (pa.date32(), MOMENTS.map(dt.datetime.date), lambda d: (d - EPOCH.date()).days),
    "naive": (pa.timestamp("us"), MOMENTS, _days),
    "zoned": (
        pa.timestamp("ms", tz="America/New_York"),
        MOMENTS.map(lambda m: m.replace(microsecond=0, tzinfo=dt.UTC)),
        lambda m: _days(m.replace(tzinfo=None)),
    ),
    "duration": (
        pa.duration("s"),
        st.integers(-(10**6), 10**6).map(lambda s: dt.timedelta(seconds=s)),
        lambda span: span / dt.timedelta(days=1),
    ),
    "time": (
        pa.time32("s"),
        st.times().map(lambda t: t.replace(microsecond=0)),
        lambda t: (t.hour * 3600 + t.minute * 60 + t.second) / 86400,
    ),
}


@pytest.mark.parametrize("name", ODD)
@few
@given(st.data())
def test_a_column_of_numbers_or_times_is_what_the_rule_says(name, data):
    kind, values, number = ODD[name]
    column = data.draw(st.lists(st.none() | values, min_size=1, max_size=8))
    column.append(data.draw(values.filter(lambda value: math.isfinite(number(value)))))
    table = pa.table({"c": pa.chunked_array([column[:2], column[2:]], kind)})
    features, _ = learn_features(table, ["c"], named=True)
    frame = Framer(features).frame(table)
    encoded = TableEncoder().fit(frame).transform(frame)[:, 0]
    wanted = [math.nan if value is None else number(value) for value in column]
    wanted = np.where(np.isfinite(wanted), wanted, np.nan)
    np.testing.assert_array_equal(encoded, wanted)


@few
@given(
    st.lists(st.none() | WORDS, min_size=1),
    st.lists(st.none() | WORDS, min_size=1),
    st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.uint8(), pa.string())]),
)
def test_text_is_a_category_and_what_is_new_is_counted(old, new, kind):
    old = pa.table({"c": pa.array([*old, "a"]).cast(kind)})
    framer = Framer(learn_features(old, ["c"], named=True)[0])
    known = {*old["c"].to_pylist()} - {None}
    assert framer.features[0].categories == tuple(sorted(known))
    column = framer.frame(pa.table({"c": pa.array(new, pa.string())}))["c"]
    wanted = [value if value in known else None for value in new]
    assert [None if pd.isna(value) else value for value in column] == wanted
    strange = [value for value in new if value is not None and value not in known]
    assert dict(framer.unseen.get("c", {})) == {v: strange.count(v) for v in {*strange}}


@few
@given(st.lists(st.none() | st.integers(-3, 3), min_size=1))
def test_labels_are_told_by_their_text_and_gaps_are_a_group(values):
    table = pa.table({"g": pa.array(values, pa.int64())})
    framer = Framer(learn_labels(table, ["g"]))
    wanted = ["missing" if value is None else str(value) for value in values]
    assert framer.frame(table)["g"].tolist() == wanted
    as_floats = pa.table({"g": pa.array(values, pa.float64())})  # as pandas writes them
    assert framer.frame(as_floats)["g"].tolist() == wanted
    assert not framer.unseen


def test_a_category_that_no_row_has_is_not_known():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), ["a", "b", "c"])
    table = pa.table({"c": column})
    feature = learn_features(table, ["c"], named=True)[0][0]
    assert feature.categories == ("a", "b")
    assert [value.as_py() for value in coded(column)[1]] == ["a", "b", "c"]


def test_dictionaries_may_differ_from_chunk_to_chunk():
    parts = [pa.DictionaryArray.from_arrays(pa.array([0]), [name]) for name in "ba"]
    frame = to_frame(pa.table({"c": pa.chunked_array(parts)}))
    assert frame["c"].tolist() == ["b", "a"]


def test_columns_that_nothing_can_be_learned_from_are_left_out_and_said():
    n = 60
    table = pa.table(
        {
            "void": pa.nulls(n),
            "gaps": pa.nulls(n, pa.float64()),
            "nans": [np.nan, None] * (n // 2),
            "list": pa.array([[1]] * n),
            "name": [f"person {i}" for i in range(n)],
            "half": [f"street {i // 2}" for i in range(n)],
            "few": [f"{i % 20}" for i in range(n)],
            "raw": pa.array([b"x"] * n, pa.binary()),
        }
    )
    features, left = learn_features(table, table.column_names, named=False)
    assert [feature.column for feature in features] == ["half", "few"]
    reasons = {each.column: each.reason for each in left}
    assert {reasons[name] for name in ("void", "gaps", "nans")} == {"no row has a value"}
    assert "list<" in reasons["list"]
    assert "binary" in reasons["raw"]
    assert reasons["name"] == "60 different values in 60 rows are no categories"


def test_a_few_categories_stay_however_few_the_rows_are():
    table = pa.table({"c": ["a", "b", "c"]})
    assert learn_features(table, ["c"], named=False)[1] == ()


@pytest.mark.parametrize("column", [pa.nulls(3), pa.array([[1]] * 3)])
def test_a_named_feature_is_refused_rather_than_left_out(column):
    with pytest.raises(ValueError, match="'c' cannot be a feature"):
        learn_features(pa.table({"c": column}), ["c"], named=True)


def test_named_text_is_kept_even_if_every_row_differs():
    table = pa.table({"c": [f"person {i}" for i in range(60)]})
    assert learn_features(table, ["c"], named=True)[0][0].kind == CATEGORIES


@pytest.mark.parametrize(
    ("was", "now", "fits"),
    [
        (pa.float64(), pa.int32(), True),
        (pa.int32(), pa.float64(), True),
        (pa.bool_(), pa.int8(), True),
        (pa.int8(), pa.bool_(), True),
        (pa.float64(), pa.null(), True),
        (pa.decimal128(5, 2), pa.float32(), True),
        (pa.date32(), pa.timestamp("us", tz="UTC"), True),
        (pa.string(), pa.dictionary(pa.int8(), pa.large_string()), True),
        (pa.float64(), pa.string(), False),
        (pa.string(), pa.int64(), False),
        (pa.date32(), pa.int64(), False),
        (pa.duration("s"), pa.date32(), False),
        (pa.float64(), pa.list_(pa.float64()), False),
    ],
)
def test_a_column_keeps_its_kind(was, now, fits):
    if fits:
        check_kind("c", kind_of(was), str(was), now)
        return
    with pytest.raises(ValueError, match="convert it to") as refused:
        check_kind("c", kind_of(was), str(was), now)
    assert all(text in str(refused.value) for text in ("'c'", str(was), str(now)))


def test_decimals_are_their_numbers():
    frame = to_frame(pa.table({"d": [Decimal("1.20"), None]}))
    assert frame["d"].iloc[0] == 1.2
    assert np.isnan(frame["d"].iloc[1])
