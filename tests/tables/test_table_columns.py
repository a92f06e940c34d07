"""Columns of every type become features, categories or labels."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from plcp._files import find_column, match_columns
from plcp.regressors.encoding import TableEncoder
from plcp.tables import Applier, calibrate, choose_roles, describe_features
from plcp.tables.columns import (
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
def test_a_column_of_numbers_or_times_is_what_the_rule_states(name, data):
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
def test_labels_are_reported_by_their_text_and_gaps_are_a_group(values):
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


def test_columns_that_nothing_can_be_learned_from_are_left_out_and_noted():
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


RNG = np.random.default_rng(0)
N = 400
JOB = RNG.integers(1, 4, N)
# noise that neither rises nor falls with the code
TABLE = pa.table(
    {"job": JOB, "y": np.where(JOB == 2, 9.0, 1.0) * RNG.normal(size=N), "yhat": np.zeros(N)}
)
ROLES = {"target": "y", "prediction": "yhat"}


@pytest.fixture(scope="module")
def model():
    roles = choose_roles(TABLE.column_names, **ROLES, categories="job")
    return calibrate(TABLE, roles, explain=False)


def test_codes_are_reported_apart_from_numbers(model):
    kinds = {one["column"]: one["kind"] for one in describe_features(model)}
    assert kinds == {"job": "codes", "yhat": "left out"}  # yhat is 0 in every row
    assert model.features[0].categories == ("1", "2", "3")


@pytest.mark.parametrize(
    "jobs",
    [
        pa.array([1, 2, 3, None], pa.int8()),
        pa.array([1.0, 2.0, 3.0, None], pa.float32()),
        pa.array([1.0, 2.0, 3.0, np.nan]),
        pa.array(["1", "2", "3", None]),
        pa.array(["1", "2", "3", None]).dictionary_encode(),
    ],
    ids=lambda jobs: str(jobs.type),
)
def test_a_code_is_the_same_however_it_is_stored(model, jobs):
    def thresholds(column):
        batch = pa.record_batch({"job": column, "yhat": np.zeros(4)})
        return Applier(model).apply(batch)["threshold"].to_pylist()

    found = thresholds(jobs)
    assert found == thresholds(pa.array([1, 2, 3, None], pa.int64()))
    assert found[1] > max(found[0], found[2])


def test_a_code_not_in_calibration_is_counted_and_a_fraction_is_no_code(model):
    applier = Applier(model)
    applier.apply(pa.record_batch({"job": [7, 7, 1], "yhat": np.zeros(3)}))
    (note,) = applier.notes()
    assert "'7'" in note
    applier = Applier(model)
    applier.apply(pa.record_batch({"job": [1.5, 1.0], "yhat": np.zeros(2)}))
    assert any("1.5" in note for note in applier.notes())


def test_dates_in_place_of_codes_are_refused(model):
    dates = pa.array(np.array(["2020-01-01"], dtype="M8[D]"))
    with pytest.raises(ValueError, match="column 'job' held codes"):
        Applier(model).apply(pa.record_batch({"job": dates, "yhat": np.zeros(1)}))


@pytest.mark.parametrize("wrong", ["y", "jbo"])
def test_codes_must_be_features(wrong):
    with pytest.raises(ValueError, match=wrong):
        choose_roles(TABLE.column_names, **ROLES, categories=wrong)


def test_categories_that_are_numbers_are_codes_without_being_called_so():
    column = TABLE["job"].dictionary_encode()
    table = TABLE.set_column(0, "job", column)
    roles = choose_roles(table.column_names, **ROLES)
    model = calibrate(table, roles, method="plcp-split", explain=False)
    assert model.features[0].kind == "codes"
    plain, stored = (
        Applier(model).apply(one.combine_chunks().to_batches()[0]) for one in (TABLE, table)
    )
    assert plain["threshold"].equals(stored["threshold"])  # Parquet stores such columns as numbers


NAMES = ["age", "Income", "p_cat", "p_dog", "a,b", "x[1]", "p*"]


@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.data())
def test_every_column_is_found_by_its_own_name(names, data):
    name = data.draw(st.sampled_from(names))
    assert find_column(name, names) == name
    assert match_columns(name, names) == [name]


@pytest.mark.parametrize(
    ("wrong", "right"), [("agee", "age"), ("income", "Income"), (" age", "age"), ("P_CAT", "p_cat")]
)
def test_the_nearest_name_is_reported(wrong, right):
    with pytest.raises(ValueError, match=f"no column {wrong!r} in cal.csv: did you mean {right!r}"):
        find_column(wrong, NAMES, "cal.csv")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("age", ["age"]),
        ("Income, age ,", ["Income", "age"]),
        ("p_*", ["p_cat", "p_dog"]),
        ("p_dog,p_*,p_cat", ["p_dog", "p_cat"]),
        ("a,b", ["a,b"]),
        ("x[1],p*", ["x[1]", "p*"]),
        ("?ge", ["age"]),
        ("p_[cd]*", ["p_cat", "p_dog"]),
        ("*", NAMES),
    ],
)
def test_names_and_wildcards_give_each_column_once(text, found):
    assert match_columns(text, NAMES) == found


@pytest.mark.parametrize("text", ["", " , ", "agee", "age,q_*", "INCOME*"])
def test_each_part_must_name_something(text):
    with pytest.raises(ValueError, match="no column"):
        match_columns(text, NAMES)
