"""The most memory that a process has held, as Linux tells it.

``ru_maxrss`` would not do: it begins with that of the process which started this one.
"""

import time
from pathlib import Path


def peak_megabytes(pid: int | str = "self") -> float | None:
    """Return that of a process so far; None if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None
    told = status.partition("VmHWM:")[2].split()
    return int(told[0]) * 1024 / 1e6 if told else None  # one that nobody waited for yet has none


def watched_megabytes(pid: int, pause: float = 0.01) -> float:
    """Look at another process until it ends, and return what it told last: peaks only rise."""
    peak = 0.0
    while (told := peak_megabytes(pid)) is not None:
        peak = told
        time.sleep(pause)
    return peak
