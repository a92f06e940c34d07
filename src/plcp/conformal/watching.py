"""What a conformal estimator answers to a monitor: what the rule of each tail does."""

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plcp.monitoring import Monitor
from plcp.monitoring.watched import Sighting, Watch
from plcp.quantiles import FloatArray


class WatchableModel(ABC):
    """A conformal estimator that can be watched once it is fitted."""

    conformity_: Any
    thresholds_: list[Any]

    def monitor(self, rate: float = 0.05) -> Monitor:
        """Return a monitor of coverage in each group, for rows whose labels are known later.

        Tails are watched one by one, each at its share of alpha, and so are several levels, before
        any threshold is raised to that of a larger alpha.

        Parameters
        ----------
        rate : float, default=0.05
            Probability of any false alarm, ever, for all groups together.
        """
        check_is_fitted(self)
        return Monitor(self, rate)

    def watches(self) -> list[Watch]:
        """Return what a monitor watches: each tail and level."""
        score = self.conformity_
        exact = score.learned is None and not score.repeats_draws
        one = len(self.thresholds_) == 1
        return [
            watch._replace(
                title=watch.title if one else f"tail {i}, {watch.title}",
                exact=watch.exact and exact,
            )
            for i, tail in enumerate(self.thresholds_, start=1)
            for watch in tail.watches()
        ]

    def sight(self, X: Any, y: ArrayLike, rule_groups: ArrayLike | None = None) -> list[Sighting]:
        """Return which rows with labels ``y`` were missed, and the rows of each group."""
        if rule_groups is not None:
            raise ValueError(
                "rule_groups are for bare threshold rules: the rule of this "
                f"{type(self).__name__} finds groups in X"
            )
        scores, rows = self._scored(X, y)
        tails = zip(self.thresholds_, scores.T, strict=True)
        return [sighting for tail, column in tails for sighting in tail.sight(rows, column)]

    @abstractmethod
    def _scored(self, X: Any, y: ArrayLike) -> tuple[FloatArray, Any]:
        """Return scores, one column a tail, and what the rule sees of the rows."""
