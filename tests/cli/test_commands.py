"""From a table on disk to sets, an audit and a page, by the installed command."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import sklearn
from people import people, read, write
from running import INCOME, Output, run

import plcp
from plcp import SplitConformal
from plcp.cli import _doctor, main
from plcp.cli._demo import FIFTHS, format_table, plot_demo, run_demo

COMMAND = Path(sys.executable).with_name("plcp")
COMMANDS = (
    *("calibrate", "apply", "compare", "audit", "report", "explain"),
    *("demo", "reproduce", "doctor"),
)
N_CAL, N_TEST = 3000, 2000


def installed(*arguments, folder, code=0, **environment):
    """Run the installed command as a user would, and return what it output."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return Output(done.stdout, done.stderr)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables in every format, and a model."""
    folder = tmp_path_factory.mktemp("tables")
    write(people(N_CAL, seed=0), folder / "cal.parquet")
    for kind in ("parquet", "csv", "arrow"):
        write(people(N_TEST, seed=1), folder / f"test.{kind}")
    output = installed("calibrate", "cal.parquet", *INCOME, "-o", "income.plcp", folder=folder)
    (folder / "output.txt").write_text(output.stdout, encoding="utf-8")
    return folder


def test_calibrate_prints_groups_sizes_thresholds_and_the_guarantee(folder):
    output = (folder / "output.txt").read_text(encoding="utf-8")
    again = ("calibrate", "cal.parquet", *INCOME, "-o", "again.plcp", "--json")
    printed = json.loads(run(*again, folder=folder).stdout)
    assert printed["guarantee"]["text"][:30] in " ".join(output.split())
    assert sum(group["size"] for group in printed["groups"]) == N_CAL
    for group in printed["groups"]:
        assert f"{group['size']:,.0f}" in output
    columns = {one["column"]: one["kind"] for one in printed["columns"]}
    assert columns["age"] == "numbers"
    assert columns["school"] == columns["sex"] == "categories"
    assert columns["joined"] == "dates"
    assert columns["id"] not in ("numbers", "categories")  # it names rows, not kinds of them
    assert "income" not in columns


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_apply_keeps_rows_and_columns_and_adds_the_sets(folder, kind):
    command = installed if kind == "parquet" else run
    command("apply", "income.plcp", f"test.{kind}", "-o", f"sets-{kind}.{kind}", folder=folder)
    old, new = read(folder / f"test.{kind}"), read(folder / f"sets-{kind}.{kind}")
    assert new.column_names == [*old.column_names, "lower", "upper", "group", "threshold"]
    assert new.select(old.column_names).equals(old)
    lower, upper = new["lower"].to_numpy(), new["upper"].to_numpy()
    predicted, threshold = new["predicted"].to_numpy(), new["threshold"].to_numpy()
    np.testing.assert_allclose(upper - predicted, threshold)
    np.testing.assert_allclose(predicted - lower, threshold)


def test_report_and_json_show_the_same(folder):
    options = ("--by", "sex,age:3", "-o", "report.html")
    output = run("report", "income.plcp", "test.parquet", *options, "--json", folder=folder)
    summary = json.loads(output.stdout)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert len(page) < 3_000_000
    assert summary["methods"] == ["Split", "PLCP"]
    assert [one["column"] for one in summary["named"]] == ["sex", "age"]
    assert summary["headline"]["finding"] in page
    embedded = page.split('id="summary"', 1)[1].split(">", 1)[1].split("</script>", 1)[0]
    made = {"made at", "calibrated at"}
    assert _without(json.loads(embedded), made) == _without(summary, made)


def _without(summary, names):
    kept = [one for one in summary["provenance"] if one["name"] not in names]
    return {**summary, "provenance": kept}


def test_audit_finds_where_split_fails(folder):
    run("calibrate", "cal.parquet", *INCOME, "--method", "split", "-o", "s.plcp", folder=folder)
    write(people(20_000, seed=3), folder / "many.parquet")
    run("apply", "s.plcp", "many.parquet", "-o", "audited.parquet", folder=folder)
    ends = ("--target", "income", "--lower", "lower", "--upper", "upper", "--by", "school")
    known = ("audit", "audited.parquet", *ends, "--exclude", "id,threshold")
    failed = installed(*known, "--json", "--fail-under", "0.85", folder=folder, code=1)
    summary = json.loads(failed.stdout)
    worst = summary["learned"]["groups"][0]
    assert "age" in worst["rule"]
    assert "school" in worst["rule"]
    assert worst["cells"]["audited"]["verdict"] == "below"
    assert "doctorate" in failed.stderr
    run(*known, "--fail-under", "0.1", folder=folder)


