"""What a monitor asks of a fitted rule."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.monitoring.urn import Urn
from plcp.quantiles import IntArray


class Watch(NamedTuple):
    """Thresholds of one level, or of one tail, and what calibration foretells of their misses.

    ``title`` tells them from others of the same rule; ``everybody`` is the urn of all rows where
    not each of them is in just one group; ``exact`` says whether misses follow the urns to the
    letter if nothing drifts; ``digest`` tells these thresholds from any others.
    """

    title: str
    alpha: float
    everybody: Urn
    groups: dict[str, Urn]
    exact: bool
    digest: str


class Sighting(NamedTuple):
    """Which rows were missed, and the rows of each group, rising.

    ``disjoint`` says whether each row is in just one group, or in one never seen.
    """

    missed: NDArray[np.bool_]
    members: list[IntArray]
    disjoint: bool


class Watched(Protocol):
    """A fitted rule, or a conformal estimator around one."""

    def watches(self) -> list[Watch]:
        """Return what is to be watched, one a level and tail."""

    def sight(self, X: Any, y: ArrayLike, rule_groups: ArrayLike | None = None) -> list[Sighting]:
        """Return what happened to rows, one a watch."""
