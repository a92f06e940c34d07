"""When an alarm comes, since when, and what is known of the rows since then."""

import math
from datetime import date, datetime

import numpy as np
import pytest

from plcp import SplitConformal
from plcp.monitoring.bounds import anytime_bounds
from plcp.monitoring.martingale import (
    TILTS,
    Evidence,
    Rows,
    Stream,
    Urn,
    follow,
    log_start,
    stamps_of,
)

BAR = math.log(20)


def rows_of(missed, chances, first=0):
    numbers = first + np.arange(len(missed))
    return Rows(missed, chances, numbers, np.array([f"day {row}" for row in numbers], dtype=object))


def likeliest_beginning(missed, chances):
    """Row s and tilt λ of the largest Π_{i ≥ s} λ^missed / (1 + (λ - 1) p), by trying them all."""
    steps = np.where(missed[:, None], np.log(TILTS), 0.0) - np.log1p(chances[:, None] * (TILTS - 1))
    return int(np.argmax(steps[::-1].cumsum(axis=0)[::-1].max(axis=1)))


@pytest.mark.parametrize("batch", [1, 37, 1000])
def test_an_alarm_is_at_the_first_row_that_reaches_the_bar_since_the_likeliest(batch, rng):
    alarms = 0
    for _ in range(20):
        missed = rng.uniform(size=400) < np.where(np.arange(400) < 150, 0.1, 0.35)
        chances = Urn.of(100, 0.1).chances(missed)
        heights = follow(Evidence.none(), missed, chances).martingale
        stream = Stream.start()
        for start in range(0, 400, batch):
            part = slice(start, start + batch)
            stream = stream.after(rows_of(missed[part], chances[part], start), BAR)
        assert stream.height == max(0.0, heights.max())
        if (heights >= BAR).any():
            row = int(np.argmax(heights >= BAR))
            since = likeliest_beginning(missed[: row + 1], chances[: row + 1])
            alarm = stream.alarm
            assert (alarm.row, alarm.stamp) == (row, f"day {row}")
            assert (alarm.since_row, alarm.since_stamp) == (since, f"day {since}")
            assert (alarm.n, alarm.misses) == (since, missed[:since].sum())
            alarms += 1
    assert alarms


@pytest.mark.parametrize("batch", [1, 20, 70])
def test_rows_that_could_not_miss_are_before_the_drift(batch):
    """Any of the fifty is as likely as the first row that misses: the last of them is reported."""
    missed = np.arange(70) >= 50
    chances = np.where(missed, 0.1, 0.0)
    stream = Stream.start()
    for start in range(0, 70, batch):
        part = slice(start, start + batch)
        stream = stream.after(rows_of(missed[part], chances[part], start), BAR)
    assert (stream.alarm.since_row, stream.alarm.n, stream.alarm.misses) == (50, 50, 0)


def drifted(rng):
    X, scores = np.zeros((1500, 1)), rng.exponential(size=1500)
    scores[1000:] *= 3
    rule = SplitConformal().fit(X[:500], scores[:500])
    return rule.monitor(0.06).update(X[500:], scores[500:]).report().groups[0]


def test_bounds_since_a_drift_hold_for_every_beginning_at_once(rng):
    """Each row has its share of the tail, in proportion to how likely a drift begins there."""
    drift = drifted(rng).drift
    assert drift.since_row > 0
    share = float(np.exp(log_start(np.array(drift.since_row + 1))))
    hits = round(drift.coverage * drift.n)
    assert (drift.low, drift.high) == anytime_bounds(hits, drift.n, 0.03 * share)


def test_evidence_beyond_the_largest_number_is_told_as_a_finite_one():
    X, scores = np.zeros((500, 1)), np.arange(500.0)
    monitor = SplitConformal().fit(X, scores).monitor()
    (group,) = monitor.update(np.zeros((5000, 1)), np.full(5000, 1e3)).report().groups
    assert 1e300 < group.evidence < np.inf
    assert 0 <= group.p_value < 1e-300


def test_times_are_told_as_the_standard_writes_them():
    moments = [datetime(2026, 5, 1, 12), date(2026, 5, 1), np.datetime64("2026-05-01"), 3, None]
    expected = ["2026-05-01T12:00:00", "2026-05-01", "2026-05-01", "3", None]
    assert stamps_of(moments, 5).tolist() == expected
