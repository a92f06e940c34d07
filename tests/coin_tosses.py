"""A small experiment of our own: tosses of a coin, as slow as is wanted.

Run as a program it tosses until it is done or killed: ``python coin_tosses.py LEDGER PAUSE JOBS``.
Where ``COIN_STUCK_FROM`` is in the environment, tosses of that seed and later ones never end.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

from plcp.datasets._files import data_directory
from plcp.experiments.report import Claim, Experiment, Line, Report, Table
from plcp.experiments.runner import Ledger, run_trials

SEEDS = range(12)
HANG = 1800  # seconds: only a program that hangs is waited for so long
at_work: list[int] = []


def toss(settings, seed, data_dir):
    stuck = seed >= int(os.environ.get("COIN_STUCK_FROM", len(SEEDS)))
    time.sleep(HANG if stuck else settings["pause"])
    if seed == settings.get("bad_seed"):
        raise ArithmeticError(f"the coin of seed {seed} stood on its edge")
    heads = np.random.default_rng(seed).binomial(settings["tosses"], 0.5)
    return {"heads": int(heads), "process": os.getpid()}


def where(settings, seed, data_dir):
    """Say where this process looks for data."""
    return {"place": str(data_directory(data_dir)[0].absolute())}


def together(settings, seed, data_dir):
    """Say how many trials of this process are under way."""
    at_work.append(seed)
    time.sleep(settings["pause"])
    count = len(at_work)
    at_work.remove(seed)
    return {"at_work": count}


def wait_for_tosses(program, path, n):
    """Wait until a started program has n trials in its ledger."""
    end = time.monotonic() + HANG
    while not path.exists() or path.read_bytes().count(b"\n") < n:
        assert program.poll() is None, "it ended by itself"
        assert time.monotonic() < end, f"it did not finish {n} trials"
        time.sleep(0.02)


def draw():
    from matplotlib.figure import Figure

    return Figure(figsize=(2, 1))


def report(records):
    heads = [record["results"]["heads"] for record in records]
    return Report(
        title="Tosses",
        reading=[f"{np.mean(heads):.1f} heads on average."],
        tables=[Table("Heads", ["seed", "heads"], [[str(s), str(h)] for s, h in enumerate(heads)])],
        figures={"main": draw, "again": draw},
        captions={"again": "The coin, drawn again."},
        lines=[Line("heads", "five", heads, [], 1)],
        claims=[Claim("some heads", f"{max(heads)}", max(heads) > 0)],
        notes=["A coin is no experiment of the paper."],
    )


def bare(records):
    """As little as a report can be."""
    return Report("Bare", ["Nothing."], [], {"main": draw})


def coin(**options):
    settings = {"tosses": 10, "pause": 0.0, "alpha": 0.1, **options}
    return Experiment("coin", settings, settings | {"tosses": 2}, 12, toss, report)


if __name__ == "__main__":
    slow = coin(pause=float(sys.argv[2]))
    ledger = Ledger(Path(sys.argv[1]))
    run_trials(slow, slow.settings, SEEDS, ledger, n_jobs=int(sys.argv[3]))
