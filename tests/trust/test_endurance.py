"""A thousand fits leave nothing behind; no damaged or altered file crashes or hangs ``load``.

``PLCP_FUZZ_SECONDS`` sets how long files are damaged: 20 by default, 60 where ``CI`` is set.
``fuzz/load.py`` is the long version, led by coverage; ``fuzz/altered.py`` of altered values.
"""

import json
import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest
from own_process import WINDOW, run

pytestmark = pytest.mark.slow

# What a window would leave at least. Free lists of numpy keep tens of blocks and give them back,
# in no order, so blocks are counted per fit; objects are tracked one by one.
LEAST = {"objects": 1, "blocks": WINDOW, "resident": mmap.PAGESIZE}
FUZZ = Path(__file__).parents[2] / "fuzz"
SECONDS = os.environ.get("PLCP_FUZZ_SECONDS", "60" if "CI" in os.environ else "20")
MAX_MEGABYTES = 1000
ALTERED = 300


@pytest.fixture(scope="module")
def held():
    """Return what a process of its own held after each window of its last 500 fits."""
    return run("held", "1000")


@pytest.mark.parametrize("what", LEAST)
def test_no_window_of_fits_leaves_anything_behind(held, what):
    """Numbers wander by a few, each near the last, so no rank test holds; but their sum does."""
    series = held[what]
    assert series[-1] - series[0] < LEAST[what] * (len(series) - 1), series


def fuzzed(script, *options):
    """Counts that a script of ``fuzz/`` prints; it ends with an error at a finding."""
    done = subprocess.run(
        [sys.executable, FUZZ / script, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_damaged_files_are_refused_or_loaded():
    found = fuzzed("load.py", "--random", "--seconds", SECONDS)
    assert found["megabytes"] < MAX_MEGABYTES
    # some damage is to numbers alone, or to nothing that counts; most of it is noticed
    assert found["refused"] > found["loaded"] > 0


def test_well_formed_files_with_altered_values(tmp_path):
    """They load or are refused, predict or raise, and leave the rows as they are."""
    found = fuzzed("altered.py", "--small", "--rounds", str(ALTERED), "--keep", tmp_path)
    assert found["inputs"] == found["loaded"] + found["refused"] == ALTERED
    assert min(found["predicted"], found["refused"]) > 0
