"""What people get wrong: one sentence that names it and its remedy, an exit code, and no harm."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from people import people, read, write

from plcp.cli import DONE, WRONG, main

INCOME = ("--target", "income", "--prediction", "predicted")
LEARN = ("calibrate", "cal.csv", *INCOME, "-o", "new.plcp")
QUICK = (*LEARN, "--method", "split")
AUDIT = ("audit", "sets.csv", "--target", "income", "--lower", "lower", "--upper", "upper")
COMPARE = ("compare", "cal.csv", *INCOME)
N = 60


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables and models, whole and broken."""
    folder = tmp_path_factory.mktemp("mistakes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        table = people(N)
        ends = {"lower": table["predicted"], "upper": table["income"]}
        chances = {"p_a": np.full(N, 0.7), "p_b": np.full(N, 0.3), "label": ["a", "b"] * (N // 2)}
        for ending in ("csv", "parquet", "arrow"):
            path = write(table, folder / f"cal.{ending}")
            write(table.slice(0, 0), folder / f"none.{ending}")
            (folder / f"empty.{ending}").write_bytes(b"")
            (folder / f"cut.{ending}").write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        write(pa.table({**dict(zip(table.column_names, table, strict=True)), **ends}),
              folder / "sets.csv")  # fmt: skip
        write(pa.table(chances), folder / "classes.csv")
        write(people(3), folder / "three.csv")
        write(table.drop_columns(["age"]), folder / "no-age.csv")
        write(with_column(table, "age", ["old"] * N), folder / "age-in-words.csv")
        write(with_column(table, "predicted", [*["20"] * (N - 1), "oops"]), folder / "typo.csv")
        write(with_column(table, "school", [*["PhD"] * 7, *["none"] * 53]), folder / "phd.csv")
        for name, weights in {"below": -1.0, "zero": 0.0}.items():
            write(with_column(table, "w", np.full(N, weights)), folder / f"{name}.csv")
        assert main(["calibrate", "cal.csv", *INCOME, "-o", "m.plcp"]) == DONE
        assert main(["calibrate", "cal.csv", *INCOME, "--method", "split", "-o", "s.plcp"]) == DONE
        (folder / "cut.plcp").write_bytes((folder / "m.plcp").read_bytes()[:1000])
    return folder


def with_column(table, name, values):
    """The table with other values in a column, or with one more."""
    if name in table.column_names:
        table = table.drop_columns([name])
    return table.append_column(name, pa.array(values))


def options(**given):
    """A quick calibration with other options."""
    return (*QUICK, *(word for name, value in given.items() for word in (f"--{name}", value)))


MISTAKES = {
    "target": (("calibrate", "cal.csv", "--target", "incme", "--prediction", "predicted", "-o",
                "new.plcp"), "no column 'incme' in cal.csv: did you mean 'income'?"),
    "categories": (options(categories="agee"), "did you mean 'age'?"),
    "sensitive": (options(sensitive="sx"), "did you mean 'sex'?"),
    "confidence in percent": (options(confidence="95"), "confidence must lie in (0, 1), got 95"),
    "confidence out of fold": ((*LEARN, "--confidence", "0.95"),
                               "method 'plcp' keeps no confidence: use 'plcp-held-out' or"),
    "by": (options(by="sexx"), "did you mean 'sex'?"),
    "no probabilities": (("calibrate", "cal.csv", "--target", "sex", "--probabilities", "p_*",
                          "-o", "new.plcp"), "no column of cal.csv is like 'p_*'"),
    "no star": (("calibrate", "classes.csv", "--target", "label", "--probabilities", "p_a,p_b",
                 "-o", "new.plcp"), "write a star for the label, as in 'p_*'"),
    "text among numbers": (("calibrate", "typo.csv", *INCOME, "-o", "new.plcp"), "'oops'"),
    "negative weights": (("calibrate", "below.csv", *INCOME, "--weight", "w", "-o", "new.plcp"),
                         "weight 'w' holds -1, but weights are not negative"),
    "no weight": (("calibrate", "zero.csv", *INCOME, "--weight", "w", "-o", "new.plcp"),
                  "weight 'w' is 0 in every row"),
    "alpha 0": (options(alpha="0"), "alpha must lie in (0, 1), got 0.0: 0.1 asks for sets that"),
    "alpha nan": (options(alpha="nan"), "got nan"),
    "alpha in words": (options(alpha="low"), "--alpha"),
    "more groups than rows": ((*LEARN, "--groups", "1000"), "got 1000"),
    "model's ending": ((*QUICK[:-4], "-o", "new.csv"), "new.csv is to be a .plcp file"),
    "no folder": ((*QUICK[:-4], "-o", "no/new.plcp"), "make the folder"),
    "model is there": ((*QUICK[:-4], "-o", "m.plcp"), "m.plcp exists: name another file, or"),
    "missing table": (("calibrate", "cal.parqet", *INCOME, "-o", "new.plcp"),
                      "there is no file cal.parqet: did you mean cal.parquet?"),
    "model as table": (("calibrate", "m.plcp", *INCOME, "-o", "new.plcp"), ".parquet, .pq"),
    "missing model": (("apply", "mm.plcp", "cal.csv", "-o", "new.csv"),
                      "there is no file mm.plcp: did you mean m.plcp?"),
    "folder as model": (("explain", "."), "is a folder: name a file in it"),
    "table as model": (("apply", "cal.csv", "cal.csv", "-o", "new.csv"), "cal.csv cannot be read"),
    "model and table swapped": (("apply", "cal.csv", "m.plcp", "-o", "new.csv"),
                                "m.plcp is a model, not a table: name the model first"),
    "cut model": (("apply", "cut.plcp", "cal.csv", "-o", "new.csv"), "no model, or not a complete"),
    "missing column": (("apply", "m.plcp", "no-age.csv", "-o", "new.csv"), "no column 'age' in no"),
    "other kind": (("apply", "m.plcp", "age-in-words.csv", "-o", "new.csv"),
                   "in CSV one word makes text of all"),
    "names clash": (("apply", "s.plcp", "sets.csv", "-o", "new.csv"), "--prefix plcp_"),
    "output is there": (("apply", "s.plcp", "cal.csv", "-o", "cal.parquet"), "with --force"),
    "output is input": (("apply", "s.plcp", "cal.csv", "-o", "cal.csv"), "cal.csv exists"),
    "output of no format": (("apply", "s.plcp", "cal.csv", "-o", "new.xlsx"), ".parquet, .pq"),
    "no outcomes": (("report", "s.plcp", "classes.csv", "-o", "new.html"),
                    "no column 'predicted' in classes.csv: its columns are p_a, p_b"),
    "page over a model": (("report", "s.plcp", "cal.csv", "-o", "s.plcp", "--force"),
                          "s.plcp is to be a .html file"),
    "page over a table": ((*AUDIT, "-o", "cal.csv", "--force"), "cal.csv is to be a .html file"),
    "bins of text": (("report", "s.plcp", "cal.csv", "--by", "sex:3", "-o", "new.html"),
                     "leave out :3"),
    "report by": (("report", "s.plcp", "cal.csv", "--by", "sxe", "-o", "new.html"), "'sex'?"),
    "no groups": (("explain", "s.plcp"), "the method split learns none"),
    "audit of nothing": (("audit", "cal.csv"), "name target, lower and upper"),
    "audited column": ((*AUDIT[:-1], "uper"), "did you mean 'upper'?"),
    "audit by": ((*AUDIT, "--by", "sexx"), "did you mean 'sex'?"),
    "unknown method": ((*COMPARE, "--methods", "split,plpc"), "no method is called 'plpc'"),
    "no method": ((*COMPARE, "--methods", ","), "methods names none"),
    "compared without predictions": (COMPARE[:4], "no column of predictions is given"),
    "compared by": ((*COMPARE, "--by", "sexx"), "did you mean 'sex'?"),
    "one fold": ((*COMPARE, "--cv", "1"), "--cv"),
    "compared confidence": ((*COMPARE, "--confidence", "95"), "confidence must lie in (0, 1)"),
    "picture over a table": ((*COMPARE, "-o", "cal.csv", "--force"), "is to be a .png file"),
    "groups alone": ((*COMPARE, "--methods", "mondrian"), "mondrian: no groups are given"),
    "unlikely confidence": ((*AUDIT, "--confidence", "95"), "confidence must lie in (0, 1)"),
}  # fmt: skip
for ending in ("csv", "parquet", "arrow"):
    for kind, words in {"empty": "0 bytes", "none": "has no rows", "cut": f"cut.{ending}"}.items():
        arguments = ("calibrate", f"{kind}.{ending}", *INCOME, "-o", "new.plcp")
        MISTAKES[f"{kind} {ending}"] = (arguments, words)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_in_one_line_and_nothing_is_touched(
    name, tables, monkeypatch, capsys
):
    monkeypatch.chdir(tables)
    before = {path.name: path.stat().st_mtime_ns for path in tables.iterdir()}
    arguments, words = MISTAKES[name]
    assert main([*arguments]) == WRONG
    output = capsys.readouterr()
    assert words in output.err
    assert output.out == ""
    if output.err.startswith("plcp: "):  # else a usage in a frame
        assert output.err.count("\n") == 1
    assert {path.name: path.stat().st_mtime_ns for path in tables.iterdir()} == before


QUICKLY_FOUND = [
    ("calibrate", "no.csv", *INCOME, "-o", "new.plcp"),
    ("calibrate", "cal.csv", *INCOME, "-o", "new.csv"),
    ("calibrate", "cal.csv", *INCOME, "-o", "no/new.plcp"),
    ("calibrate", "cal.csv", "--target", "incme", "--prediction", "predicted", "-o", "new.plcp"),
    ("calibrate", "cal.csv", "--target", "income", "-o", "new.plcp"),
    (*LEARN, "--alpha", "90"),
    (*LEARN, "--method", "plpc"),
    (*LEARN, "--exclude", "schol"),
    ("apply", "no.plcp", "cal.csv", "-o", "new.csv"),
    ("apply", "m.plcp", "no.csv", "-o", "new.csv"),
    ("apply", "m.plcp", "cal.csv", "-o", "cal.csv"),
    ("report", "no.plcp", "cal.csv", "-o", "new.html"),
    ("report", "m.plcp", "no.csv", "-o", "new.html"),
    ("report", "m.plcp", "cal.csv", "-o", "new.csv"),
    ("report", "m.plcp", "cal.csv", "--confidence", "95", "-o", "new.html"),
    ("explain", "no.plcp"),
    ("audit", "cal.csv"),
    ("audit", "no.csv", "--covered", "sex"),
    (*AUDIT[:-1], "uper"),
    (*AUDIT, "--by", "sexx"),
    (*AUDIT, "--by", "age:1"),
    (*AUDIT, "--alpha", "0"),
    (*AUDIT, "--fail-under", "0"),
    (*AUDIT, "-o", "new.csv"),
    ("compare", "no.csv", *INCOME),
    COMPARE[:4],
    (*COMPARE, "--methods", "plpc"),
    (*COMPARE, "--alpha", "90"),
    (*COMPARE, "--by", "sexx"),
    (*COMPARE, "-o", "new.csv"),
    ("demo", "--out", "no/new.png"),
    ("reproduce", "toi"),
]


def test_a_mistake_is_found_before_anything_heavy_is_imported(tables):
    code = (
        "import sys; from plcp.cli import main;"
        f"codes = [main([*arguments]) for arguments in {QUICKLY_FOUND}];"
        "heavy = {'jinja2', 'matplotlib', 'pandas', 'scipy', 'sklearn', 'skops'};"
        "print(codes, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tables, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{[WRONG] * len(QUICKLY_FOUND)} []\n", done.stderr


def test_values_not_in_calibration_are_counted_beside_the_result(tables, monkeypatch, capsys):
    monkeypatch.chdir(tables)
    assert main(["apply", "m.plcp", "phd.csv", "-o", "phd-sets.csv", "--json"]) == DONE
    output = capsys.readouterr()
    (printed,) = json.loads(output.out)["notes"]
    assert "7 rows hold values of 'school' that calibration rows lack ('PhD': 7)" in printed
    assert output.err == f"plcp: {printed}\n"


@pytest.mark.parametrize("method", ["plcp", "split", "mondrian"])
def test_too_few_rows_give_infinite_thresholds_and_valid_json(
    method, tables, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tables)
    by = ["--by", "sex"] if method == "mondrian" else []
    out = str(tmp_path / "few.plcp")
    few = ["calibrate", "three.csv", *INCOME, "--method", method, *by, "-o", out, "--json"]
    assert main(few) == DONE
    output = capsys.readouterr()
    assert {group["threshold"] for group in json.loads(output.out)["groups"]} == {"inf"}
    assert "threshold is infinite" in output.err


def test_names_that_resemble_markup_or_options_stay_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = ["an id", "age, in years", '"school"', "[red]sex", "hé<b>", "day", "--target", "y y"]
    write(people(N).rename_columns(names), tmp_path / "a table.csv")
    roles = ("--target=y y", "--prediction=--target")
    learn = ["calibrate", "a table.csv", *roles, "--method", "mondrian", "--by", "[red]sex"]
    assert main([*learn, "-o", "a model.plcp"]) == DONE
    assert "[red]sex" in capsys.readouterr().out
    assert main(["apply", "a model.plcp", "a table.csv", "-o", "a set.csv"]) == DONE
    assert read(tmp_path / "a set.csv").column_names[: len(names)] == names
