"""From what is remembered of a group to what is told of it."""

import math

import numpy as np

from plcp.monitoring.bounds import anytime_bounds
from plcp.monitoring.evidence import log_start
from plcp.monitoring.report import Drift, GroupReport, verdict_of
from plcp.monitoring.stream import Alarm, Stream

LARGEST = 700.0  # logarithm of about the largest number there is


def judged(name: str, target: float, stream: Stream, rate: float, n_groups: int) -> GroupReport:
    """Judge one of some groups, each with its share of the rate, half of it for either bound."""
    hits, tail = stream.n - stream.misses, rate / n_groups / 2
    low, high = anytime_bounds(hits, stream.n, tail)
    return GroupReport(
        group=name,
        n=stream.n,
        hits=hits,
        coverage=hits / stream.n if stream.n else None,
        low=low,
        high=high,
        target=target,
        evidence=math.exp(min(stream.height, LARGEST)),
        p_value=min(1.0, n_groups * math.exp(-stream.height)),
        verdict=verdict_of(low, high, target, stream.alarm is not None),
        drift=None if stream.alarm is None else _drift(stream, stream.alarm, tail),
    )


def _drift(stream: Stream, alarm: Alarm, tail: float) -> Drift:
    """Coverage since a drift began; bounds hold for every row at which it may have begun."""
    n, misses = stream.n - alarm.n, stream.misses - alarm.misses
    share = math.exp(float(log_start(np.array(alarm.n + 1))))
    low, high = anytime_bounds(n - misses, n, tail * share)
    return Drift(
        row=alarm.row,
        at=alarm.stamp,
        since_row=alarm.since_row,
        since_at=alarm.since_stamp,
        n=n,
        coverage=(n - misses) / n,
        low=low,
        high=high,
    )
