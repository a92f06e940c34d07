"""CSV files: types of all rows, records as Arrow cuts them, messages with the place."""

import datetime as dt
import gzip
import io
import re

import pyarrow as pa
import pytest
from disk_tables import text
from hypothesis import HealthCheck, example, given, settings, strategies as st
from pyarrow import csv

from plcp.tables.csv import Dialect, Records, common_type, infer_types
from plcp.tables.io import open_table

few = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
CELLS = ["", "NA", "1", "0", "-7", "2.5", "1e3", "nan", "true", "False", "x", "10:00", "2020-01-01"]
CELLS += ["2020-01-01 10:00", "2020-01-01 10:00:00.5", "2020-01-01T10:00Z", "99999999999999999999"]
CELLS += ["2020-01-01T10:00:00.25Z", '"a ""b"", c"', '"two\nlines"', '""', '"5"']


@few
@given(cells=st.lists(st.sampled_from(CELLS), min_size=1, max_size=12), block=st.integers(30, 90))
@example(cells=["1"] * 9 + ["true"] * 9, block=30)
@example(cells=["2020-01-01"] * 9 + ["2020-01-01 10:00:00.5"], block=30)
def test_types_are_those_of_the_whole_file_however_it_is_cut(tmp_path, cells, block):
    content = "a,b\n" + "".join(f"{cell},y\n" for cell in cells)
    path = text(tmp_path / "a.csv", content)
    text_of = dict.fromkeys("ab", pa.string())
    dialect = Dialect.of(path)
    found, n_rows = infer_types(dialect.open(path, text_of, block), ["a", "b"], dialect)
    parsing = csv.ParseOptions(newlines_in_values=True)
    whole = csv.read_csv(path, None, parsing, dialect.conversion())
    assert found == dict(zip(whole.schema.names, whole.schema.types, strict=True))
    assert n_rows == len(cells)
    assert open_table(path).read().equals(whole)


def test_a_type_that_changes_late_is_found(tmp_path):
    rows = 400_000  # some blocks
    path = text(
        tmp_path / "a.csv", "a,b,c\n" + "1,,2020-01-01\n" * rows + "2.5,x,2020-01-01 10:00\n"
    )
    table = open_table(path).read()
    assert table.schema.types == [pa.float64(), pa.string(), pa.timestamp("s")]
    assert len(table) == rows + 1
    assert table.slice(rows).to_pylist() == [{"a": 2.5, "b": "x", "c": dt.datetime(2020, 1, 1, 10)}]


