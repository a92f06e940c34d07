"""The caller's times of rows, as texts."""

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray


def stamps_of(at: Any, n: int) -> NDArray[Any]:
    """Return a text a row, or None: of one time for all rows, of one for each, or of none.

    Examples
    --------
    >>> stamps_of("2026-05-01", 2).tolist(), stamps_of([date(2026, 5, 1), None], 2).tolist()
    (['2026-05-01', '2026-05-01'], ['2026-05-01', None])
    """
    found = np.empty(n, dtype=object)
    if at is None or isinstance(at, str | date) or np.ndim(at) == 0:
        found[:] = _stamp(at)
        return found
    if len(at) != n:
        raise ValueError(f"at has {len(at)} times and X has {n} rows: give one a row, or one")
    found[:] = [_stamp(time) for time in at]
    return found


def _stamp(time: Any) -> str | None:
    if time is None:
        return None
    return time.isoformat() if isinstance(time, date) else str(time)
