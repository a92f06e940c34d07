"""Damaged and altered model files are refused in a sentence, or load; nothing crashes or hangs.

``PLCP_FUZZ_SECONDS`` sets how long files are damaged: 20 by default, 60 where ``CI`` is set.
``fuzz/load.py`` is the long version, led by coverage; ``fuzz/altered.py`` of altered values.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FUZZ = Path(__file__).parents[2] / "fuzz"
SECONDS = os.environ.get("PLCP_FUZZ_SECONDS", "60" if "CI" in os.environ else "20")
MOST_MEGABYTES = 1000
ALTERED = 300


def test_damaged_files_are_refused_or_loaded():
    done = subprocess.run(
        [sys.executable, FUZZ / "load.py", "--random", "--seconds", SECONDS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = json.loads(done.stdout.splitlines()[-1])
    assert expected["megabytes"] < MOST_MEGABYTES
    # some damage is to numbers alone, or to nothing that counts; most of it is noticed
    assert expected["refused"] > expected["loaded"] > 0


def test_well_formed_files_with_altered_values(tmp_path):
    """They load or are refused, predict or raise, and leave the rows as they are."""
    options = ["--small", "--rounds", str(ALTERED), "--keep", tmp_path]
    done = subprocess.run(
        [sys.executable, FUZZ / "altered.py", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["inputs"] == found["loaded"] + found["refused"] == ALTERED
    assert min(found["predicted"], found["refused"]) > 0
