"""Folders of parts, by the commands: the same as of one file, and mistakes printed."""

import json
from itertools import pairwise

import pytest
from people import people, read, write
from running import INCOME, run

from plcp.cli import WRONG

N = 1200
SPLIT = (*INCOME, "--method", "split")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows in one file and in three parts, and a model."""
    folder = tmp_path_factory.mktemp("folders")
    table = people(N)
    write(table, folder / "rows.parquet")
    (folder / "parts").mkdir()
    (folder / "parts" / "_SUCCESS").touch()
    for number, (start, end) in enumerate(pairwise((0, 500, 500, N))):
        rows = table.slice(start, end - start)
        write(rows, folder / "parts" / f"part-{number:05d}-c000.snappy.parquet")
    run("calibrate", "parts", *SPLIT, "-o", "split.plcp", folder=folder)
    return folder


def printed(folder, *arguments):
    return json.loads(run(*arguments, "--json", folder=folder).stdout)


def without(about):
    return {key: value for key, value in about.items() if key not in ("file", "digest", "made_at")}


@pytest.mark.parametrize("rows", [N, 300])
def test_a_folder_calibrates_as_its_rows_in_one_file(folder, rows):
    found = [
        printed(folder, "calibrate", name, *INCOME, "--method", "mondrian", "--by", "school",
             "--rows", rows, "-o", f"{name}-{rows}.plcp")
        for name in ("parts", "rows.parquet")
    ]  # fmt: skip
    assert found[0]["groups"] == found[1]["groups"]
    assert sum(group["size"] for group in found[0]["groups"]) == N  # all of them, though 300 held
    assert without(found[0]["about"]) == without(found[1]["about"])
    assert found[0]["about"]["file"] == "parts"


def test_more_rows_than_are_held_are_reported_apart(folder):
    learn = ("calibrate", "parts", *INCOME, "--features", "age,school", "--groups", "2")
    output = run(*learn, "--rows", "400", "-o", "few.plcp", "--json", folder=folder)
    sentence = "the groups were learned from a random sample of 400 rows, and their thresholds "
    assert f"{sentence}read off the other 800 rows of parts" in output.stderr
    about = json.loads(output.stdout)["about"]
    assert (about["rows"], about["rows_learned_from"]) == (N, 400)
    weighted = run("calibrate", "parts", *SPLIT, "--weight", "age", "--rows", "400", "-o",
                   "w.plcp", folder=folder)  # fmt: skip
    assert "A random sample of 400 of 1,200 rows in parts was taken." in weighted.stderr


def test_a_folder_becomes_a_folder_or_a_file(folder):
    assert printed(folder, "apply", "split.plcp", "parts", "-o", "sets")["rows"] == N
    run("apply", "split.plcp", "parts", "-o", "sets.parquet", folder=folder)
    run("apply", "split.plcp", "rows.parquet", "-o", "same.parquet", folder=folder)
    one, same = read(folder / "sets.parquet"), read(folder / "same.parquet")
    assert one.equals(same)
    assert read(folder / "sets").equals(same)
    names = [path.name for path in (folder / "parts").glob("part*")]
    assert sorted(path.name for path in (folder / "sets").iterdir()) == sorted(names)
    again = ("apply", "split.plcp", "parts", "-o", "sets")
    assert "is not empty" in run(*again, folder=folder, code=WRONG).stderr
    run(*again, "--force", folder=folder)


def test_report_and_audit_read_folders(folder):
    run("apply", "split.plcp", "parts", "-o", "audited", folder=folder)
    ends = ("--target", "income", "--lower", "lower", "--upper", "upper", "--exclude", "id")
    summary = printed(folder, "audit", "audited", *ends)
    assert summary["n_rows"] == N
    assert "audited" in summary["title"]
    summary = printed(folder, "report", "split.plcp", "parts", "-o", "page.html")
    assert "the same SHA-256" in summary["headline"]["warning"]


MISTAKES = {
    "nothing in it": (("calibrate", "empty", *SPLIT, "-o", "x.plcp"), "without a table in it"),
    "into itself": (("apply", "split.plcp", "parts", "-o", "parts/out"), "a part of parts itself"),
    "no such ending": (("apply", "split.plcp", "parts", "-o", "out.v2"),
                       "or name a folder, without an ending"),
    "a file to a folder": (("apply", "split.plcp", "rows.parquet", "-o", "out"), "its format"),
    "a folder of other things": (("apply", "split.plcp", "parts", "-o", "home", "--force"),
                                 "letter.txt, which is no part of a table, and is not replaced"),
    "a strange part": (("apply", "split.plcp", "strange", "-o", "out"), "a.parquet has no column"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_reported_in_a_line_and_nothing_is_written(folder, mistake):
    arguments, words = MISTAKES[mistake]
    for name in ("empty", "home", "strange"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "home" / "letter.txt").touch()
    write(people(3).drop_columns(["age"]), folder / "strange" / "a.parquet")
    write(people(3), folder / "strange" / "b.parquet")
    before = sorted(folder.rglob("*"))
    output = run(*arguments, folder=folder, code=WRONG)
    assert words in output.stderr
    assert output.stderr.count("\n") == 1
    assert sorted(folder.rglob("*")) == before
