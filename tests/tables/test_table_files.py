"""Files of one table: damage is named, samples depend on the seed alone."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from disk_tables import numbers, text, write
from hypothesis import given, strategies as st

from plcp.tables.io import ARROW, CSV, PARQUET, STREAM, format_of, open_table, sample_rows


def refused(path, message, kind=ValueError):
    with pytest.raises(kind, match=message) as message:
        open_table(path).read()
    assert str(path) in str(message.value)
    assert "\n" not in str(message.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.parquet", PARQUET),
        ("A.PQ", PARQUET),
        ("a.b.csv", CSV),
        ("a.TSV.gz", CSV),
        ("a.feather", ARROW),
        ("a.ipc", ARROW),
    ],
)
def test_the_name_gives_the_format(name, kind):
    assert format_of(name) is kind


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz", "parquet", "a.csv.zip"])
def test_other_names_are_refused_with_those_that_are_known(name, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    refused(tmp_path / name, rf"{re.escape(name)}: .*\.parquet, .*\.csv, .*\.arrow")


def test_the_nearest_name_is_reported_for_a_missing_file(tmp_path):
    write(tmp_path / "calibration.parquet", numbers(1))
    refused(
        tmp_path / "calibraton.parquet", "did you mean .*calibration.parquet", FileNotFoundError
    )
    refused(tmp_path / "zzz.csv", "is the path right", FileNotFoundError)
    refused(tmp_path / "no" / "a.csv", "is the path right", FileNotFoundError)


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "a.parquet").mkdir()
    refused(tmp_path / "a.parquet", "is a folder without a table in it")
    (tmp_path / "b.csv").symlink_to("/dev/null")
    refused(tmp_path / "b.csv", "is not a file on disk", OSError)


def test_a_file_that_may_not_be_read_is_reported(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", numbers(1))

    def denied(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)  # the superuser is never denied anything
    refused(path, "cannot be read: you have no right to", PermissionError)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_a_file_that_is_gone_meanwhile_is_not_called_damaged(tmp_path, ending):
    file = open_table(write(tmp_path / f"a.{ending}", numbers(3)))
    file.path.unlink()
    with pytest.raises(FileNotFoundError, match=file.path.name):
        file.read()


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.99])
def test_a_file_that_is_cut_off_is_reported(tmp_path, ending, share):
    whole = write(tmp_path / f"whole.{ending}", numbers(3000)).read_bytes()
    path = text(tmp_path / f"cut.{ending}", whole[: int(share * len(whole))])
    refused(path, "it is cut off or damaged; copy or write it again")


def test_a_page_that_is_damaged_is_reported_when_it_is_read(tmp_path):
    path = write(tmp_path / "a.parquet", pa.table({"x": [f"{i}" for i in range(5000)]}))
    content = bytearray(path.read_bytes())
    content[100:600] = bytes(500)
    refused(text(tmp_path / "b.parquet", bytes(content)), "it is cut off or damaged")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_of_another_format_is_reported(tmp_path, ending):
    refused(text(tmp_path / f"a.{ending}", "a,b\n1,2\n"), "it is text; rename it to .csv")
    refused(text(tmp_path / f"b.{ending}", b""), "is empty")
    refused(text(tmp_path / f"c.{ending}", b"\x93NUMPY\0"), "damaged, or of another format")
    other = {"parquet": "arrow", "arrow": "parquet"}[ending]
    content = write(tmp_path / f"d.{other}", numbers(1)).read_bytes()
    refused(text(tmp_path / f"d.{ending}", content), f"rename it to .{other}")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_columns_of_one_name_are_refused(tmp_path, ending):
    table = pa.Table.from_arrays([pa.array([1])] * 3, ["a", "b", "b"])
    refused(write(tmp_path / f"a.{ending}", table), "several columns named 'b': rename")


def test_offsets_that_point_nowhere_are_refused_before_they_are_followed(tmp_path):
    path = write(tmp_path / "a.arrow", pa.table({"word": ["three", "longer", "words"]}))
    ends = np.array([0, 5, 11, 16], dtype=np.int32).tobytes()
    content = path.read_bytes()
    assert content.count(ends) == 1
    back = np.array([0, 11, 5, 16], dtype=np.int32).tobytes()
    path.write_bytes(content.replace(ends, back))
    refused(path, "is cut off or damaged")


@pytest.mark.parametrize(
    ("sign", "remedy"), [(";", "pass --sep ';'"), ("\t", "rename it to .tsv"), ("|", "--sep")]
)
def test_another_separator_is_reported_with_its_remedy(tmp_path, sign, remedy):
    (tmp_path / "a.csv").write_text(f"age{sign}income\n3{sign}4\n")
    refused(tmp_path / "a.csv", f"separated by {re.escape(repr(sign))}.*{re.escape(remedy)}")


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_the_rows_are_those_with_the_smallest_random_numbers(rows):
    batches, schema = numbers(100).to_batches(max_chunksize=rows), numbers(100).schema
    for seed in range(30):  # a row near the limit is rare
        keys = np.random.default_rng([seed, STREAM]).random(100)
        sample = sample_rows(batches, schema, most=20, seed=seed)
        assert sample.rows.tolist() == sorted(np.argsort(keys)[:20])
        assert sample.table["row"].to_pylist() == sample.rows.tolist()


@given(
    n=st.integers(0, 60),
    most=st.integers(1, 70),
    one=st.integers(1, 61),
    other=st.integers(1, 61),
    seed=st.integers(0, 2**32),
)
def test_the_sample_has_its_size_and_order_and_no_trace_of_the_batches(n, most, one, other, seed):
    table = numbers(n)
    first, second = (
        sample_rows(table.to_batches(max_chunksize=size), table.schema, most=most, seed=seed)
        for size in (one, other)
    )
    assert first.table.equals(second.table)
    rows = first.table["row"].to_numpy()
    assert len(rows) == min(n, most)
    assert (np.diff(rows) > 0).all()
    assert (first.table["half"].to_numpy() == rows / 2).all()
    assert (first.rows == rows).all()
    assert (second.rows == rows).all()


def test_all_formats_give_the_same_rows(tmp_path):
    samples = [
        open_table(write(tmp_path / f"a.{ending}", numbers(3000), 700)).read(most=50, seed=3)
        for ending in ("parquet", "csv", "arrow")
    ]
    assert samples[0].equals(samples[1])
    assert samples[0].equals(samples[2])
    assert len(samples[0]) == 50


def test_seeds_differ_and_columns_do_not_matter(tmp_path):
    file = open_table(write(tmp_path / "a.parquet", numbers(3000)))
    assert not file.read(most=50, seed=1).equals(file.read(most=50, seed=2))
    assert file.read(["half"], most=50)["half"].equals(file.read(most=50)["half"])
    assert file.read(most=3000).equals(file.read())


def test_no_rows_at_all_cannot_be_requested():
    with pytest.raises(ValueError, match="at least one row must be drawn, got most=0"):
        sample_rows([], pa.schema({"x": pa.int64()}), most=0, seed=0)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.arrow"])
def test_a_sample_is_noted_to_be_one(tmp_path, name):
    table = open_table(write(tmp_path / name, numbers(50)))
    assert table.sample_note(len(table.read(most=50))) == []
    (message,) = table.sample_note(len(table.read(most=20)))
    assert message == f"A random sample of 20 of 50 rows in {name} was taken."
    assert open_table(tmp_path / name).sample_note(len(table.read())) == []
