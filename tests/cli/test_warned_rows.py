"""Rows that prove less than they seem to are warned of, in every command."""

import json
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from people import people, write

from plcp.cli import main


def run(*arguments):
    """Exit code of a command, run in this process."""
    return main([*map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    for seed, name in enumerate(("cal.parquet", "test.parquet")):
        write(people(200, seed=seed), folder / name)
    shutil.copy(folder / "cal.parquet", folder / "renamed.parquet")
    roles = ("--target", "income", "--prediction", "predicted", "--method", "split")
    assert run("calibrate", folder / "cal.parquet", *roles, "-o", folder / "m.plcp") == 0
    return folder


@pytest.mark.parametrize(
    ("name", "same"), [("cal.parquet", 1), ("renamed.parquet", 1), ("test.parquet", 0)]
)
def test_the_calibration_file_is_known_again(folder, capsys, name, same):
    page = folder / f"{name}.html"
    assert run("report", folder / "m.plcp", folder / name, "-o", page, "--json") == 0
    output = capsys.readouterr()
    warning = json.loads(output.out)["headline"]["warning"]
    assert (warning is not None) == same
    assert output.err.count("proves nothing") == same
    assert ('class="warning"' in page.read_text(encoding="utf-8")) == same


@pytest.mark.parametrize("times", [1, 2])
def test_copies_are_warned_of(folder, capsys, times):
    table = pa.concat_tables([people(100)] * times)
    ends = {"low": pc.subtract(table["predicted"], 2), "high": pc.add(table["predicted"], 2)}
    for name, column in ends.items():
        table = table.append_column(name, column)
    data = write(table, folder / f"{times}.parquet")
    options = ("--target", "income", "--lower", "low", "--upper", "high", "--json")
    assert run("audit", data, *options) == 0
    output = capsys.readouterr()
    assert ("copies" in output.err) == (json.loads(output.out)["headline"]["warning"] is not None)
    assert ("copies" in output.err) == (times > 1)
