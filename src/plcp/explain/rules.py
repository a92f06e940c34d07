"""A rule: which rows, in words that say exactly that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.explain.columns import Column
from plcp.quantiles import FloatArray
from plcp.rows import count

EVERYBODY = "all rows"


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one column: low ≤ x < high, or that it is missing, or either.

    Parameters
    ----------
    column : Column
        Whose values.
    low, high : float or None
        Ends of the range; None where it is open.
    present : bool
        Whether any value will do that is there and in the range.
    missing : bool
        Whether a missing value will do.
    """

    column: Column
    low: float | None = None
    high: float | None = None
    present: bool = True
    missing: bool = True

    def holds(self, X: Any) -> NDArray[np.bool_]:
        """Whether each row meets the condition."""
        return self.admits(self.column.read(X))

    def admits(self, values: FloatArray) -> NDArray[np.bool_]:
        """Whether each value meets the condition."""
        gaps = np.isnan(values)
        inside = ~gaps & self.present
        if self.low is not None:
            inside &= values >= self.low
        if self.high is not None:
            inside &= values < self.high
        return inside | (gaps & self.missing)

    def narrowed(self, other: Condition) -> Condition:
        """Both conditions on the same column as one."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return replace(
            self,
            low=max(lows, default=None),
            high=min(highs, default=None),
            present=self.present and other.present,
            missing=self.missing and other.missing,
        )

    @property
    def text(self) -> str:
        """The condition in words; "or missing" only where values have been missing."""
        label, told = self.column.label, self.column.has_missing
        if not self.present:
            return f"{label} is missing"
        if self.low is None and self.high is None:
            return f"{label} is not missing"
        words = self.column.words(self.low, self.high)
        return f"({words} or missing)" if told and self.missing else words


@dataclass(frozen=True)
class Rule:
    """Conditions that all must hold: one leaf of a `RuleTree`.

    Parameters
    ----------
    conditions : tuple of Condition
        One for each column that is asked about.
    n : int
        Rows of the table it was learned from that it holds for.
    mean : float
        Their mean of y.
    """

    conditions: tuple[Condition, ...]
    n: int
    mean: float

    def holds(self, X: Any) -> NDArray[np.bool_]:
        """Whether the rule holds for each row."""
        rows = np.ones(count(X), dtype=bool)
        for condition in self.conditions:
            rows &= condition.holds(X)
        return rows

    @property
    def text(self) -> str:
        """The rule in words."""
        return " and ".join(condition.text for condition in self.conditions) or EVERYBODY

    def __str__(self) -> str:
        return self.text
