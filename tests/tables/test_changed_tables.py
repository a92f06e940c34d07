"""A table that somebody writes to while it is read is refused: passes would see other rows."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plcp.tables import calibrate_file, choose_roles
from plcp.tables.io import open_table

ROLES = choose_roles(["s"], score="s")


def drawing(file, then):
    """The table; once rows of it were drawn, something happens to it."""
    draw = file.draw

    def draw_and_go_on(*args, **options):
        sample = draw(*args, **options)
        then()
        return sample

    file.draw = draw_and_go_on
    return file


def write(path, values):
    pq.write_table(pa.table({"s": np.asarray(values, dtype=float)}), path)


@pytest.mark.parametrize("most", [100, 1000])
@pytest.mark.parametrize("values", [np.arange(50), np.arange(500)[::-1]])
def test_a_part_that_is_written_anew_is_named(tmp_path, most, values):
    for number in range(2):
        write(tmp_path / f"part.{number}.parquet", np.arange(500))
    file = drawing(open_table(tmp_path), lambda: write(tmp_path / "part.1.parquet", values))
    with pytest.raises(ValueError, match=r"changed while it was read: wait until no program"):
        calibrate_file(file, ROLES, most=most, method="split")


def test_rows_are_counted_in_every_pass(tmp_path):
    """A file of the same size and time may hold more rows all the same."""
    path = tmp_path / "cal.csv"
    path.write_text("s\n" + "111\n" * 300)
    before = path.stat()

    def rewritten():
        path.write_text("s\n" + "1\n" * 600)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    file = drawing(open_table(path), rewritten)
    with pytest.raises(ValueError, match=r"cal\.csv changed while it was read"):
        calibrate_file(file, ROLES, most=100, method="split")


def test_a_part_that_comes_later_changes_nothing(tmp_path):
    write(tmp_path / "part.0.parquet", np.arange(500))
    file = open_table(tmp_path)
    expected = calibrate_file(file, ROLES, most=100, method="split").rule.threshold_
    file = drawing(open_table(tmp_path), lambda: write(tmp_path / "part.1.parquet", [1e9] * 500))
    found = calibrate_file(file, ROLES, most=100, method="split").rule.threshold_
    assert found == expected
