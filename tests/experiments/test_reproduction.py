"""One call, or one command, from a name to a page."""

import json
import sys

import pytest

from coin_tosses import coin
from plcp.cli import main
from plcp.experiments import NAMES, find_experiment, reproduce
from plcp.experiments.ledger import Ledger


@pytest.fixture
def coins(monkeypatch):
    """Let every name be that of the coin."""
    experiment = coin()
    monkeypatch.setattr("plcp.experiments.reproduction.find_experiment", lambda name: experiment)
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


def test_quick_and_full_records_lie_beside_each_other_unmixed(coins, tmp_path):
    quick = reproduce("toy", out=tmp_path, quick=True)
    assert len(quick.records) == 2
    full = reproduce("toy", out=tmp_path)
    assert len(full.records) == coins.trials
    assert {record["settings"]["tosses"] for record in quick.records} == {2}
    assert {record["settings"]["tosses"] for record in full.records} == {10}
    assert len(list(Ledger(tmp_path / "toy.jsonl"))) == 2 + coins.trials


def test_records_of_other_data_or_another_version_are_not_mixed_in(coins, tmp_path, monkeypatch):
    reproduce("toy", trials=2, out=tmp_path)
    monkeypatch.setattr("plcp.experiments.reproduction.version", lambda package: "9.9")
    other = reproduce("toy", trials=2, out=tmp_path)
    assert {record["settings"]["plcp"] for record in other.records} == {"9.9"}
    object.__setattr__(coins, "files", lambda data_dir: {"coin.csv": "0af1"})
    other = reproduce("toy", trials=2, out=tmp_path)
    assert {record["settings"]["data"]["coin.csv"] for record in other.records} == {"0af1"}
    assert len(list(Ledger(tmp_path / "toy.jsonl"))) == 6


@pytest.mark.parametrize("trials", [0, -1, 2.0, "3", True])
def test_a_number_of_trials_that_is_none_is_refused(coins, tmp_path, trials):
    with pytest.raises(ValueError, match=rf"trials={trials!r}"):
        reproduce("toy", trials=trials, out=tmp_path)


@pytest.mark.parametrize("package", ["filelock", "matplotlib"])
def test_what_the_end_needs_is_asked_for_at_the_start(coins, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"need {package}.*pip install 'plcp\[experiments\]'"):
        reproduce("toy", out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_command_prints_the_page_and_the_files(coins, tmp_path, capsys):
    assert main(["reproduce", "toy", "--trials", "2", "--jobs", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "heads on average" in said.out
    assert f"wrote {tmp_path / 'toy.svg'}" in said.out
    assert "2/2" in said.err  # the progress bar


@pytest.mark.parametrize(
    "wrong",
    [["imagenet"], ["toy", "--trials", "0"], ["toy", "--trials", "x"], ["toy", "--seed", "-1"]],
)
def test_a_wrong_command_is_refused_before_anything_runs(wrong, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["reproduce", *wrong])
    assert wrong[-1] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (FileNotFoundError("put a.csv into b"), 1, "plcp: put a.csv into b"),
        (KeyboardInterrupt(), 130, "the same command goes on"),
    ],
)
def test_what_goes_wrong_is_one_line(monkeypatch, tmp_path, capsys, error, code, said):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("plcp.experiments.reproduce", fail)
    assert main(["reproduce", "toy", "--out", str(tmp_path)]) == code
    assert said in capsys.readouterr().err
