"""A thousand fits in one process leave nothing behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

FALSE_ALARM = 1e-6
SCRIPT = Path(__file__).with_name("many_fits.py")


def rises(series):
    """Whether a series goes up by more than chance: Kendall's rank test against time."""
    if np.ptp(series) == 0:
        return False
    return kendalltau(np.arange(len(series)), series, alternative="greater").pvalue < FALSE_ALARM


@pytest.fixture(scope="module")
def held():
    """Return what a process of its own held after each window of its last 500 fits."""
    done = subprocess.run(
        [sys.executable, SCRIPT, "1000"], env=os.environ, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("what", ["objects", "blocks", "resident"])
def test_nothing_grows_over_the_last_five_hundred_fits(held, what):
    assert not rises(held[what]), held[what]


def test_a_leak_of_one_object_a_window_would_be_noticed(rng):
    noise = rng.integers(-3, 4, 31)
    assert not rises(noise)
    assert rises(noise + 2 * np.arange(31))
