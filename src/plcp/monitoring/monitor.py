"""Monitors of coverage: rows come in, evidence of drift is kept, and JSON continues it."""

import hashlib
import json
import math
from dataclasses import asdict, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from plcp._options import PlainValues, check_share
from plcp._rows import count
from plcp.conformal import Conformal
from plcp.monitoring.martingale import TILTS, Alarm, Evidence, Origins, Rows, Stream, stamps_of
from plcp.monitoring.report import Report, judged
from plcp.monitoring.watches import Misses, Watch, misses_of, watches_of
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds.base import ThresholdRule

STATE = PlainValues("state of a monitor", "what to_json wrote")
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
    """Return the stream that `as_plain` wrote; refuse anything else."""
    STATE.check_keys(values, KEYS)
    n, misses = (_checked(values[name], int) for name in ("n", "misses"))
    _check_part(misses, n, misses, n)
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
    for some, rows in ((misses, n), (all_misses - misses, all_n - n)):
        if not 0 <= some <= rows:
            STATE.refuse(f"with {some} misses among {rows} rows")


def _column(values: Any, kind: type[Any]) -> NDArray[Any]:
    """Return one value per tilt."""
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


def monitor_guarantee(rate: float, watches: list[Watch]) -> str:
    """Sentence about alarms at a rate, exact if all watches are, and about bounds."""
    n = sum(1 + len(watch.groups) for watch in watches)
    which = "all rows" if n == 1 else f"{n} groups together, all rows among them"
    bounds = (
        f"Bounds on coverage hold for {which}, at all times at once, with probability "
        f"{1 - rate:g}, whatever drifts."
    )
    if all(watch.exact for watch in watches):
        return (
            f"The probability of any alarm, ever, is at most {rate:g}, for {which}, if rows are "
            "exchangeable with those that calibrated and no scores tie. Where some do misses are "
            "rarer, and alarms have kept to the rate wherever it was tried, which is no proof. "
            f"{bounds}"
        )
    return (
        f"Approximate: the probability of any alarm, ever, is about {rate:g}, for {which}, if rows "
        "are exchangeable with those that calibrated. Misses of thresholds that are not ranks "
        f"among held-out scores are only about as many as calibration predicts. {bounds}"
    )


FORMAT = "plcp monitor 1"
ALL = "all"


