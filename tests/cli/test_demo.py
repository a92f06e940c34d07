"""The command runs, prints a table, and draws."""

import subprocess
import sys

import numpy as np
import pytest

import plcp
from plcp.cli import main
from plcp.cli._demo import FIFTHS, format_table, plot_demo, run_demo


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
    assert all(outcome.guarantee in text for outcome in outcomes)


def test_plot_is_a_picture(outcomes, tmp_path):
    plot_demo(outcomes, tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_command_saves_its_plot(outcomes, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("plcp.cli._demo.run_demo", lambda seed: outcomes)
    assert main(["demo", "--out", str(tmp_path / "here.png")]) == 0
    assert "MSCE" in capsys.readouterr().out
    assert (tmp_path / "here.png").exists()


def test_installed_command_answers():
    done = subprocess.run(
        [sys.executable, "-c", "from plcp.cli import main; main(['--version'])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == plcp.__version__
