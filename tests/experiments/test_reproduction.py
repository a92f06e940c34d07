"""One call, or one command, from a name to a page."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import coin_tosses
from coin_tosses import HANG, bare, coin, wait_for_tosses, where
from plcp.cli import main
from plcp.experiments import NAMES, find_experiment, reproduce
from plcp.experiments.report import to_text
from plcp.experiments.runner import Ledger

# The command, tosses of a coin in place of the experiment; PAUSE and the command's arguments.
COMMAND = """
import sys
import plcp.experiments.runner
from coin_tosses import coin
from plcp.cli import main
slow = coin(pause=float(sys.argv[1]))
plcp.experiments.runner.find_experiment = lambda name: slow
sys.exit(main(sys.argv[2:]))
"""


def started(pause, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(pause), "reproduce", "toy", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(Path(coin_tosses.__file__).parent), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.fixture
def coins(monkeypatch):
    """Let every name be that of the coin."""
    experiment = coin()
    monkeypatch.setattr("plcp.experiments.runner.find_experiment", lambda name: experiment)
    return experiment


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_an_experiment_with_two_settings(name):
    experiment = find_experiment(name)
    assert experiment.name == name
    assert experiment.trials >= 1
    for settings in (experiment.settings, experiment.quick):
        assert json.loads(json.dumps(settings)) == settings  # as records will hold them
        assert 0 < settings["alpha"] < 1
    assert experiment.settings.keys() == experiment.quick.keys()
    assert experiment.settings != experiment.quick


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"'imagenet': take one of toy, synthetic"):
        find_experiment("imagenet")


def test_trials_seeds_and_files_are_those_asked_for(coins, tmp_path):
    done = reproduce("toy", trials=3, seed=5, out=tmp_path)
    assert [record["seed"] for record in done.records] == [5, 6, 7]
    assert all(path.exists() for path in done.files)
    assert {path.name for path in done.files} >= {"toy.jsonl", "toy.md", "toy.svg", "README.md"}


def test_a_quick_run_leaves_the_full_one_alone(coins, tmp_path):
    full = reproduce("toy", out=tmp_path)
    before = {path: path.read_bytes() for path in full.files}
    quick = reproduce("toy", out=tmp_path, quick=True)
    assert len(full.records) == coins.trials
    assert len(quick.records) == 2
    assert {record["settings"]["tosses"] for record in quick.records} == {2}
    assert {record["settings"]["tosses"] for record in full.records} == {10}
    assert {path: path.read_bytes() for path in full.files} == before
    assert all(path.name.startswith("toy-quick") for path in quick.files)


def test_records_of_other_data_or_another_version_are_not_mixed_in(coins, tmp_path, monkeypatch):
    reproduce("toy", trials=2, out=tmp_path)
    monkeypatch.setattr("plcp.experiments.runner.version", lambda package: "9.9")
    other = reproduce("toy", trials=2, out=tmp_path)
    assert {record["settings"]["plcp"] for record in other.records} == {"9.9"}
    object.__setattr__(coins, "files", lambda data_dir: {"coin.csv": "0af1"})
    other = reproduce("toy", trials=2, out=tmp_path)
    assert {record["settings"]["data"]["coin.csv"] for record in other.records} == {"0af1"}
    assert len(list(Ledger(tmp_path / "toy.jsonl"))) == 6


@pytest.mark.parametrize("trials", [0, -1, 2.0, "3", True])
def test_a_number_of_trials_that_is_none_is_refused(coins, tmp_path, trials):
    with pytest.raises(ValueError, match=rf"trials must be a whole number.* got {trials!r}"):
        reproduce("toy", trials=trials, out=tmp_path)


@pytest.mark.parametrize("seed", [-1, 1.0, None, "3", True])
def test_a_seed_that_is_none_is_refused(coins, tmp_path, seed):
    with pytest.raises(ValueError, match=rf"seed must be a whole number.* got {seed!r}"):
        reproduce("toy", seed=seed, out=tmp_path)


def test_a_quick_page_says_so(coins, tmp_path):
    reproduce("toy", quick=True, out=tmp_path)
    page = (tmp_path / "toy-quick.md").read_text(encoding="utf-8")
    assert "`plcp reproduce toy --trials 2 --quick`" in page
    assert "(a quick run: small settings" in page
    reproduce("toy", trials=1, out=tmp_path)
    for name in ("toy.md", "README.md"):
        assert "quick" not in (tmp_path / name).read_text(encoding="utf-8")


def test_a_notebook_sees_what_came_out_and_a_prompt_one_line(coins, tmp_path):
    done = reproduce("toy", trials=2, out=tmp_path)
    assert repr(done) == f"<Tosses: 2 trials, page in {tmp_path / 'toy.md'}>"
    assert done._repr_markdown_() == to_text(done.report)


def test_results_do_not_go_into_a_file(coins, tmp_path):
    (tmp_path / "here").touch()
    with pytest.raises(NotADirectoryError, match="here is a file: results go into a directory"):
        reproduce("toy", out=tmp_path / "here")


def test_workers_read_the_data_whose_hash_is_recorded(coins, tmp_path, monkeypatch):
    object.__setattr__(coins, "run", where)
    object.__setattr__(coins, "report", bare)
    for name in ("one", "two"):  # the workers of the first call serve the second, in its place
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PLCP_DATA", "data")
        done = reproduce("toy", trials=2, n_jobs=2, out=folder)
        assert {record["results"]["place"] for record in done.records} == {str(folder / "data")}


@pytest.mark.parametrize("package", ["filelock", "matplotlib", "tqdm"])
def test_what_the_end_needs_is_asked_for_at_the_start(coins, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"need {package}.*pip install 'plcp\[experiments\]'"):
        reproduce("toy", out=tmp_path / "new", verbose=True)
    assert not (tmp_path / "new").exists()


def test_the_command_prints_the_page_and_the_files(coins, tmp_path, capsys):
    assert main(["reproduce", "toy", "--trials", "2", "--jobs", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "heads on average" in said.out
    assert f"wrote {tmp_path / 'toy.svg'}" in said.out
    assert "2/2" in said.err  # the progress bar


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (["imagenet"], "'imagenet'"),
        (["toy", "--trials", "0"], "--trials"),
        (["toy", "--trials", "x"], "--trials"),
        (["toy", "--seed", "-1"], "--seed"),
        (["toy", "--jobs", "0"], "0 is neither"),
        (["toy", "--jobs", "-2"], "-2 is neither"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_runs(wrong, named, capsys):
    assert main(["reproduce", *wrong]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (FileNotFoundError("put a.csv into b"), 2, "plcp: put a.csv into b"),
        (ValueError("line 3 is no record"), 2, "plcp: line 3 is no record"),
        (KeyboardInterrupt(), 130, "the same command goes on"),
    ],
)
def test_what_goes_wrong_is_one_line(monkeypatch, tmp_path, capsys, error, code, said):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("plcp.experiments.reproduce", fail)
    assert main(["reproduce", "toy", "--out", str(tmp_path)]) == code
    assert said in capsys.readouterr().err


def test_a_polite_end_is_one_line_too(tmp_path):
    with started(0.2, "--jobs", "2", "--out", tmp_path, COIN_STUCK_FROM="5") as program:
        wait_for_tosses(program, tmp_path / "toy.jsonl", 1)
        program.terminate()
        said = program.communicate(timeout=HANG)[1]
    assert program.returncode == 130
    assert said.strip().endswith(b"finished trials are kept, the same command goes on")
    assert 1 <= len(list(Ledger(tmp_path / "toy.jsonl"))) < coin().trials


def test_pages_are_utf8_wherever_they_are_written(tmp_path):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with started(0, "--jobs", "1", "--out", tmp_path, **plain) as program:
        out, said = program.communicate(timeout=HANG)
    assert program.returncode == 0, said.decode()
    assert b"| heads | five |" in out
    assert "| – |" in (tmp_path / "toy.md").read_text(encoding="utf-8")
