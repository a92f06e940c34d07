"""Newton steps towards the least pinball loss, and the proof that a line is near it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from plcp.blocks.pinball import DEPTH, EDGE, LENGTH, UNIT, Candidate, Sums
from plcp.blocks.whole import Whole
from plcp.indices.smoothing import DAMPING, JITTER, RELATIVE_GAP, SHRINK
from plcp.quantiles import FloatArray

TOLERANCE = 1e-6  # largest gradient that a mended dual may leave
DECREASE = 1e-4  # of what a step promises: less, and it was too long
FEW = 3  # passes that do, where a line begins near its end
SHARES = [SHRINK**power for power in (2, 1, 0, -1, -2, -3)]  # of a step, tried at once thereafter
UNSEEN = 1e-6  # of the loss
ROUNDING = 1e-10  # of a pull, where few rows far out make it large
ANY = (-np.inf, np.inf)


def one_thread() -> threadpool_limits:
    """Let matrix products take one thread: with more, they may add in another order."""
    return threadpool_limits(1, user_api="blas")


def _floats(numbers: Whole, divisor: int) -> FloatArray:
    """Whole numbers divided by one, each correctly rounded."""
    return np.asarray(numbers / divisor, dtype=float)


@dataclass(frozen=True)
class Evaluation:
    """Mean loss of a candidate on its rows, as it is and smoothed, and the derivatives of that.

    A row at residual r has the dual weight a = τ - ½ + ½ clip(r / h, -1, 1), and a r is at most
    its loss. ``gap`` is the mean of what lies between, ``pull`` the mean of a z. Would the pull
    vanish, then no line had a loss less than loss - gap.
    """

    bandwidth: float
    loss: float
    gap: float
    smoothed: float
    pull: FloatArray
    near: FloatArray
    inner: FloatArray
    spread: FloatArray
    crossed: int

    @classmethod
    def of(cls, sums: Sums, place: int, candidate: Candidate, quantile: float) -> "Evaluation":
        """Read the sums of the candidate at this place."""
        h, unit = candidate.bandwidth, int(UNIT)
        n = int(sums.features[place, -1]) // unit
        dual = _floats(sums.dual[place], n * unit) / (2 * EDGE)
        steps, sizes = _floats(sums.residuals[place], n) * (h / EDGE)
        slack = _floats(sums.near[place, -2:, -1], n) / [UNIT * EDGE, EDGE**2]
        loss = (quantile - 0.5) * steps + 0.5 * sizes
        return cls(
            bandwidth=h,
            loss=loss,
            gap=h / 2 * (slack[0] - slack[1]),  # mean of |r| (1 - |r| / h) / 2 in the band
            smoothed=loss + h / 4 * slack[1],
            pull=dual - (1 - quantile) * _floats(sums.features[place], n * unit),
            near=_floats(sums.near[place, :-1, :-1], n * unit**2),
            inner=_floats(sums.inner[place], n * unit**2) / DEPTH,
            spread=candidate.spread,
            crossed=int(sums.crossed[place]),
        )

    @cached_property
    def excess(self) -> float:
        """Bound on how much the loss exceeds the least of all lines; infinite if none is known.

        The dual weight of a row inside of the band, at u = |r| / h, can be moved by (1 - u) / 2
        and stays feasible. Moved by (1 - u) z·s / 2hl, with s as below, l the length of the row and
        no |z·s| / l above h, they make the pull vanish; that costs (1 - u) |r| / 2 times
        |z·s| / hl, a share of the gap.
        """
        shift = self._solved(self.inner, 0.0)
        left = np.abs(self.pull - self.inner @ shift / (2 * self.bandwidth))
        reach = LENGTH * np.sqrt(len(shift)) * float(np.linalg.norm(shift * self.spread))
        if (left > TOLERANCE + ROUNDING * np.abs(self.pull)).any() or reach > self.bandwidth:
            return np.inf
        return float(self.gap * (1 + reach / self.bandwidth))

    @property
    def step(self) -> FloatArray:
        """Newton step, damped while the gradient is large."""
        return self._solved(self.near, DAMPING * self._steepest(self.pull))

    def _steepest(self, pull: FloatArray) -> float:
        """Largest pull on a feature of unit variance."""
        return float(np.abs(pull / self.spread).max())

    def is_improved(self, share: float, later: "Evaluation") -> bool:
        """Whether a share of the step has paid; so little that it is lost in rounding will do."""
        gain = self.smoothed - later.smoothed
        pulls_less = self._steepest(later.pull) <= self._steepest(self.pull) / 2
        promised = share * float(self.pull @ self.step)
        return gain >= DECREASE * promised or (pulls_less and gain >= -UNSEEN * self.loss)

    def _solved(self, products: FloatArray, damping: float) -> FloatArray:
        # collinear columns share their coefficient
        ridge = (JITTER * len(self.pull) + damping) * np.eye(len(self.pull))
        unit = np.sqrt(np.diag(products + ridge))
        scaled = (products + ridge) / np.outer(unit, unit)
        solution = np.linalg.solve(scaled, 2 * self.bandwidth * self.pull / unit)
        return np.asarray(solution / unit)


class Search:
    """The way of one line to the least loss: it learns from one evaluation after the other."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.n_iter, self.is_certified = 0, False
        self._base: Evaluation | None = None  # of the candidate
        self._may_widen = True
        self._shares = [1.0]  # of the step from there

    @property
    def candidates(self) -> list[Candidate]:
        """Candidates to evaluate next: where the whole step is too long, shorter ones too."""
        if self._base is None:
            return [self.candidate]
        step = self._base.step
        return [
            replace(self.candidate, theta=self.candidate.theta + share * step)
            for share in self._shares
        ]

    def learn(self, found: list[Evaluation]) -> None:
        """Choose the next candidates, or find that one is good enough."""
        self.n_iter += 1
        best = int(np.argmin([evaluation.smoothed for evaluation in found]))
        if self._base is not None and not self._base.is_improved(self._shares[best], found[best]):
            self._shares = [min(self._shares) / SHRINK**power for power in range(1, 7)]
            return
        self.candidate, self._base = self.candidates[best], None
        self._shares = SHARES if self.n_iter > FEW else [1.0]
        self._judge(found[best])

    def _judge(self, found: Evaluation) -> None:
        allowed = RELATIVE_GAP * found.loss
        # no row adds more than an eighth of the bandwidth to the gap
        sure, most = 4 * allowed, float(found.near[-1, -1]) * found.bandwidth / 8
        if found.crossed:  # values beyond the bounds do not count by their side alone
            self._change(bounds=ANY)
        elif found.loss <= self.candidate.floor or found.excess <= allowed:
            self.is_certified = True
        elif found.gap > allowed:
            self._change(bandwidth=max(found.bandwidth * allowed / (2 * found.gap), sure))
            self._may_widen = False
        elif self._may_widen and most < allowed / SHRINK**2:
            self._change(bandwidth=max(found.bandwidth * SHRINK, sure))
        else:
            self._base = found

    def _change(self, **changes: Any) -> None:
        self.candidate = replace(self.candidate, **changes)
