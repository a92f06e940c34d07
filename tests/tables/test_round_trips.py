"""What is written is read: values, missing values, types and order, in all formats."""

import datetime as dt
import io

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from disk_tables import numbers, text, values, write
from hypothesis import HealthCheck, given, settings, strategies as st
from pyarrow import csv, ipc

from plcp.tables.csv import MISSING
from plcp.tables.files import ROW_GROUP
from plcp.tables.io import create_table, open_table

ENDINGS = ("parquet", "csv", "arrow", "tsv", "csv.gz")
few = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

letters = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
# An empty text and a word for a missing value are missing values in CSV
words = letters.filter(lambda word: word not in MISSING)
moments = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1))
KINDS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.float64(): st.floats(allow_nan=False),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.string(): words,
    pa.large_string(): words,
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.timestamp("us"): moments,
}


@st.composite
def tables(draw, kinds=tuple(KINDS)):
    n = draw(st.integers(0, 12))
    names = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    columns = {}
    for name in names:
        kind = draw(st.sampled_from(kinds))
        cells = st.none() | KINDS[kind]
        columns[f"x{name}"] = pa.array(draw(st.lists(cells, min_size=n, max_size=n)), kind)
    return pa.table(columns)


@pytest.mark.parametrize("ending", ENDINGS)
@few
@given(table=tables(), rows=st.integers(1, 5), read=st.integers(1, 5))
def test_a_table_comes_back_as_it_was(tmp_path, ending, table, rows, read):
    path = write(tmp_path / f"a.{ending}", table, rows, force=True)
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    file = open_table(path, types=types)
    assert file.schema.equals(table.schema)
    assert file.read().equals(table)
    batches = list(file.batches(rows=read))
    assert pa.Table.from_batches(batches, table.schema).equals(table)
    sizes = [len(batch) for batch in batches]
    assert sum(sizes) == len(table)
    if ending != "parquet":  # whose own batches may end with a row group
        assert all(size == read for size in sizes[:-1])
    assert all(0 < size <= read for size in sizes)


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_come_in_the_order_asked_for(tmp_path, ending):
    file = open_table(write(tmp_path / f"a.{ending}", numbers(10), 3))
    assert file.read(["half", "row"]).equals(numbers(10).select(["half", "row"]))
    with pytest.raises(ValueError, match=r"no column 'hal' in a\..*: did you mean 'half'"):
        file.batches(["hal"])
    with pytest.raises(ValueError, match="at least one column of a"):
        file.batches([])
    with pytest.raises(ValueError, match="rows must be at least 1, got 0"):
        file.batches(rows=0)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_column_is_not_taken_for_a_part_of_another(tmp_path, ending):
    table = pa.table({"a.x": [1], "a": [2], "a.y": [3]})
    file = open_table(write(tmp_path / f"a.{ending}", table))
    assert file.read(["a"]).to_pydict() == {"a": [2]}
    assert file.read(["a.y", "a"]).to_pydict() == {"a.y": [3], "a": [2]}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_without_rows_is_a_table(tmp_path, ending):
    file = open_table(write(tmp_path / f"a.{ending}", numbers(0)))
    assert file.schema.names == ["row", "half"]
    assert file.n_rows == 0
    assert len(file.read()) == 0
    assert len(file.read(most=3)) == 0
    assert list(file.batches()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_are_known_and_the_digest_is_that_of_the_bytes(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", numbers(10), 3)
    assert open_table(path).n_rows == 10
    before = open_table(path).digest()
    write(path, numbers(11), force=True)
    assert open_table(path).digest() != before
    assert open_table(text(tmp_path / "b.csv", "a\nx\n")).digest() == (
        "7a0e624fe91589d1deb4c2eb4dd23be329140728ca8c8571bcdc13124cf0f5a2"
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_categories_may_differ_between_batches(tmp_path, ending):
    parts = [["b", "a", None], ["c", "b", "b"], ["a", "d", "c"]]
    batches = [pa.record_batch({"x": pa.array(part).dictionary_encode()}) for part in parts]
    with create_table(tmp_path / f"a.{ending}", batches[0].schema) as writer:
        for batch in batches:
            writer.write(batch)
    file = open_table(tmp_path / f"a.{ending}", types={"x": batches[0].schema.field("x").type})
    assert file.read().to_pydict() == {"x": [word for part in parts for word in part]}
    assert pa.types.is_dictionary(file.schema.field("x").type) == (ending in ("parquet", "arrow"))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_nested_columns_and_metadata_pass_through(tmp_path, ending):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 7], name="i"))
    table = pa.Table.from_pandas(frame).append_column("s", pa.array([{"k": [1]}, None]))
    file = open_table(write(tmp_path / f"a.{ending}", table))
    assert file.read().equals(table)
    assert file.schema.metadata[b"pandas"] == table.schema.metadata[b"pandas"]


