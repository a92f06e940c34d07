"""The report of a monitor: coverage of each group so far, and whether it still holds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plcp._formatting import text_table
from plcp._rows import frame_package
from plcp._verdict import Verdict, explain_verdicts, verdict_of
from plcp.monitoring.bounds import anytime_bounds
from plcp.monitoring.martingale import Alarm, Stream, log_start

if TYPE_CHECKING:
    import pandas


SHOWN = 5  # names in a headline


@dataclass(frozen=True)
class Drift:
    """A change for the worse: when it was seen, since when, and coverage since.

    Parameters
    ----------
    row, at : int, str or None
        Row at which the alarm was raised, and the caller's time of it. Rows count from zero, those
        of all groups together, in the order of the updates.
    since_row, since_at : int, str or None
        Row with which the drift most likely began.
    n, coverage : int, float
        Number of the group's rows since then, and the share of them that was covered.
    low, high : float
        Bounds on that coverage, whenever the drift began: they are wider than those of a group.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import SplitConformal
    >>> X, scores = np.zeros((1000, 1)), np.arange(1000.0) % 100
    >>> rule = SplitConformal().fit(X[:500], scores[:500])
    >>> scores[600:] += 50  # scores rise: too many rows are missed
    >>> report = rule.monitor().update(X[500:], scores[500:]).report()
    >>> drift = report.groups[0].drift
    >>> drift.since_row < drift.row, drift.coverage < 0.9
    (True, True)
    """

    row: int
    at: str | None
    since_row: int
    since_at: str | None
    n: int
    coverage: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"since row {_dated(self.since_row, self.since_at)}: {self.coverage:.3f} covered, "
            f"{self.low:.3f} to {self.high:.3f}; seen at row {_dated(self.row, self.at)}"
        )


@dataclass(frozen=True)
class GroupReport:
    """Coverage of one group since the monitor began.

    Parameters
    ----------
    group : str
        Its name; "all" is all rows.
    n, hits : int
        Number of its rows, and of those covered.
    coverage : float or None
        The share covered; None of no rows.
    low, high : float
        Bounds on the mean probability of its rows to be covered. Those of all groups hold at all
        times at once with probability 1 - rate.
    target : float
        Target coverage, 1 - alpha.
    evidence : float
        How many times as likely the rows have been, at most, under a drift as under none.
    p_value : float
        Bound on the probability that evidence of any group ever gets so high if nothing drifts.
    verdict : Verdict
        "drifting": misses are more than calibration and chance explain. Else what the bounds say
        of the target: "below", "above", "on target", or "undecided". A group may be below without
        a drift, from an unlucky calibration.
    drift : Drift or None
        Of a group that drifts.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import SplitConformal
    >>> X, scores = np.zeros((1000, 1)), np.arange(1000.0) % 100
    >>> rule = SplitConformal().fit(X[:500], scores[:500])
    >>> scores[600:] += 50  # scores rise: too many rows are missed
    >>> report = rule.monitor().update(X[500:], scores[500:]).report()
    >>> everything = report.groups[0]
    >>> everything.group, everything.n, str(everything.verdict)
    ('all', 500, 'drifting')
    """

    group: str
    n: int
    hits: int
    coverage: float | None
    low: float
    high: float
    target: float
    evidence: float
    p_value: float
    verdict: Verdict
    drift: Drift | None

    def cells(self) -> list[str]:
        """Return the group as a line of the printed table."""
        covered = "–" if self.coverage is None else f"{self.coverage:.3f}"
        bounds = f"{self.low:.3f} to {self.high:.3f}"
        verdict = self.verdict if self.drift is None else f"{self.verdict} {self.drift}"
        return [self.group, f"{self.n:,}", covered, bounds, f"{self.p_value:.2g}", verdict]


@dataclass(frozen=True)
class Report:
    """Coverage of all rows so far, in each group; it prints as a table.

    Parameters
    ----------
    n_rows : int
        Number of rows seen.
    rate : float
        Probability of any false alarm, ever.
    groups : tuple of GroupReport
        All rows first, then each group.
    guarantee : str
        What alarms and bounds hold, and when.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import SplitConformal
    >>> X, scores = np.zeros((1000, 1)), np.arange(1000.0) % 100
    >>> rule = SplitConformal().fit(X[:500], scores[:500])
    >>> scores[600:] += 50  # scores rise: too many rows are missed
    >>> report = rule.monitor().update(X[500:], scores[500:]).report()
    >>> report.n_rows, report.drifting
    (500, ['all'])
    """

    n_rows: int
    rate: float
    groups: tuple[GroupReport, ...]
    guarantee: str

    @property
    def drifting(self) -> list[str]:
        """Names of the groups that drift."""
        return [group.group for group in self.groups if group.drift is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values."""
        return {**asdict(self), "groups": [asdict(group) for group in self.groups]}

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame, one row per group; columns of drifts begin with ``drift_``."""
        pandas = frame_package("pandas")

        rows = [asdict(group) for group in self.groups]
        nothing = dict.fromkeys(Drift.__dataclass_fields__)
        for row in rows:
            drift = row.pop("drift") or nothing
            row.update({f"drift_{name}": value for name, value in drift.items()})
        return pandas.DataFrame(rows)

    def __str__(self) -> str:
        head = ["group", "rows", "covered", "between", "p", "verdict"]
        table = text_table(head, [group.cells() for group in self.groups])
        verdicts = [v for v in Verdict if any(group.verdict == v for group in self.groups)]
        return "\n".join([self._headline(), "", *table, "", explain_verdicts(*verdicts)])

    def _headline(self) -> str:
        """Return the report in one line."""
        seen, drifting = f"{self.n_rows:,} rows seen", self.drifting
        if not drifting:
            return f"{seen}: no drift in any of {len(self.groups)} groups"
        first = ", ".join(drifting[:SHOWN])
        rest = f" and {len(drifting) - SHOWN} more" if len(drifting) > SHOWN else ""
        verb = "drifts" if len(drifting) == 1 else "drift"
        return f"{seen}: {len(drifting)} of {len(self.groups)} groups {verb}: {first}{rest}"


def _dated(row: int, at: str | None) -> str:
    return f"{row:,}" if at is None else f"{row:,} ({at})"


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
        verdict=verdict_of(low, high, target) if stream.alarm is None else Verdict.DRIFTING,
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
