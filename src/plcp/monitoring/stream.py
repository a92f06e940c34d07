"""One group's rows as they come: counts, evidence, and the first alarm."""

from dataclasses import dataclass, replace

import numpy as np

from plcp.monitoring.evidence import Evidence, follow
from plcp.monitoring.origins import Origins, Rows

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
            alarm = self._alarm(rows.cut(0, int(raised[0]) + 1), path.growth[: raised[0] + 2])
        return replace(
            self,
            n=self.n + len(rows.missed),
            misses=self.misses + int(rows.missed.sum()),
            evidence=path.end,
            origins=self.origins.after(rows, path.growth[:-1], self.n, self.misses),
            height=max(self.height, float(path.martingale.max())),
            alarm=alarm,
        )

    def _alarm(self, rows: Rows, growth: np.ndarray) -> Alarm:
        """Alarm at the last of some rows, since the likeliest origin."""
        origins = self.origins.after(rows, growth[:-1], self.n, self.misses)
        tilt = origins.likeliest(growth[-1])
        return Alarm(
            row=int(rows.numbers[-1]),
            stamp=rows.stamps[-1],
            since_row=int(origins.row[tilt]),
            since_stamp=origins.stamp[tilt],
            n=int(origins.n[tilt]),
            misses=int(origins.misses[tilt]),
        )
