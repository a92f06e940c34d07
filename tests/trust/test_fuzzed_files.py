"""Damaged model files: each is refused in a sentence of ours, or loads; nothing crashes or hangs.

``PLCP_FUZZ_SECONDS`` sets how long: 20 by default, 60 where ``CI`` is set. ``fuzz/load.py`` is the
long version, led by coverage.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parents[2] / "fuzz" / "rounds.py"
SECONDS = os.environ.get("PLCP_FUZZ_SECONDS", "60" if "CI" in os.environ else "20")
MOST_MEGABYTES = 1000


def test_damaged_files_are_refused_or_loaded():
    done = subprocess.run(
        [sys.executable, FUZZ, SECONDS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["megabytes"] < MOST_MEGABYTES
    # some damage is to numbers alone, or to nothing that counts; most of it is noticed
    assert told["refused"] > told["loaded"] > 0
