"""Damaged files for ``plcp.load`` by hypothesis, for some seconds; prints what came of them.

    python fuzz/rounds.py [seconds]

Needs nothing but the packages of the tests. A file that hypothesis finds at fault is made smaller,
and told by its seed.
"""

import faulthandler
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from damage import damaged
from hypothesis import HealthCheck, given, settings, strategies as st
from opening import megabytes, opened, seeds

SECONDS_AN_INPUT = 30  # of computing: those of a clock say how busy the machine is
HANG = 1800  # seconds of a clock: an input that waits for ever computes nothing
A_ROUND = 50
SMALL = 2**14  # bytes: a larger file is slow to open, and has nothing that others have not


def fuzz(seconds: float) -> dict[str, Any]:
    """Open damaged files, round after round; any that is neither refused nor loaded raises."""
    files = [content for content in seeds().values() if len(content) < SMALL]
    path, counts = Path(tempfile.mkdtemp()) / "model.plcp", Counter({"loaded": 0, "refused": 0})
    for content in files:  # the first of a kind imports the packages that it needs
        opened(path, content)
    slowest, end = 0.0, time.monotonic() + seconds

    @settings(
        max_examples=A_ROUND, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.sampled_from(files), st.integers(0, 2**64 - 1))
    def one_round(content: bytes, seed: int) -> None:
        nonlocal slowest
        signal.setitimer(signal.ITIMER_PROF, SECONDS_AN_INPUT)
        faulthandler.dump_traceback_later(HANG, exit=True)
        start = time.monotonic()
        counts[opened(path, damaged(content, seed))] += 1
        slowest = max(slowest, time.monotonic() - start)
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)

    while time.monotonic() < end:
        one_round()
    return {**counts, "slowest_seconds": slowest, "megabytes": megabytes()}


if __name__ == "__main__":
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)  # tells where it was, and ends the process
    print(json.dumps(fuzz(float(sys.argv[1]) if len(sys.argv) > 1 else 60)))
