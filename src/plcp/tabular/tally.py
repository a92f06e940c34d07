"""Rows that can be used, and sentences about those that cannot."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plcp.tabular.predictions import rescaled_note


@dataclass(frozen=True)
class Counts:
    """How many rows there are, can be used, lack what, and were put right."""

    rows: int = 0
    used: int = 0
    lacking: Counter[str] = field(default_factory=Counter)
    rescaled: int = 0

    def __add__(self, more: "Counts") -> "Counts":
        """Count the rows of both."""
        lacking = Counter(self.lacking)
        lacking.update(more.lacking)
        rescaled = self.rescaled + more.rescaled
        return Counts(self.rows + more.rows, self.used + more.used, lacking, rescaled)

    @property
    def notes(self) -> list[str]:
        """What is to be said of them, one sentence each."""
        lacking = [
            f"{rows_without(count, self.rows, what)} left out"
            for what, count in self.lacking.items()
            if count
        ]
        return [*lacking, rescaled_note(self.rescaled)] if self.rescaled else lacking

    def check_any(self, use: str) -> None:
        """Refuse a table without a row of use."""
        if not self.rows:
            raise ValueError("the table has no rows: give one that has")
        if not self.used:
            raise ValueError(
                f"no row can {use}: {', and '.join(self.notes)}; name other columns, or mend them"
            )


@dataclass
class Tally:
    """Which rows have all that is needed, and what the others lack.

    Examples
    --------
    >>> tally = Tally(np.ones(3, dtype=bool))
    >>> tally.require(np.array([True, False, True]), "target")
    >>> tally.keep, tally.counts.notes
    (array([ True, False,  True]), ['1 of 3 rows has no target and is left out'])
    """

    keep: NDArray[np.bool_]
    lacking: Counter[str] = field(default_factory=Counter)
    rescaled: int = 0

    def require(self, present: NDArray[np.bool_], what: str) -> None:
        """Keep only rows that have this, too."""
        self.lacking[what] += int((self.keep & ~present).sum())
        self.keep &= present

    @property
    def counts(self) -> Counts:
        """How many rows are what."""
        return Counts(len(self.keep), int(self.keep.sum()), self.lacking, self.rescaled)


def rows_without(count: int, of: int, what: str) -> str:
    """Say how many rows lack something, up to the verb that tells what becomes of them."""
    has, be = ("has", "is") if count == 1 else ("have", "are")
    return f"{count:,} of {of:,} rows {has} no {what} and {be}"