def test_codes_of_an_audited_table_are_names(folder):
    rng = np.random.default_rng(0)
    job = rng.integers(1, 6, 6000)
    held = rng.random(6000) < np.where((job == 2) | (job == 4), 0.6, 0.95)
    write(pa.table({"job": job.astype(float), "held": held}), folder / "jobs.parquet")
    options = ("audit", "jobs.parquet", "--covered", "held", "--json", "--by", "job")
    printed = json.loads(run(*options, "--categories", "job", folder=folder).stdout)
    assert printed["learned"]["groups"][0]["rule"] == "job is 2 or 4"
    assert [group["name"] for group in printed["named"][0]["groups"]] == [
        f"job is {code}" for code in range(1, 6)
    ]


def test_explain_gives_every_group(folder):
    printed = json.loads(run("explain", "income.plcp", "--json", folder=folder).stdout)
    output = run("explain", "income.plcp", folder=folder).stdout
    assert all(group["rule"] in " ".join(output.split()) for group in printed["groups"])
    assert any("school" in one["text"] for group in printed["groups"] for one in group["profile"])
    for group in printed["groups"]:  # a rule is a name only where it describes the group
        assert not group["rule"] or min(group["precision"], group["recall"]) >= 0.8
        typical = "".join(one["text"] for one in group["profile"][:1])
        assert (group["rule"] or typical) in group["name"]
    assert printed["importance"][0]["feature"] in output


def test_classes_go_all_the_way(folder):
    rng = np.random.default_rng(0)
    chances = rng.dirichlet([1, 1, 1], 1500)
    label = [["cat", "dog", "owl"][rng.choice(3, p=p)] for p in chances]
    columns = {f"p_{name}": chances[:, i] for i, name in enumerate(["cat", "dog", "owl"])}
    write(pa.table({**columns, "label": label}), folder / "animals.csv")
    roles = ("--target", "label", "--probabilities", "p_*")
    run("calibrate", "animals.csv", *roles, "-o", "animals.plcp", folder=folder)
    run("apply", "animals.plcp", "animals.csv", "-o", "animals.parquet", folder=folder)
    sets = read(folder / "animals.parquet")["set"].to_pylist()
    assert {name for one in sets for name in one} == {"cat", "dog", "owl"}
    run("apply", "animals.plcp", "animals.csv", "-o", "animals-sets.csv", folder=folder)
    options = ("--target", "label", "--set", "set", "--json")
    summary = json.loads(run("audit", "animals-sets.csv", *options, folder=folder).stdout)
    assert read(folder / "animals.parquet").num_rows == summary["n_rows"]  # empty sets are sets
    covered = [name in one for name, one in zip(label, sets, strict=True)]
    assert summary["overall"]["audited"]["hits"] == sum(covered)


def test_each_label_is_covered_from_the_table_to_the_page(folder):
    rng = np.random.default_rng(0)
    names = ["1", "2", "30"]  # numbers are names of classes, too
    for file, n in (("kinds.parquet", 2000), ("new-kinds.csv", 4000)):
        chances = rng.dirichlet([3, 2, 0.3], n)
        label = [int(names[rng.choice(3, p=p)]) for p in chances]
        chances[:, 2] /= 10  # the rare class gets too little
        columns = {f"p_{name}": chances[:, i] for i, name in enumerate(names)}
        write(pa.table({**columns, "label": label}), folder / file)
    roles = ("--target", "label", "--probabilities", "p_*", "--method", "split")
    out = ("--label-conditional", "-o", "kinds.plcp")
    output = run("calibrate", "kinds.parquet", *roles, *out, folder=folder).stdout
    assert "P(covered | label) >= 0.9 for each of the 3 labels" in " ".join(output.split())
    run("apply", "kinds.plcp", "new-kinds.csv", "-o", "kinds.csv", folder=folder)
    run("apply", "kinds.plcp", "new-kinds.csv", "-o", "kinds-sets.parquet", folder=folder)
    applied = read(folder / "kinds-sets.parquet")
    pairs = zip(applied["label"].to_pylist(), applied["set"].to_pylist(), strict=True)
    held = np.array([label in one for label, one in pairs])
    options = ("--target", "label", "--set", "set", "--by", "label", "--json")
    audited = json.loads(run("audit", "kinds.csv", *options, folder=folder).stdout)
    page = ("-o", "kinds.html", "--json")
    output = run("report", "kinds.plcp", "new-kinds.csv", *page, folder=folder).stdout
    reported = json.loads(output)
    assert reported["methods"] == ["Split", "Split by label"]
    for summary, method in ((audited, "audited"), (reported, "Split by label")):
        [by_label] = summary["named"]
        assert [group["name"] for group in by_label["groups"]] == [f"label is {i}" for i in names]
        for name, group in zip(names, by_label["groups"], strict=True):
            rows = applied["label"].to_numpy() == int(name)
            assert group["cells"][method]["hits"] == held[rows].sum()
    rare = reported["named"][0]["groups"][2]["cells"]
    assert rare["Split"]["verdict"] == "below"
    assert rare["Split by label"]["verdict"] != "below"
    assert "label is 30" in (folder / "kinds.html").read_text(encoding="utf-8")
    refused = run("explain", "kinds.plcp", folder=folder, code=2).stderr
    assert "each label has thresholds of its own" in refused


