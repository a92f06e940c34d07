"""Trials are run once, kept in a ledger, resumed after a stop, and made into a page."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from joblib import parallel_config

import coin_tosses
from coin_tosses import HANG, SEEDS, bare, coin, together, wait_for_tosses, where
from plcp.cli import main
from plcp.experiments import NAMES, find_experiment, reproduce
from plcp.experiments.runner import Ledger, as_json_values, run_trials


def record(seed, **settings):
    return {"seed": seed, "settings": settings, "results": seed * seed}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "deep" / "coin.jsonl")


def fill(ledger, *records):
    with ledger.opened():
        for one in records:
            ledger.append(one)


def test_what_is_written_is_read_back_a_line_each(ledger):
    fill(ledger, record(3, n=1), record(1, n=1))
    assert ledger.of({"n": 1}) == {3: record(3, n=1), 1: record(1, n=1)}
    assert [json.loads(line)["seed"] for line in ledger.path.read_text().splitlines()] == [3, 1]


def test_records_of_other_settings_stay_and_are_not_read(ledger):
    fill(ledger, record(0, n=1), record(0, n=2), record(0, n=1, more=None))
    assert ledger.of({"n": 2}) == {0: record(0, n=2)}
    assert ledger.of({"n": 3}) == {}
    assert len(list(ledger)) == 3


def test_settings_are_compared_as_json_gives_them_back(ledger):
    fill(ledger, as_json_values(record(0, levels=(0, 1), by={1: 2})))
    assert set(ledger.of({"levels": (0, 1), "by": {1: 2}})) == {0}
    assert ledger.of({"levels": (0, 1.5), "by": {1: 2}}) == {}


def test_of_two_records_of_a_seed_the_first_counts(ledger):
    fill(ledger, record(0, n=1), {**record(0, n=1), "results": "again"})
    assert ledger.of({"n": 1})[0]["results"] == 0


@pytest.mark.parametrize("kept", [1, 10, -1])
def test_an_unfinished_line_is_cut_off_before_the_next_is_written(ledger, kept):
    fill(ledger, record(0, n=1))
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole + whole[:kept])  # -1: all but the newline
    assert set(ledger.of({"n": 1})) == {0}
    fill(ledger, record(1, n=1))
    assert ledger.path.read_bytes().startswith(whole)
    assert set(ledger.of({"n": 1})) == {0, 1}


@pytest.mark.parametrize("stranger", [b"", b"7", b"[]", b'{"seed": 1}', b"\xff"])
def test_a_line_that_is_no_record_is_named(ledger, stranger):
    fill(ledger, record(0, n=1))
    with ledger.path.open("ab") as file:
        file.write(stranger + b"\n")
    with pytest.raises(ValueError, match=r"line 2 of .*coin\.jsonl is no record"):
        ledger.of({"n": 1})


def test_what_an_editor_does_to_the_file_loses_no_record(ledger):
    fill(ledger, record(0, n=1), record(1, n=1))
    edited = b"\xef\xbb\xbf" + ledger.path.read_bytes().replace(b"\n", b"\r\n").rstrip()
    ledger.path.write_bytes(edited)  # a mark of UTF-8, other ends of lines, none at the end
    assert set(ledger.of({"n": 1})) == {0, 1}
    fill(ledger, record(2, n=1))
    assert ledger.path.read_bytes().startswith(edited)
    assert set(ledger.of({"n": 1})) == {0, 1, 2}


def test_only_one_run_writes_at_a_time(ledger):
    other = Ledger(ledger.path)
    with (
        ledger.opened(),
        pytest.raises(RuntimeError, match=r"another run is writing to .*coin\.jsonl"),
        other.opened(),
    ):
        pass
    with other.opened():  # free again
        other.append(record(0, n=1))


def test_what_json_cannot_hold_is_refused(ledger):
    with ledger.opened(), pytest.raises(ValueError, match="JSON"):
        ledger.append(record(0, n=float("inf")))
    assert list(ledger) == []


@pytest.fixture
def trial_ledger(tmp_path):
    return Ledger(tmp_path / "coin.jsonl")


def run(experiment, trial_ledger, seeds=SEEDS, **options):
    return run_trials(experiment, experiment.settings, seeds, trial_ledger, **options)


def heads(records):
    return {record["seed"]: record["results"]["heads"] for record in records}


def seeds_in(trial_ledger):
    return [record["seed"] for record in trial_ledger]


def test_records_come_in_the_order_of_the_seeds_and_states_what_they_are(trial_ledger):
    records = run(coin(), trial_ledger, [5, 2])
    assert [record["seed"] for record in records] == [5, 2]
    for record in records:
        assert record["experiment"] == "coin"
        assert record["settings"] == coin().settings
        assert {"python", "plcp", "numpy", "scipy", "scikit-learn"} <= record["versions"].keys()
        assert record["seconds"] >= 0


def test_finished_trials_are_not_run_again(trial_ledger):
    first = run(coin(), trial_ledger, SEEDS[:5])
    content = trial_ledger.path.read_bytes()
    assert run(coin(), trial_ledger, SEEDS[:5]) == first
    assert trial_ledger.path.read_bytes() == content
    longer = run(coin(), trial_ledger)
    assert longer[:5] == first  # the very records, times included
    assert trial_ledger.path.read_bytes().startswith(content)
    assert sorted(seeds_in(trial_ledger)) == list(SEEDS)


def test_results_do_not_depend_on_how_many_run_at_once(tmp_path):
    alone = run(coin(), Ledger(tmp_path / "one.jsonl"))
    many = run(coin(), Ledger(tmp_path / "two.jsonl"), n_jobs=2)
    assert heads(alone) == heads(many)
    assert {record["results"]["process"] for record in alone} == {os.getpid()}
    assert os.getpid() not in {record["results"]["process"] for record in many}


def test_the_backend_is_the_one_that_joblib_is_reported(trial_ledger):
    with parallel_config(backend="threading", n_jobs=2):
        records = run(coin(), trial_ledger)
    assert {record["results"]["process"] for record in records} == {os.getpid()}


def test_trials_in_threads_of_one_process_take_turns(trial_ledger):
    with parallel_config(backend="threading", n_jobs=4):
        records = run(replace(coin(pause=0.01), run=together), trial_ledger)
    assert {record["results"]["at_work"] for record in records} == {1}


def test_a_trial_that_fails_loses_no_other(trial_ledger):
    with pytest.raises(ArithmeticError, match="seed 7"):
        run(coin(bad_seed=7), trial_ledger)
    assert seeds_in(trial_ledger) == list(SEEDS[:7])
    assert len(run(coin(bad_seed=7), trial_ledger, SEEDS[:7])) == 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_goes_on_where_it_stopped(trial_ledger, tmp_path, jobs):
    pause = 0.2  # of shorter trials joblib would send several at once
    place = str(Path(coin_tosses.__file__).parent)
    program = subprocess.Popen(
        [sys.executable, coin_tosses.__file__, str(trial_ledger.path), str(pause), str(jobs)],
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": place, "COIN_STUCK_FROM": "5"},
    )
    try:
        wait_for_tosses(program, trial_ledger.path, 3)
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    before = trial_ledger.path.read_bytes()
    finished = before[: before.rfind(b"\n") + 1]
    assert 3 <= finished.count(b"\n") < len(SEEDS)  # it was killed at work
    slow = coin(pause=pause)
    records = run(slow, trial_ledger)
    assert trial_ledger.path.read_bytes().startswith(finished)  # nothing lost
    assert sorted(seeds_in(trial_ledger)) == list(SEEDS)  # nothing twice
    assert heads(records) == heads(run(coin(), Ledger(tmp_path / "undisturbed.jsonl")))
    kept = {json.loads(line)["seed"]: line for line in finished.splitlines()}
    assert {record["seed"]: record for record in records if record["seed"] in kept} == {
        seed: json.loads(line) for seed, line in kept.items()
    }


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


def test_trials_seeds_and_files_are_those_requested(coins, tmp_path):
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


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("trials", value) for value in (0, -1, 2.0, "3", True)),
        *(("seed", value) for value in (-1, 1.0, None, "3", True)),
    ],
)
def test_trials_and_seed_must_be_whole_numbers(coins, tmp_path, option, value):
    with pytest.raises(ValueError, match=rf"{option} must be a whole number.* got {value!r}"):
        reproduce("toy", out=tmp_path, **{option: value})


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
def test_what_the_end_needs_is_requested_at_the_start(coins, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"need {package}.*pip install 'plcp\[experiments\]'"):
        reproduce("toy", out=tmp_path / "new", verbose=True)
    assert not (tmp_path / "new").exists()


def test_the_command_prints_the_page_and_the_files(coins, tmp_path, capsys):
    assert main(["reproduce", "toy", "--trials", "2", "--jobs", "1", "--out", str(tmp_path)]) == 0
    message = capsys.readouterr()
    assert "heads on average" in message.out
    assert f"wrote {tmp_path / 'toy.svg'}" in message.out
    assert "2/2" in message.err  # the progress bar


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
    ("error", "code", "message"),
    [
        (FileNotFoundError("put a.csv into b"), 2, "plcp: put a.csv into b"),
        (ValueError("line 3 is no record"), 2, "plcp: line 3 is no record"),
        (KeyboardInterrupt(), 130, "the same command goes on"),
    ],
)
def test_what_goes_wrong_is_one_line(monkeypatch, tmp_path, capsys, error, code, message):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("plcp.experiments.reproduce", fail)
    assert main(["reproduce", "toy", "--out", str(tmp_path)]) == code
    assert message in capsys.readouterr().err


def test_a_polite_end_is_one_line_too(tmp_path):
    with started(0.2, "--jobs", "2", "--out", tmp_path, COIN_STUCK_FROM="5") as program:
        wait_for_tosses(program, tmp_path / "toy.jsonl", 1)
        program.terminate()
        message = program.communicate(timeout=HANG)[1]
    assert program.returncode == 130
    assert message.strip().endswith(b"finished trials are kept, the same command goes on")
    assert 1 <= len(list(Ledger(tmp_path / "toy.jsonl"))) < coin().trials


def test_pages_are_utf8_wherever_they_are_written(tmp_path):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with started(0, "--jobs", "1", "--out", tmp_path, **plain) as program:
        out, message = program.communicate(timeout=HANG)
    assert program.returncode == 0, message.decode()
    assert b"| heads | five |" in out
    assert "| – |" in (tmp_path / "toy.md").read_text(encoding="utf-8")