def test_lists_are_joined_in_csv(tmp_path):
    table = pa.table({"set": [["a", "b"], [], None, ["c"]], "n": [[1, 2], [3], [], None]})
    path = write(tmp_path / "a.csv", table)
    assert path.read_text() == "set,n\na|b,1|2\n[],3\n,[]\nc,\n"


@pytest.mark.parametrize(
    ("column", "kind"),
    [([{"k": 1}], "struct<k: int64>"), ([[[1]]], "list<"), ([b"\xff"], "binary")],
)
def test_what_csv_cannot_hold_is_refused_before_anything_is_written(tmp_path, column, kind):
    table = pa.table({"deep": column})
    with pytest.raises(ValueError, match=f"column 'deep' has the type {kind}.*write .parquet"):
        write(tmp_path / "a.csv", table)
    assert list(tmp_path.iterdir()) == []


def test_members_that_could_not_be_told_apart_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"column 'set' has members with '\|' in them"):
        write(tmp_path / "a.csv", pa.table({"set": [["a|b"]]}))
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_missing_alone_are_rows(tmp_path):
    table = pa.table({"a": pa.array([None, 1, None], pa.int64())})
    assert open_table(write(tmp_path / "a.csv", table)).read().equals(table)


def test_row_groups_have_one_size_whatever_the_batches(tmp_path):
    n = 2 * ROW_GROUP + 10
    path = write(tmp_path / "a.parquet", numbers(n), 1000)
    sizes = [pq.ParquetFile(path).metadata.row_group(i).num_rows for i in range(3)]
    assert sizes == [ROW_GROUP, ROW_GROUP, 10]


def test_parquet_columns_of_real_numbers_have_no_dictionary(tmp_path):
    path = write(tmp_path / "a.parquet", numbers(10))
    group = pq.ParquetFile(path).metadata.row_group(0)
    assert [group.column(i).has_dictionary_page for i in range(2)] == [True, False]
    assert group.column(0).compression == "ZSTD"


FRAME = {"t": ["short", None, "longer than twelve bytes"], "l": [["u"], [], None]}


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_files_of_polars_are_read_and_written_in_any_format(tmp_path, ending):
    frame = pl.DataFrame(FRAME).with_columns(c=pl.Series(["u", "v", "u"], dtype=pl.Categorical))
    path = tmp_path / f"pl.{ending}"
    frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    table = open_table(path).read()
    assert open_table(path).read(most=3).equals(table)
    assert table.to_pydict() == FRAME | {"c": ["u", "v", "u"]}
    for other in ("parquet", "arrow"):
        assert open_table(write(tmp_path / f"b.{other}", table)).read().to_pydict() == (
            table.to_pydict()
        )
    assert pd.read_csv(write(tmp_path / "b.csv", table))["t"].to_list()[2] == FRAME["t"][2]


def test_arrow_files_of_one_batch_are_read_in_parts(tmp_path):
    with ipc.new_file(tmp_path / "a.arrow", numbers(10).schema) as writer:
        writer.write_table(numbers(10))
    batches = list(open_table(tmp_path / "a.arrow").batches(rows=4))
    assert [len(batch) for batch in batches] == [4, 4, 2]


def test_the_written_csv_is_what_others_read(tmp_path):
    path = write(tmp_path / "a.csv", numbers(5))
    assert values(csv.read_csv(path)) == values(numbers(5))
    assert pd.read_csv(io.BytesIO(path.read_bytes()))["half"].to_list() == [0, 0.5, 1, 1.5, 2]
