"""Evidence that misses have become more frequent: a test martingale, and where it set out from.

Before each row the urn tells the chance p of a miss. A drift since row s multiplies its odds by a
tilt λ > 1, so that the row is λ^missed / (1 + (λ - 1) p) times as likely under it as under none.
Products of these are martingales while nothing drifts, and so is their mean over all s and λ,

    M_t = P(s > t) + Σ_λ P(λ) Σ_{s ≤ t} P(s) Π_{i = s}^{t} λ^missed_i / (1 + (λ - 1) p_i),

which reaches 1 / δ, ever, with probability δ at most (Ville). Sums over s are kept up row by row: a
few numbers are all there is to remember, however long the stream.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plcp.quantiles import FloatArray

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
    """What is remembered of t rows: two numbers a tilt.

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

    ``growth`` is that before each row and after the last, one column a tilt; ``martingale`` is
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
