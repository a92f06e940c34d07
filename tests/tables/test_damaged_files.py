"""Files that are not there, not whole, or not what their names say."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from disk_tables import numbers, text, write

from plcp.tables.files import Format, format_of
from plcp.tables.io import open_table


def refused(path, message, kind=ValueError):
    with pytest.raises(kind, match=message) as told:
        open_table(path).read()
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.parquet", Format.PARQUET),
        ("A.PQ", Format.PARQUET),
        ("a.b.csv", Format.CSV),
        ("a.TSV.gz", Format.CSV),
        ("a.feather", Format.ARROW),
        ("a.ipc", Format.ARROW),
    ],
)
def test_the_name_tells_the_format(name, kind):
    assert format_of(name) is kind


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz", "parquet", "a.csv.zip"])
def test_other_names_are_refused_with_those_that_are_known(name, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    refused(tmp_path / name, rf"{re.escape(name)}: .*\.parquet, \.csv .* \.arrow")


def test_the_nearest_name_is_told_for_a_missing_file(tmp_path):
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


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
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
def test_a_file_that_is_cut_off_is_told(tmp_path, ending, share):
    whole = write(tmp_path / f"whole.{ending}", numbers(3000)).read_bytes()
    path = text(tmp_path / f"cut.{ending}", whole[: int(share * len(whole))])
    refused(path, "it is cut off or damaged; copy or write it again")


def test_a_page_that_is_damaged_is_told_when_it_is_read(tmp_path):
    path = write(tmp_path / "a.parquet", pa.table({"x": [f"{i}" for i in range(5000)]}))
    content = bytearray(path.read_bytes())
    content[100:600] = bytes(500)
    refused(text(tmp_path / "b.parquet", bytes(content)), "it is cut off or damaged")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_of_another_format_is_told(tmp_path, ending):
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
def test_another_separator_is_told_with_its_remedy(tmp_path, sign, remedy):
    (tmp_path / "a.csv").write_text(f"age{sign}income\n3{sign}4\n")
    refused(tmp_path / "a.csv", f"separated by {re.escape(repr(sign))}.*{re.escape(remedy)}")
