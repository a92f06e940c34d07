"""What a rule answers to a monitor: what it foretells of misses, and which rows it missed."""

import hashlib
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from plcp.monitoring import Monitor
from plcp.monitoring.urn import Urn
from plcp.monitoring.watched import Sighting, Watch
from plcp.quantiles import FloatArray
from plcp.shifts.columns import shown
from plcp.thresholds.guarantees import EXACT
from plcp.thresholds.members import distinct, members_of_codes
from plcp.validation import check_lengths, check_scores

NUMBERS = ("threshold_", "thresholds_", "level_", "levels_", "coef_", "intercept_", "scores_")


class Watchable:
    """A rule that can be watched once it is fitted."""

    _reads_ranks: ClassVar[bool] = False  # whether thresholds are ranks among scores held out
    _n_calibration: float  # calibration rows; of weighted ones, how many equal ones tell as much
    _weighted: bool = False  # whether any of them count as more or less than one
    _group_rows: FloatArray | None = None  # the same as _n_calibration of each group, if weighted
    data_digest_: str | None  # of the rows that taught it, see ``plcp.validation.digest``

    def monitor(self, rate: float = 0.05) -> Monitor:
        """Return a monitor of coverage in each group, for rows whose scores are known later.

        Of several levels each is watched by thresholds of its own, before any is raised to those of
        a larger alpha.

        Parameters
        ----------
        rate : float, default=0.05
            Probability of any false alarm, ever, for all groups together.
        """
        check_is_fitted(self, "guarantee_")
        return Monitor(self, rate)

    def watches(self) -> list[Watch]:
        """Return what a monitor watches, one a level."""
        if not hasattr(self, "rules_"):
            return [_watch_of(self)]
        each = ((rule.alpha, rule.watches()) for rule in self.rules_)
        return [w._replace(title=f"alpha {alpha:g}, ") for alpha, watches in each for w in watches]

    def sight(self, X: Any, y: ArrayLike, rule_groups: ArrayLike | None = None) -> list[Sighting]:
        """Return which rows with scores ``y`` were missed, and the rows of each group."""
        given = () if rule_groups is None else (rule_groups,)
        if given:
            _check_takes_groups(self)
        rules = self.rules_ if hasattr(self, "rules_") else [self]
        scores = check_scores(y)
        return [_sighting_of(rule, X, scores, *given) for rule in rules]

    def _count_blocks(self, n: float) -> None:
        """Note how many rows calibrated in blocks: they were never in one place, to be digested."""
        self._n_calibration, self.data_digest_ = float(n), None
        self._weighted = False
        vars(self).pop("_group_rows", None)  # of an earlier fit, with weights

    def group_names(self) -> list[str]:
        """Return the names of the groups that were learned or given, in their order."""
        return distinct(shown(group) for group in getattr(self, "groups_", ()))


def _check_takes_groups(rule: Any) -> None:
    if "groups" not in signature(rule.predict).parameters:
        raise ValueError(
            f"rule_groups are for rules whose predict takes groups, which {type(rule).__name__} "
            "does not: leave them out"
        )


def _watch_of(rule: Any) -> Watch:
    alpha, names = float(rule.alpha), rule.group_names()
    sizes = _rows_of_groups(rule) if names else np.empty(0)
    return Watch(
        title="",
        alpha=alpha,
        everybody=Urn.of(_calibration_rows(rule, sizes), alpha, rule._weighted),
        groups={
            name: Urn.of(size, alpha, rule._weighted)
            for name, size in zip(distinct(["all", *names])[1:], sizes, strict=True)
        },
        exact=rule._reads_ranks and EXACT in rule.guarantee_ and not _repeats_draws(rule),
        digest=_digest(rule, alpha),
    )


def _repeats_draws(rule: Any) -> bool:
    """Whether groups are drawn, the first of every batch alike: rows then are not as calibrated."""
    return bool(get_tags(rule).non_deterministic)


def _rows_of_groups(rule: Any) -> FloatArray:
    """Return how many rows calibrated each group; of weighted ones, how many tell as much."""
    return np.asarray(rule.group_sizes_ if rule._group_rows is None else rule._group_rows)


def _calibration_rows(rule: Any, sizes: Any) -> float:
    """Return how many rows calibrated; of groups that were counted in blocks, their sum."""
    if hasattr(rule, "_n_calibration"):
        return float(rule._n_calibration)
    if len(sizes):
        return float(np.sum(sizes))
    raise ValueError(
        f"this {type(rule).__name__} was fitted by an earlier version and does not know by how "
        "many rows: fit it anew to monitor it"
    )


def _sighting_of(rule: Any, X: Any, scores: Any, *given: ArrayLike) -> Sighting:
    groups, thresholds = rule.assign(X, *given)
    check_lengths(thresholds, scores)
    names = rule.group_names()
    if groups is None or not names:
        members = rule.members(X, *given)
    else:
        members = members_of_codes(names, np.where(groups < 0, len(names), groups))
    disjoint = bool(names) and groups is not None
    return Sighting(scores > thresholds, [*members.values()], disjoint)


def _digest(rule: Any, alpha: float) -> str:
    """Digest of the numbers that thresholds are made of."""
    digest = hashlib.sha256(f"{type(rule).__name__} {alpha!r}".encode())
    digest.update(str(getattr(rule, "data_digest_", None)).encode())
    for name in NUMBERS:
        if hasattr(rule, name):
            digest.update(np.asarray(getattr(rule, name), dtype="<f8").tobytes())
    return digest.hexdigest()