class Monitor:
    """Watches whether a rule still covers each of its groups, on rows whose labels came later.

    Made by ``rule.monitor()``, of a fitted threshold rule or conformal estimator. Misses of each
    group, and of all rows together, are compared with what calibration predicts, chance in the
    calibration included: evidence of more misses, since any row, is a martingale while
    nothing drifts. So the probability of any false alarm, ever, however often it is read, is at
    most ``rate`` (Ville's inequality, a share of the rate for each group). This is exact where
    thresholds are ranks of held-out scores that do not tie, and about right for other rules, whose
    misses follow no law that is known: ``guarantee_`` says which. Rows come in an order that their
    scores had no say in. What is remembered does not grow with the rows.

    Parameters
    ----------
    rule : fitted threshold rule, ConformalRegressor or ConformalClassifier
        What to watch.
    rate : float, default=0.05
        Probability of a false alarm that is put up with, for all groups together.

    Attributes
    ----------
    n_rows_ : int
        Number of rows seen.
    guarantee_ : str
        What alarms and bounds hold, and when.

    References
    ----------
    Ville (1939). Étude critique de la notion de collectif.
    Vovk (2021). Testing randomness online. Statistical Science.
    Shin, Ramdas, Rinaldo (2024). E-detectors: a nonparametric framework for sequential change
    detection. New England Journal of Statistics in Data Science.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import Mondrian
    >>> from plcp.monitoring import Monitor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(2, size=(4000, 1))
    >>> scores = rng.exponential(1 + X[:, 0])
    >>> rule = Mondrian(0).fit(X[:1000], scores[:1000])
    >>> scores[3000:] *= 1 + X[3000:, 0]  # the scores of group 1 double
    >>> monitor = rule.monitor().update(X[1000:], scores[1000:])
    >>> monitor.report().drifting
    ['all', '1']
    >>> monitor.report().groups[2].drift.since_row  # it was row 2,000 of those watched
    2010
    >>> again = Monitor.from_json(rule, monitor.to_json())
    """

    def __init__(self, rule: Any, rate: float = 0.05) -> None:
        if not isinstance(rule, Conformal | ThresholdRule):
            raise TypeError(
                f"a fitted threshold rule or conformal estimator can be monitored, got {rule!r}: "
                "give one, such as PLCP().fit(X, scores)"
            )
        check_is_fitted(rule, "guarantee_")
        self.rule = rule
        self.rate = check_share("rate", rate, ": 0.05 is one false alarm in twenty monitors")
        self._watches = watches_of(rule)
        self._digest = _digest_of(self._watches)
        self._streams = [Stream.start() for _ in self._names()]
        self.guarantee_ = monitor_guarantee(self.rate, self._watches)

    def update(
        self, X: Any, y: ArrayLike, *, at: Any = None, rule_groups: ArrayLike | None = None
    ) -> Self:
        """Take rows whose labels are known by now, in any number; an error leaves all as it was.

        Batches make no difference: the same rows in the same order give the same state, unless the
        rule itself draws at random.

        Parameters
        ----------
        X : rows
            As for ``predict``.
        y : array-like
            Labels, for a conformal estimator; scores, for a threshold rule.
        at : str, date, number, or one of them per row; optional
            Time of the rows, given with alarms.
        rule_groups : array-like, optional
            What ``rule.predict`` takes as ``groups``, for a rule that was fitted with such.
        """
        try:
            n, labels = count(X), count(y)
        except TypeError as error:
            raise ValueError(f"X and y must hold rows and one label per row: {error}") from error
        if n != labels:
            raise ValueError(f"X has {n} rows and y has {labels}: give one label or score per row")
        stamps = stamps_of(at, n)
        if n == 0:
            return self
        if _digest_of(watches_of(self.rule)) != self._digest:
            raise ValueError("the rule was fitted again: begin again with rule.monitor()")
        numbers = self.n_rows_ + np.arange(n)
        found: list[Stream] = []
        misses = misses_of(self.rule, X, y, rule_groups)
        for watch, seen in zip(self._watches, misses, strict=True):
            streams = self._streams[len(found) : len(found) + 1 + len(watch.groups)]
            found += self._after(watch, seen, streams, numbers, stamps)
        self._streams = found
        return self

    @property
    def n_rows_(self) -> int:
        """Number of rows seen."""
        return self._streams[0].n

    def _after(
        self,
        watch: Watch,
        misses: Misses,
        streams: list[Stream],
        numbers: IntArray,
        stamps: NDArray[Any],
    ) -> list[Stream]:
        """Streams of all rows and of each group, after more rows."""
        all_rows, missed = streams[0], misses.missed
        chances: FloatArray = np.zeros(len(missed))  # rows of a new group have infinite thresholds
        found = []
        of_groups = zip(watch.groups.values(), misses.members, streams[1:], strict=True)
        for urn, rows, stream in of_groups:
            chances[rows] = urn.chances(missed[rows], stream.n, stream.misses)
            seen = Rows(missed[rows], chances[rows], numbers[rows], stamps[rows])
            found.append(stream.after(seen, self._bar))
        if not misses.disjoint:
            chances = watch.all_rows.chances(missed, all_rows.n, all_rows.misses)
        return [all_rows.after(Rows(missed, chances, numbers, stamps), self._bar), *found]

    @property
    def _bar(self) -> float:
        """What log M must reach for an alarm: each group has its share of the rate."""
        return math.log(len(self._streams) / self.rate)

    def report(self) -> Report:
        """Return coverage so far, bounds and a verdict for all rows and for each group."""
        targets = [1 - watch.alpha for watch in self._watches for _ in (ALL, *watch.groups)]
        named = zip(self._names(), targets, self._streams, strict=True)
        groups = tuple(judged(*group, self.rate, len(self._streams)) for group in named)
        return Report(self.n_rows_, self.rate, groups, self.guarantee_)

    def to_json(self) -> str:
        """Return all that is remembered, as JSON: `from_json` goes on from there, to the bit."""
        streams = zip(self._names(), self._streams, strict=True)
        state = {
            "format": FORMAT,
            "digest": self._digest,
            "rate": self.rate,
            "groups": {name: as_plain(stream) for name, stream in streams},
        }
        return json.dumps(state, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, rule: Any, state: str) -> Self:
        """Return the monitor of this rule that `to_json` wrote; refuse one of another rule."""
        values = STATE.parse(state)
        STATE.check_keys(values, {"format", "digest", "rate", "groups"})
        if values["format"] != FORMAT:
            STATE.refuse(f"of format {values['format']!r}")
        monitor = cls(rule, values["rate"])
        if values["digest"] != monitor._digest:
            raise ValueError(
                "the state is that of a monitor of other thresholds: give the rule it was made of, "
                "or begin again with rule.monitor()"
            )
        STATE.check_keys(values["groups"], {*monitor._names()})
        monitor._streams = [from_plain(values["groups"][name]) for name in monitor._names()]
        return monitor

    def _names(self) -> list[str]:
        return [f"{watch.title}{name}" for watch in self._watches for name in (ALL, *watch.groups)]

    def __repr__(self) -> str:
        return f"Monitor({self.rule!r}, rate={self.rate:g}, n_rows_={self.n_rows_})"


def _digest_of(watches: list[Watch]) -> str:
    digests = "\n".join(watch.digest for watch in watches)
    return hashlib.sha256(digests.encode()).hexdigest()
