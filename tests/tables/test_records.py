"""Records of CSV files as bytes are those that Arrow parses."""

import gzip
import io

import pyarrow as pa
import pytest
from disk_tables import text
from hypothesis import HealthCheck, example, given, settings, strategies as st
from pyarrow import csv

from plcp.tables.csv import Dialect, Records


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