def test_version_help_and_completion(folder):
    assert installed("--version", folder=folder).stdout.strip() == plcp.__version__
    for command in COMMANDS:
        output = run(command, "--help", folder=folder).stdout
        assert f"Example: plcp {command}" in output
        assert "--json" in output
    assert "complete" in installed(folder=folder, _PLCP_COMPLETE="source_bash").stdout
    words = {"COMP_WORDS": "plcp calibrate --method plc", "COMP_CWORD": "3"}
    offered = installed(folder=folder, _PLCP_COMPLETE="complete_bash", **words).stdout
    assert {"plcp", "plcp-split"} <= set(offered.split())


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=str)
def test_a_flag_is_shown_without_a_value(command, folder):
    assert "<bool>" not in run(*command, "--help", folder=folder).stdout.lower()


def test_no_command_imports_what_it_does_not_need():
    code = (
        "import sys; from plcp.cli import main; main(['--help']);"
        "print(sorted({'numpy', 'sklearn', 'pandas', 'pyarrow', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize(
    ("name", "same"), [("cal.parquet", 1), ("renamed.parquet", 1), ("test.parquet", 0)]
)
def test_the_calibration_file_is_known_again(folder, name, same):
    shutil.copy(folder / "cal.parquet", folder / "renamed.parquet")
    page = folder / f"{name}.html"
    output = run("report", "income.plcp", name, "-o", page, "--json", folder=folder)
    warning = json.loads(output.stdout)["headline"]["warning"]
    assert (warning is not None) == same
    assert output.stderr.count("proves nothing") == same
    assert ('class="warning"' in page.read_text(encoding="utf-8")) == same


@pytest.mark.parametrize("times", [1, 2])
def test_copies_are_warned_of(folder, times):
    table = pa.concat_tables([people(100)] * times)
    ends = {"low": pc.subtract(table["predicted"], 2), "high": pc.add(table["predicted"], 2)}
    for name, column in ends.items():
        table = table.append_column(name, column)
    data = write(table, folder / f"{times}.parquet")
    options = ("--target", "income", "--lower", "low", "--upper", "high", "--json")
    output = run("audit", data, *options, folder=folder)
    warning = json.loads(output.stdout)["headline"]["warning"]
    assert ("copies" in output.stderr) == (warning is not None) == (times > 1)


@pytest.fixture(scope="module")
def outcomes():
    return run_demo(n_train=2000, n_cal=2000, n_test=2000)


def test_demo_compares_split_with_plcp(outcomes):
    split, ours = outcomes
    assert (split.name, ours.name) == ("Split", "PLCP")
    assert np.ptp(split.table.size) < 1e-9  # all rows get the same length
    assert ours.msce < split.msce


def test_table_shows_every_fifth_and_what_holds(outcomes):
    text = format_table(outcomes)
    assert all(label in text for label in FIFTHS)
    assert all(str(outcome.guarantee) in text for outcome in outcomes)


def test_plot_is_a_picture(outcomes, tmp_path):
    plot_demo(outcomes, tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_command_saves_its_plot(outcomes, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("plcp.cli._demo.run_demo", lambda seed: outcomes)
    assert main(["demo", "--out", str(tmp_path / "here.png")]) == 0
    assert "MSCE" in capsys.readouterr().out
    assert (tmp_path / "here.png").exists()


def test_doctor_names_versions_and_tests_coverage(tmp_path):
    shown = run("doctor", folder=tmp_path).stdout
    assert f"plcp: {plcp.__version__}" in shown
    assert f"scikit-learn {sklearn.__version__}" in shown
    assert "plcp[torch]: torch" in shown
    assert "self-test: passed" in shown
    found = json.loads(run("doctor", "--json", folder=tmp_path).stdout)
    assert found["self-test"]["passed"]
    assert found["core"]["numpy"] == np.__version__


def test_doctor_fails_where_coverage_breaks_its_law(tmp_path, monkeypatch):
    monkeypatch.setattr(SplitConformal, "predict", lambda self, X: np.full(len(X), np.inf))
    assert "FAILED" in run("doctor", folder=tmp_path, code=1).stdout


def test_doctor_says_what_is_not_installed(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("plcp.cli._doctor.version", missing)
    assert _doctor.installed("torch") is None
