"""What a metric returns: a number, how sure we are of it, and the table behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from plcp.quantiles import FloatArray

if TYPE_CHECKING:
    import pandas

Table = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Measure:
    """A number measured on rows, with an interval for what it estimates.

    Parameters
    ----------
    name : str
        What was measured.
    estimate : float
        The number itself; ``float(measure)`` gives it too.
    low, high : float
        Ends of the interval.
    confidence : float
        Probability with which the interval holds what it is meant to hold.
    standard_error : float
        Standard deviation of the estimate over samples, estimated; NaN where there is none.
    exact : bool
        Whether the interval has at least its confidence for every number of rows; an interval
        that is not exact has it as the rows grow many.
    meaning : str
        What the interval is meant to hold, and which way the estimate is biased, if it is.
    table : mapping of str to array
        Columns for a plot, all of one length.
    terms : array of shape (n,) or None
        One number a row whose mean is the estimate, so that two methods can be compared on the
        same rows.
    weights : array of shape (n,) or None
        How many rows each row stands for.

    Examples
    --------
    >>> measure = Measure("MSCE", 0.25, 0.2, 0.3, 0.95, standard_error=0.02, exact=False)
    >>> print(measure)
    MSCE: 0.25, 95 % interval [0.2, 0.3]
    >>> float(measure), f"{measure:.3f}"
    (0.25, '0.250')
    """

    name: str
    estimate: float
    low: float
    high: float
    confidence: float
    standard_error: float
    exact: bool
    meaning: str = ""
    table: Table = field(default_factory=dict, repr=False)
    terms: FloatArray | None = field(default=None, repr=False)
    weights: FloatArray | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single rows, as plain Python values."""
        kept = ("name", "estimate", "low", "high", "confidence", "standard_error", "exact")
        plain = {key: getattr(self, key) for key in (*kept, "meaning")}
        return {**plain, "table": {key: column.tolist() for key, column in self.table.items()}}

    def to_frame(self) -> pandas.DataFrame:
        """Return the table as a pandas frame."""
        import pandas

        return pandas.DataFrame(dict(self.table))

    def __float__(self) -> float:
        return self.estimate

    def __format__(self, spec: str) -> str:
        return format(self.estimate, spec) if spec else str(self)

    def __str__(self) -> str:
        interval = f"[{self.low:.4g}, {self.high:.4g}]"
        return f"{self.name}: {self.estimate:.4g}, {100 * self.confidence:g} % interval {interval}"
