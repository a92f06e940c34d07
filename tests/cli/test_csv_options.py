"""CSV as it is written around the world, and tables that go through the commands unchanged."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from people import people, read, write
from running import run

SPLIT = ("--target", "y", "--prediction", "yhat", "--method", "split")
EUROPE = ("--sep", ";", "--decimal", ",")


def european(table):
    """The table with semicolons, decimal commas and the day first."""
    lines = [";".join(table.column_names)]
    for row in table.to_pylist():
        cells = [
            value.strftime("%d/%m/%Y") if hasattr(value, "strftime") else str(value)
            for value in row.values()
        ]
        lines.append(";".join(cell.replace(".", ",") for cell in cells))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows, written in two ways."""
    folder = tmp_path_factory.mktemp("csv")
    rng = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + rng.integers(0, 500, 300).astype("m8[D]")
    table = pa.table({"day": days, "yhat": rng.normal(size=300), "y": rng.normal(size=300)})
    pa.csv.write_csv(table, folder / "plain.csv")
    (folder / "europe.csv").write_text(european(table))
    return folder


def test_the_same_rows_give_the_same_model_however_they_are_written(folder):
    plain = run("calibrate", "plain.csv", *SPLIT, "-o", "p.plcp", "--json", folder=folder)
    other = ("calibrate", "europe.csv", *SPLIT, *EUROPE, "-o", "e.plcp", "--json")
    groups = [json.loads(output.stdout)["groups"] for output in (plain, run(*other, folder=folder))]
    assert groups[0] == groups[1]


def test_days_come_first_where_the_user_is_noted(folder):
    by = ("--target", "y", "--prediction", "yhat", "--method", "rectified", "--features", "day")
    plain = run("calibrate", "plain.csv", *by, "-o", "dp.plcp", "--json", folder=folder)
    other = ("calibrate", "europe.csv", *by, *EUROPE, "--day-first", "-o", "de.plcp", "--json")
    printed = [json.loads(output.stdout) for output in (plain, run(*other, folder=folder))]
    assert printed[0]["columns"] == printed[1]["columns"]
    assert printed[0]["columns"][0]["kind"] == "dates"
    for name, options in {"plain": (), "europe": (*EUROPE, "--day-first")}.items():
        out = ("-o", f"{name}.parquet", *options)
        run("apply", "dp.plcp", f"{name}.csv", *out, folder=folder)
    sets = [read(folder / f"{name}.parquet")["threshold"] for name in ("plain", "europe")]
    assert sets[0].equals(sets[1])


def test_several_alphas_and_an_audit_that_searches_none_of_our_columns(folder):
    run(
        *("calibrate", "europe.csv", *SPLIT, *EUROPE, "-o", "two.plcp"),
        *("--alpha", "0.1", "--alpha", "0.02"),
        folder=folder,
    )
    run("apply", "two.plcp", "europe.csv", *EUROPE, "-o", "two.csv", folder=folder)
    old, new = ((folder / name).read_text().splitlines() for name in ("europe.csv", "two.csv"))
    assert new[0] == f"{old[0]};lower;upper;threshold;lower_0.02;upper_0.02;threshold_0.02"
    assert all(after.startswith(f"{before};") for before, after in zip(old, new, strict=True))
    for suffix, alpha in (("", "0.1"), ("_0.02", "0.02")):
        ends = ("--lower", f"lower{suffix}", "--upper", f"upper{suffix}", "--alpha", alpha)
        audited = ("audit", "two.csv", "--target", "y", *ends, *EUROPE, "--json")
        printed = json.loads(run(*audited, folder=folder).stdout)
        assert printed["overall"]["audited"]["hits"] == np.ceil((1 - float(alpha)) * 301)
        unsearched = {note.split("'")[1] for note in printed["notes"] if note.startswith("Column")}
        assert unsearched >= {"threshold", "threshold_0.02"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sep", "::"), "sep must be one of"),
        (("--decimal", ";"), "decimal must be . or ,"),
        (("--decimal", ","), "as in --sep ';'"),
        ((), "pass --sep ';'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_remedy(folder, options, words):
    wrong = ("calibrate", "europe.csv", *SPLIT, *options, "-o", "wrong.plcp")
    assert words in run(*wrong, folder=folder, code=2).stderr


def test_no_name_and_no_value_steers_the_terminal(tmp_path):
    evil = "\x1b]0;owned\x07 \x9b31m \u202e\n\rplcp: all is well"
    table = people(80)
    names = [evil + name if name in ("sex", "school") else name for name in table.column_names]
    schools = pa.array([evil + value for value in table["school"].to_pylist()])
    at = table.column_names.index("school")
    table = table.rename_columns(names).set_column(at, names[at], schools)
    write(table, tmp_path / "cal.parquet")
    roles = ("--target", "income", "--prediction", "predicted")
    grouped = ("--method", "mondrian", "--by", names[at], "-o", "m.plcp")
    output = [
        run("calibrate", "cal.parquet", *roles, "--groups", "2", "-o", "p.plcp", folder=tmp_path),
        run("calibrate", "cal.parquet", *roles, *grouped, "--json", folder=tmp_path),
        run("explain", "p.plcp", folder=tmp_path),
        run("calibrate", "cal.parquet", "--target", "no", "-o", "x.plcp", folder=tmp_path, code=2),
        run("apply", "m.plcp", "cal.parquet", "-o", "out.csv", folder=tmp_path),
        run("report", "m.plcp", "out.csv", "-o", "r.html", "--by", names[at], folder=tmp_path),
    ]
    missing = people(80).drop_columns(["school"]).append_column(evil, pa.array(["x"] * 80))
    write(missing, tmp_path / "new.parquet")
    output.append(run("apply", "m.plcp", "new.parquet", "-o", "o.csv", folder=tmp_path, code=2))
    for one in output:
        text = one.stdout + one.stderr
        assert [sign for sign in text if not sign.isprintable() and sign != "\n"] == []
        assert not any(line.startswith("plcp: all") for line in text.splitlines())
