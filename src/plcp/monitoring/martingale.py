"""Evidence of drift as a martingale: the misses that calibration predicts, and those that come."""

from dataclasses import dataclass, replace
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray, IntArray, conformal_rank


class Urn(NamedTuple):
    """Weights of misses and hits that calibration has put into the urn.

    A threshold that is the k-th of n calibration scores is missed by the next row with probability
    (n + 1 - k) / (n + 1) if rows are exchangeable and no scores tie: the new score falls into each
    of the n + 1 gaps alike. Given what happened to rows before, the same holds with these rows
    among the others: the chance of a miss is ``misses / (misses + hits)``, and each row adds one
    to its kind (Pólya's urn). So chance in the calibration is accounted for exactly: the rate of
    misses is not alpha, but follows the law Beta(misses, hits), and the urn learns it.

    Examples
    --------
    >>> Urn.of(19, alpha=0.1)
    Urn(misses=2.0, hits=18.0)
    >>> Urn.of(19, alpha=0.1).chances(np.array([True, False, False])).round(3).tolist()
    [0.1, 0.143, 0.136]
    """

    misses: float
    hits: float

    @classmethod
    def of(
        cls, n: float, alpha: float, weighted: bool = False, confidence: float | None = None
    ) -> "Urn":
        """Return the urn of a conformal threshold of n rows, or about that of weighted ones.

        What weighs as much as n equal rows has no rank among n: eight rows of weight two reach
        90 %, and eight rows do not.
        """
        if not weighted and float(n).is_integer():
            rank = conformal_rank(int(n), alpha, confidence)  # n + 1 where no score reaches so far
            return cls(float(int(n) + 1 - rank), float(rank))
        return cls(alpha * (n + 1), (1 - alpha) * (n + 1))

    def chances(self, missed: NDArray[np.bool_], n: int = 0, misses: int = 0) -> FloatArray:
        """Probability that each row in turn misses, given n rows before them and each other."""
        before = misses + np.cumsum(missed) - missed  # whole numbers first: no digit is lost
        rows_before = n + np.arange(len(missed))
        return (self.misses + before) / (self.misses + self.hits + rows_before)


TILTS = np.array([1.25, 1.5, 2.0, 3.0, 5.0, 10.0])
AT_ONCE = 0.5  # probability, before any row, that the drift began before the first of them
DECAY = 0.1  # P(s > t) falls as t ** -DECAY: slow enough to be ready for a change at any time


def log_quiet(t: NDArray[np.integer]) -> FloatArray:
    """Logarithm of P(s > t), the probability that no drift began up to row t ≥ 1."""
    return np.log(1 - AT_ONCE) - DECAY * np.log(t)


def log_start(s: NDArray[np.integer]) -> FloatArray:
    """Logarithm of P(s), the probability that a drift began with row s ≥ 1.

    Examples
    --------
    >>> total = np.exp(log_start(np.arange(1, 1001))).sum() + np.exp(log_quiet(np.array(1000)))
    >>> bool(np.isclose(total, 1))
    True
    """
    earlier = np.maximum(s - 1, 1)
    later = log_quiet(earlier) + np.log(-np.expm1(-DECAY * np.log1p(1 / earlier)))
    return np.where(s == 1, np.log(AT_ONCE), later)


@dataclass(frozen=True)
class Evidence:
    """What is remembered of t rows: two numbers per tilt.

    ``growth`` is the logarithm of the likelihood ratio of a drift since the first row, ``starts``
    that of Σ_{s ≤ t + 1} P(s) / exp(growth before row s).
    """

    rows: int
    growth: FloatArray
    starts: FloatArray

    @classmethod
    def none(cls) -> "Evidence":
        """Return the evidence of no rows."""
        return cls(0, np.zeros(len(TILTS)), np.full(len(TILTS), np.log(AT_ONCE)))


class Path(NamedTuple):
    """How evidence went along some rows.

    ``growth`` is that before each row and after the last, one column per tilt; ``martingale`` is
    log M after each row.
    """

    growth: FloatArray
    martingale: FloatArray
    end: Evidence


def follow(evidence: Evidence, missed: NDArray[np.bool_], chances: FloatArray) -> Path:
    """Let evidence see more rows, and the chance that each had to miss.

    Rows at once or one by one make no difference, to the last bit.

    Examples
    --------
    >>> path = follow(Evidence.none(), np.ones(4, dtype=bool), np.full(4, 0.1))
    >>> np.exp(path.martingale).round(1).tolist()
    [1.8, 5.0, 18.9, 84.0]
    """
    t = evidence.rows + 1 + np.arange(len(missed))
    steps = np.where(missed[:, None], np.log(TILTS), 0.0) - np.log1p(chances[:, None] * (TILTS - 1))
    growth = np.add.accumulate(np.vstack([evidence.growth, steps]))
    begun = log_start(t + 1)[:, None] - growth[1:]
    starts = np.logaddexp.accumulate(np.vstack([evidence.starts, begun]))
    drifting = np.logaddexp.reduce(starts[:-1] + growth[1:] - np.log(len(TILTS)), axis=1)
    martingale = np.logaddexp(log_quiet(t), drifting)
    return Path(growth, martingale, Evidence(int(t[-1]), growth[-1], starts[-1]))


