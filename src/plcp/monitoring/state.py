"""A stream as plain values that JSON can hold, and back, to the last bit."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from plcp.monitoring.evidence import TILTS, Evidence
from plcp.monitoring.origins import Origins
from plcp.monitoring.stream import Alarm, Stream

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
    check_keys(values, KEYS)
    n, misses = (_checked(values[name], int) for name in ("n", "misses"))
    if not 0 <= misses <= n:
        refuse(f"with {misses} misses among {n} rows")
    growth, starts = (_column(values[name], float) for name in ("growth", "starts"))
    check_keys(values["origins"], {*ORIGINS})
    origins = {name: _column(values["origins"][name], kind) for name, kind in ORIGINS.items()}
    alarm = values["alarm"]
    if alarm is not None:
        check_keys(alarm, {*ALARM})
        alarm = Alarm(**{name: _checked(alarm[name], kind) for name, kind in ALARM.items()})
    height = _checked(values["height"], float)
    return Stream(n, misses, Evidence(n, growth, starts), Origins(**origins), height, alarm)


def parse(state: str) -> Any:
    """Return the values of a JSON text, which may hold no NaN or Infinity."""
    try:
        return json.loads(state, parse_constant=lambda constant: refuse(f"with {constant}"))
    except (TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"no state of a monitor: {error}; give what to_json wrote") from error


def check_keys(values: Any, wanted: set[str]) -> None:
    """Refuse what is no mapping with just these keys."""
    found = {*values} if isinstance(values, Mapping) else set()
    if missing := sorted(wanted - found):
        refuse(f"without {missing}")
    if extra := sorted(found - wanted):
        refuse(f"with {extra}")


def refuse(fault: str) -> NoReturn:
    """Say what is wrong with a state."""
    raise ValueError(f"no state of a monitor but values {fault}: give what to_json wrote")


def _column(values: Any, kind: type[Any]) -> NDArray[Any]:
    """One value a tilt."""
    if not isinstance(values, list) or len(values) != len(TILTS):
        refuse(f"that are not {len(TILTS)} in a list, {values!r}")
    column = [_checked(value, kind) for value in values]
    return np.array(column, dtype=object if kind is str else kind)


def _checked(value: Any, kind: type[Any]) -> Any:
    """Return a value of its kind; a text may be missing."""
    if kind is str and value is None:
        return None
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
        refuse(f"of which {value!r} is no {kind.__name__}")
    return value
