"""Rows that can be used, and sentences about those that cannot."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class Tally:
    """Which rows have all that is needed, and what the others lack.

    Examples
    --------
    >>> tally = Tally(np.ones(3, dtype=bool))
    >>> tally.require(np.array([True, False, True]), "target")
    >>> tally.keep, tally.notes
    (array([ True, False,  True]), ['1 of 3 rows has no target and is left out'])
    """

    keep: NDArray[np.bool_]
    notes: list[str] = field(default_factory=list)

    def require(self, present: NDArray[np.bool_], what: str) -> None:
        """Keep only rows that have this, too."""
        lacking = int((self.keep & ~present).sum())
        if lacking:
            self.notes.append(f"{rows_without(lacking, len(self.keep), what)} left out")
        self.keep &= present

    def check_any(self, use: str) -> None:
        """Refuse a table without a row of use."""
        if not len(self.keep):
            raise ValueError("the table has no rows: give one that has")
        if not self.keep.any():
            raise ValueError(
                f"no row can {use}: {', and '.join(self.notes)}; name other columns, or mend them"
            )


def rows_without(count: int, of: int, what: str) -> str:
    """Say how many rows lack something, up to the verb that tells what becomes of them."""
    has, be = ("has", "is") if count == 1 else ("have", "are")
    return f"{count:,} of {of:,} rows {has} no {what} and {be}"
