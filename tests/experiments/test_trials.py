"""Trials: none twice, none lost, whoever is killed, and the same on any number of cores."""

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
from coin_tosses import SEEDS, coin, together, wait_for_tosses
from plcp.experiments.runner import Ledger, run_trials


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "coin.jsonl")


def run(experiment, ledger, seeds=SEEDS, **options):
    return run_trials(experiment, experiment.settings, seeds, ledger, **options)


def heads(records):
    return {record["seed"]: record["results"]["heads"] for record in records}


def seeds_in(ledger):
    return [record["seed"] for record in ledger]


def test_records_come_in_the_order_of_the_seeds_and_say_what_they_are(ledger):
    records = run(coin(), ledger, [5, 2])
    assert [record["seed"] for record in records] == [5, 2]
    for record in records:
        assert record["experiment"] == "coin"
        assert record["settings"] == coin().settings
        assert {"python", "plcp", "numpy", "scipy", "scikit-learn"} <= record["versions"].keys()
        assert record["seconds"] >= 0


def test_finished_trials_are_not_run_again(ledger):
    first = run(coin(), ledger, SEEDS[:5])
    content = ledger.path.read_bytes()
    assert run(coin(), ledger, SEEDS[:5]) == first
    assert ledger.path.read_bytes() == content
    longer = run(coin(), ledger)
    assert longer[:5] == first  # the very records, times included
    assert ledger.path.read_bytes().startswith(content)
    assert sorted(seeds_in(ledger)) == list(SEEDS)


def test_other_settings_are_run_for_themselves(ledger):
    run(coin(), ledger)
    other = run(coin(tosses=1000), ledger)
    assert all(record["settings"]["tosses"] == 1000 for record in other)
    assert seeds_in(ledger) == [*SEEDS, *SEEDS]


def test_results_do_not_depend_on_how_many_run_at_once(tmp_path):
    alone = run(coin(), Ledger(tmp_path / "one.jsonl"))
    many = run(coin(), Ledger(tmp_path / "two.jsonl"), n_jobs=2)
    assert heads(alone) == heads(many)
    assert {record["results"]["process"] for record in alone} == {os.getpid()}
    assert os.getpid() not in {record["results"]["process"] for record in many}


def test_the_backend_is_the_one_that_joblib_is_told(ledger):
    with parallel_config(backend="threading", n_jobs=2):
        records = run(coin(), ledger)
    assert {record["results"]["process"] for record in records} == {os.getpid()}


def test_trials_in_threads_of_one_process_take_turns(ledger):
    with parallel_config(backend="threading", n_jobs=4):
        records = run(replace(coin(pause=0.01), run=together), ledger)
    assert {record["results"]["at_work"] for record in records} == {1}


def test_the_bar_counts_trials_of_earlier_runs(ledger, capsys):
    run(coin(), ledger, SEEDS[:5], verbose=True)
    assert "5/5" in capsys.readouterr().err
    run(coin(), ledger, verbose=True)
    bar = capsys.readouterr().err
    assert "5/12" in bar
    assert "12/12" in bar
    run(coin(), ledger, verbose=True)
    assert capsys.readouterr().err == ""  # nothing to do


def test_a_trial_that_fails_loses_no_other(ledger):
    with pytest.raises(ArithmeticError, match="seed 7"):
        run(coin(bad_seed=7), ledger)
    assert seeds_in(ledger) == list(SEEDS[:7])
    assert len(run(coin(bad_seed=7), ledger, SEEDS[:7])) == 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_goes_on_where_it_stopped(ledger, tmp_path, jobs):
    pause = 0.2  # of shorter trials joblib would send several at once
    place = str(Path(coin_tosses.__file__).parent)
    program = subprocess.Popen(
        [sys.executable, coin_tosses.__file__, str(ledger.path), str(pause), str(jobs)],
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": place, "COIN_STUCK_FROM": "5"},
    )
    try:
        wait_for_tosses(program, ledger.path, 3)
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    before = ledger.path.read_bytes()
    finished = before[: before.rfind(b"\n") + 1]
    assert 3 <= finished.count(b"\n") < len(SEEDS)  # it was killed at work
    slow = coin(pause=pause)
    records = run(slow, ledger)
    assert ledger.path.read_bytes().startswith(finished)  # nothing lost
    assert sorted(seeds_in(ledger)) == list(SEEDS)  # nothing twice
    assert heads(records) == heads(run(coin(), Ledger(tmp_path / "undisturbed.jsonl")))
    kept = {json.loads(line)["seed"]: line for line in finished.splitlines()}
    assert {record["seed"]: record for record in records if record["seed"] in kept} == {
        seed: json.loads(line) for seed, line in kept.items()
    }
