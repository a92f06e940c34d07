"""A stream as plain values that JSON can hold, and back, to the last bit."""

import math
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.monitoring.evidence import TILTS, Evidence
from plcp.monitoring.origins import Origins
from plcp.monitoring.stream import Alarm, Stream
from plcp.validation.told import Told

STATE = Told("state of a monitor", "what to_json wrote")
MOST = 2**53  # rows that a float can count
KEYS = {"n", "misses", "height", "growth", "starts", "origins", "alarm"}
ORIGINS = {"growth": float, "n": int, "misses": int, "row": int, "stamp": str}
ALARM = {"row": int, "stamp": str, "since_row": int, "since_stamp": str, "n": int, "misses": int}


def as_plain(stream: Stream) -> dict[str, Any]:
    """Return a stream as numbers, texts, lists and dicts."""
    origins = {field.name: getattr(stream.origins, field.name) for field in fields(Origins)}
    return {
        "n": stream.n,
        "misses": stream.misses,
        "height": stream.height,
        "growth": stream.evidence.growth.tolist(),
        "starts": stream.evidence.starts.tolist(),
        "origins": {name: column.tolist() for name, column in origins.items()},
        "alarm": None if stream.alarm is None else asdict(stream.alarm),
    }


def from_plain(values: Any) -> Stream:
    """Return the stream that `as_plain` told; refuse anything else."""
    STATE.check_keys(values, KEYS)
    n, misses = (_checked(values[name], int) for name in ("n", "misses"))
    _check_counts(misses, n)
    growth, starts = (_column(values[name], float) for name in ("growth", "starts"))
    STATE.check_keys(values["origins"], {*ORIGINS})
    origins = {name: _column(values["origins"][name], kind) for name, kind in ORIGINS.items()}
    for missed, before in zip(origins["misses"], origins["n"], strict=True):
        _check_part(int(missed), int(before), misses, n)
    alarm = values["alarm"]
    if alarm is not None:
        STATE.check_keys(alarm, {*ALARM})
        alarm = Alarm(**{name: _checked(alarm[name], kind) for name, kind in ALARM.items()})
        _check_part(alarm.misses, alarm.n, misses, n)
        if alarm.n == n:  # it was raised by a row since then
            STATE.refuse(f"with an alarm of no row after {n}")
    height = _checked(values["height"], float)
    return Stream(n, misses, Evidence(n, growth, starts), Origins(**origins), height, alarm)


def _check_part(misses: int, n: int, all_misses: int, all_n: int) -> None:
    """Refuse rows that are not the first of all rows."""
    _check_counts(misses, n)
    _check_counts(all_misses - misses, all_n - n)


def _check_counts(misses: int, n: int) -> None:
    if not 0 <= misses <= n:
        STATE.refuse(f"with {misses} misses among {n} rows")


def _column(values: Any, kind: type[Any]) -> NDArray[Any]:
    """One value a tilt."""
    if not isinstance(values, list) or len(values) != len(TILTS):
        STATE.refuse(f"that are not {len(TILTS)} in a list, {values!r}")
    column = [_checked(value, kind) for value in values]
    return np.array(column, dtype=object if kind is str else kind)


def _checked(value: Any, kind: type[Any]) -> Any:
    """Return a value of its kind; a text may be missing."""
    if kind is str and value is None:
        return None
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
        STATE.refuse(f"of which {value!r} is no {kind.__name__}")
    if kind is int and not 0 <= value <= MOST:
        STATE.refuse(f"of which {str(value)[:20]} is no number of rows")
    return value