kinds = st.sampled_from(
    [pa.null(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.time32("s"), pa.string()]
    + [pa.timestamp(unit, zone) for unit in ("s", "ns") for zone in (None, "UTC")]
)


@given(kinds, kinds, kinds)
def test_the_common_type_is_a_least_upper_bound(a, b, c):
    assert common_type(a, a) == a
    assert common_type(a, b) == common_type(b, a)
    assert common_type(common_type(a, b), c) == common_type(a, common_type(b, c))
    assert common_type(a, pa.null()) == a
    assert common_type(a, pa.string()) == pa.string()


def test_missing_values_are_missing_in_numbers_and_in_text(tmp_path):
    path = text(tmp_path / "a.csv", 'n,t\n1,x\nNA,NA\n"",""\n,\nNaN,None\n')
    assert open_table(path).read().to_pydict() == {"n": [1] + [None] * 4, "t": ["x"] + [None] * 4}


def test_a_byte_order_mark_and_line_ends_of_windows_do_not_matter(tmp_path):
    path = text(tmp_path / "a.csv", b"\xef\xbb\xbfa,b\r\n1,x\r\n")
    assert open_table(path).read().to_pydict() == {"a": [1], "b": ["x"]}


def test_columns_may_be_named_by_whole_numbers_and_with_any_sign(tmp_path):
    assert open_table(text(tmp_path / "a.csv", "0,1\n5,6\n")).schema.names == ["0", "1"]
    assert open_table(text(tmp_path / "b.csv", '"a;b"\n5\n')).schema.names == ["a;b"]


def test_given_types_are_kept(tmp_path):
    path = text(tmp_path / "a.csv", "code,flag,other\n007,1,08\n010,0,9\n")
    types = {"code": pa.string(), "flag": pa.bool_(), "absent": pa.int64()}
    found = {"code": ["007", "010"], "flag": [True, False]}
    assert open_table(path, types=types).read().to_pydict() == found | {"other": [8, 9]}
    kept = open_table(path, types=types, parsed=[])
    assert kept.n_rows is None
    assert kept.read().to_pydict() == found | {"other": ["08", "9"]}
    assert kept.n_rows == 2


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_last_value_may_have_several_lines(tmp_path, end):
    path = text(tmp_path / "a.csv", 'a,b\n1,"two\nlines"' + end)
    assert open_table(path).read().to_pydict() == {"a": [1], "b": ["two\nlines"]}


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    file = open_table(text(tmp_path / "a.csv", "a,b\n"))
    assert file.schema.names == ["a", "b"]
    assert (file.n_rows, len(file.read())) == (0, 0)


LONG = "a,b\n" + "1,x\n" * 1_000_000  # more than one block
WRONG = {
    "a;b\n1,5;2\n": "seems to be separated by ';', since it begins with 'a;b': pass --sep ';'",
    '"a";"b"\n1;2\n': "seems to be separated by ';'",
    "1.5,2\n3,4\n": "seems to have no header",
    "a,b,a\n1,2,3\n": "has several columns named 'a': rename all but one",
    "a,b\n1,2\n3\n": "row 3 (the header is row 1): the number of values is 1 instead of 2",
    "a,b\n1,2\n3,4,5\n": "row 3 (the header is row 1): the number of values is 3 instead of 2",
    'a,b\n"1,x\n3,4\n': "row 2 (the header is row 1).* close each quote",
    LONG + "3\n": "row 1000002 (the header is row 1): the number of values is 1 instead of 2",
    'a,b\n1,"' + "x\n" * 3_000_000: "a row is longer than 2 MB; a quote is perhaps not closed",
    'a,b\n1,x\n2,"y\n3,z\n': "ends within quotes: close the quote before 'y\\n3,z",
    b"a,b\n1,x\n2,caf\xe9\n": "row 3 (the header is row 1): column 'b' is not UTF-8; save the file",
    b"a,caf\xe9\n1,x\n": "the columns' names are not UTF-8; save the file",
    "a,b\n1,x\n".encode("utf-16"): "it is text in UTF-16; save it as CSV in UTF-8",
    b"PAR1....PAR1": "it is Parquet; rename it to .parquet",
    b"PK\x03\x04....": "it is an Excel file or a ZIP archive; save it as CSV",
    gzip.compress(b"a\n1\n"): "it is gzipped; rename it to .csv.gz",
    "": "is empty (0 bytes)",
    "\n\n": "has no columns",
}


@pytest.mark.parametrize(("content", "message"), WRONG.items(), ids=range(len(WRONG)))
def test_what_is_wrong_is_reported_with_the_file_the_place_and_the_remedy(
    tmp_path, content, message
):
    path = text(tmp_path / "my.csv", content)
    pattern = ".*".join(map(re.escape, message.split(".*")))
    with pytest.raises(ValueError, match=pattern) as message:
        open_table(path)
    assert str(path) in str(message.value)
    assert "\n" not in str(message.value)


@pytest.mark.parametrize("columns", [None, ["b"]])
def test_a_value_of_another_type_is_reported_with_its_place(tmp_path, columns):
    path = text(tmp_path / "new.csv", "a,b\nx,1\ny,many\n")
    file = open_table(path, types={"b": pa.int64()})
    with pytest.raises(
        ValueError, match="column 'b' has the value 'many', where a whole"
    ) as message:
        file.read(columns)
    assert f"{path}, row 3 (the header is row 1)" in str(message.value)


def test_a_type_that_csv_does_not_have_is_reported(tmp_path):
    path = text(tmp_path / "a.csv", "a\nx\n")
    with pytest.raises(ValueError, match=r"a\.csv: the type list<.*> cannot be read from CSV"):
        open_table(path, types={"a": pa.list_(pa.int64())}).read()


def test_a_gzipped_file_that_is_cut_or_not_gzipped_is_reported(tmp_path):
    whole = gzip.compress(b"a,b\n" + bytes(f"{list(range(5000))}", "ascii"))
    with pytest.raises(ValueError, match="cut off or damaged"):
        open_table(text(tmp_path / "a.csv.gz", whole[:-20]))
    with pytest.raises(ValueError, match="it is text; rename it"):
        open_table(text(tmp_path / "b.csv.gz", "a,b\n1,2\n"))


def parsed(content):
    """Rows as Arrow parses them."""
    exact = csv.ConvertOptions(
        column_types=dict.fromkeys("ab", pa.string()), strings_can_be_null=False, null_values=[]
    )
    reading = csv.ReadOptions(use_threads=False)
    parsing = csv.ParseOptions(newlines_in_values=True)
    return csv.read_csv(io.BytesIO(content), reading, parsing, exact).to_pylist()


pieces = st.sampled_from(
    ['"', '""', ",", "\n", "\r", "\r\n", "x", "é", " ", '"x"', '"x\ny"', "1,2\n"]
)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    body=st.lists(pieces, max_size=25).map("".join),
    start=st.sampled_from(["", "\ufeff", "\n", "\ufeff\r\n"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    block=st.integers(1, 40),
)
@example(body='5" pipe,"a\nb"\n1,2\n', start="", end="\n", block=1)  # a quote within a value
@example(body='"a""b\n",2\r\n\r\n"",3', start="\ufeff", end="\r\n", block=2)
def test_records_are_cut_where_arrow_cuts_them(tmp_path, body, start, end, block):
    content = f"{start}a,b{end}{body}".encode()
    try:
        rows = parsed(content)
    except pa.ArrowInvalid:
        return  # no table
    path = text(tmp_path / "a.csv", content)
    records = Records(path, Dialect.of(path), block)
    try:
        taken, rest = records.take(len(rows)), records.rest()
    except ValueError as error:
        if "ends within quotes" in str(error):  # which Arrow does not mind
            return
        raise
    assert b"".join([records.header, *taken, rest]) == content
    for record, row in zip(taken, rows, strict=True):
        assert parsed(b"a,b\n" + record) == [row]


@pytest.mark.parametrize("content", ["a", "a\n", "a\n1", "a\n\n1\n\n", "\ufeffa\n1"])
def test_small_files_have_all_their_records(tmp_path, content):
    path = text(tmp_path / "a.csv", content)
    records = Records(path, Dialect.of(path))
    taken = records.take(content.count("1"))
    assert b"".join([records.header, *taken, records.rest()]).decode() == content


def test_gzipped_records_are_those_inside(tmp_path):
    path = text(tmp_path / "a.tsv.gz", gzip.compress(b'a\tb\n1\t"2\n3"\n'))
    records = Records(path, Dialect.of(path))
    assert (records.header, records.take(1)) == (b"a\tb\n", [b'1\t"2\n3"\n'])


def test_a_number_of_records_that_does_not_fit_is_refused(tmp_path):
    path = text(tmp_path / "a.csv", "a\n1\n2\n")
    with pytest.raises(ValueError, match="has fewer rows than were read"):
        Records(path, Dialect.of(path)).take(3)
    with pytest.raises(ValueError, match="has more rows than were read"):
        Records(path, Dialect.of(path)).rest()