class Rows(NamedTuple):
    """Rows of one group in the order in which they came.

    ``numbers`` count the rows of all groups, from zero; ``stamps`` are the caller's times, if any.
    """

    missed: NDArray[np.bool_]
    chances: FloatArray
    numbers: IntArray
    stamps: NDArray[Any]

    def cut(self, start: int, end: int) -> "Rows":
        """Return some of them."""
        rows = slice(start, end)
        return Rows(self.missed[rows], self.chances[rows], self.numbers[rows], self.stamps[rows])


@dataclass(frozen=True)
class Origins:
    """The row at which a drift by each tilt most likely began (Page's cumulative sum).

    ``growth`` is what the tilt's likelihood was before that row, the lowest so far; ``n`` and
    ``misses`` count the group's rows before it.
    """

    growth: FloatArray
    n: IntArray
    misses: IntArray
    row: IntArray
    stamp: NDArray[Any]

    @classmethod
    def none(cls) -> "Origins":
        """Return those of no rows."""
        whole = np.zeros(len(TILTS), dtype=np.int64)
        return cls(np.zeros(len(TILTS)), whole, whole, whole, np.full(len(TILTS), None))

    def after(self, rows: Rows, growth: FloatArray, n: int, misses: int) -> "Origins":
        """Return them after more rows, given the growth before each, and n rows before all."""
        place = len(growth) - 1 - np.argmin(growth[::-1], axis=0)  # of equals the last
        lowest = growth[place, np.arange(len(TILTS))]
        new = lowest <= self.growth
        missed_before = misses + np.cumsum(rows.missed) - rows.missed
        found = (lowest, n + place, missed_before[place], rows.numbers[place], rows.stamps[place])
        kept = (self.growth, self.n, self.misses, self.row, self.stamp)
        return Origins(*(np.where(new, now, was) for now, was in zip(found, kept, strict=True)))


BLOCK = 2**14  # rows at once: memory stays bounded, whatever the batch


@dataclass(frozen=True)
class Alarm:
    """The row at which evidence reached the bar, and the one since which misses are too many.

    ``n`` and ``misses`` count the group's rows before the latter.
    """

    row: int
    stamp: str | None
    since_row: int
    since_stamp: str | None
    n: int
    misses: int


@dataclass(frozen=True)
class Stream:
    """What is remembered of a group: as much after a billion rows as after one.

    ``height`` is the largest log M that its evidence has ever reached.
    """

    n: int
    misses: int
    evidence: Evidence
    origins: Origins
    height: float
    alarm: Alarm | None

    @classmethod
    def start(cls) -> "Stream":
        """Return the stream before any row."""
        return cls(0, 0, Evidence.none(), Origins.none(), 0.0, None)

    def after(self, rows: Rows, bar: float) -> "Stream":
        """Return the stream after more rows; evidence at or above the bar, log M, is an alarm."""
        stream = self
        for start in range(0, len(rows.missed), BLOCK):
            stream = stream._after_block(rows.cut(start, start + BLOCK), bar)
        return stream

    def _after_block(self, rows: Rows, bar: float) -> "Stream":
        path = follow(self.evidence, rows.missed, rows.chances)
        raised = np.flatnonzero(path.martingale >= bar)
        alarm = self.alarm
        if alarm is None and len(raised):
            last = int(raised[0])
            until = rows.cut(0, last + 1)
            origins = self.origins.after(until, path.growth[: last + 1], self.n, self.misses)
            # the tilt of the largest likelihood ratio, counted from its own origin
            tilt = int(np.argmax(path.growth[last + 1] - origins.growth))
            alarm = Alarm(
                row=int(rows.numbers[last]),
                stamp=rows.stamps[last],
                since_row=int(origins.row[tilt]),
                since_stamp=origins.stamp[tilt],
                n=int(origins.n[tilt]),
                misses=int(origins.misses[tilt]),
            )
        return replace(
            self,
            n=self.n + len(rows.missed),
            misses=self.misses + int(rows.missed.sum()),
            evidence=path.end,
            origins=self.origins.after(rows, path.growth[:-1], self.n, self.misses),
            height=max(self.height, float(path.martingale.max())),
            alarm=alarm,
        )


def stamps_of(at: Any, n: int) -> NDArray[Any]:
    """Return one text per row, or None: of one time for all rows, of one for each, or of none.

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
        raise ValueError(f"at has {len(at)} times and X has {n} rows: give one per row, or one")
    found[:] = [_stamp(time) for time in at]
    return found


def _stamp(time: Any) -> str | None:
    if time is None:
        return None
    return time.isoformat() if isinstance(time, date) else str(time)
