"""A rule whose groups are learned: what is kept of them, and what new rows are given."""

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.dummy import DummyRegressor
from sklearn.utils.validation import check_is_fitted

from plcp.partitions.base import Partition, group_masses, merge_columns, warn_if_collapsed
from plcp.partitions.ordered import OrderedPartition
from plcp.quantiles import FloatArray, IntArray
from plcp.rows import is_frame
from plcp.thresholds.base import Assigned, ThresholdRule
from plcp.thresholds.learned.calibration import Levels, mean_level
from plcp.thresholds.learned.evidence import Evidence, Pairs, Place, place_of
from plcp.thresholds.learned.options import follows_index, template
from plcp.thresholds.learned.reading import Reading
from plcp.thresholds.learned.selection import History
from plcp.thresholds.members import Members, members_of_codes
from plcp.thresholds.several import asks_any_level, has_levels, side_by_side
from plcp.validation import check_features, too_few, warn_infinite
from plcp.validation.effective import telling_rows, telling_sizes


class LearnedGroups(ThresholdRule):
    """A fitted partition with one level a group: a threshold, or a correction of the index."""

    calibration: str
    assignment: str
    partition_: Partition
    thresholds_: FloatArray
    group_sizes_: FloatArray
    history_: History
    _follow: bool  # whether thresholds follow the index within groups
    _factor = 1.0  # of the index, where it was learned at another level
    _owner: IntArray  # group that each of the partition's groups joined before calibration
    _rank: IntArray  # number of each calibrated group by rising threshold

    def predict(self, X: Any) -> FloatArray:
        """Thresholds q(x), one a row; at several levels one column each."""
        return self.assign(X).thresholds

    def assign(self, X: Any) -> Assigned:
        """Learned group and threshold of each row, at the price of one prediction."""
        if has_levels(self):
            return self._assign_levels(X)
        return self._assign_placed(self._place(X))

    def _assign_levels(self, X: Any) -> Assigned:
        if not self._levels_agree():
            return Assigned(None, side_by_side(self.rules_, [r.predict(X) for r in self.rules_]))
        place = self.rules_[0]._place(X)
        parts = [rule._assign_placed(place) for rule in self.rules_]
        return Assigned(parts[0].groups, side_by_side(self.rules_, [p.thresholds for p in parts]))

    def _assign_placed(self, place: Place) -> Assigned:
        groups = self._groups(place)
        base = self._factor * place.index if self._follow else 0.0
        if self.assignment == "mean" and place.memberships is not None:
            thresholds = base + mean_level(place.memberships, self.levels_[self._rank])
        else:
            thresholds = base + self.levels_[groups]
        return Assigned(groups, np.maximum(thresholds, self._least))

    @asks_any_level
    def groups(self, X: Any) -> IntArray:
        """Learned group of each row, as numbered in ``thresholds_``."""
        return self._groups(self._place(X))

    @asks_any_level
    def members(self, X: Any) -> Members:
        """Rows of each learned group, by name."""
        return members_of_codes(self.group_names(), self.groups(X))

    def group_names(self) -> list[str]:
        """Return the names of the learned groups, in the order of ``thresholds_``."""
        return [f"learned group {i}" for i in range(self.n_groups_)]

    @asks_any_level
    def memberships(self, X: Any) -> FloatArray:
        """Memberships h(x) of the learned groups, shape (n, n_groups_)."""
        X = self._check_new(X)
        memberships = self.partition_.predict_proba(X)
        return merge_columns(memberships, self._rank[self._owner], self.n_groups_)

    @property
    def n_groups_(self) -> int:
        """Number of groups."""
        return int(self.thresholds_.shape[-1])

    def _levels_agree(self) -> bool:
        return hasattr(self, "thresholds_")  # which speak of groups that all levels share

    def _begin(self, least: float, rng: np.random.RandomState) -> Partition:
        """Settle what does not depend on groups; return the partition to be learned."""
        # No score is negative where none was: a negative threshold would only empty the set.
        self._least, self._factor = 0.0 if least >= 0 else -np.inf, 1.0
        partition = template(self)
        self._follow = follows_index(self, partition)
        # A test row must not share its draw with a calibration row.
        self._seeds = rng.randint(np.iinfo(np.int32).max, size=2)
        return partition

    def _reading(self) -> Reading:
        seed = self._seeds[0]
        return Reading(self.alpha, self.calibration, self.assignment, self._follow, seed)

    def _settle(
        self, partition: Partition, history: History, found: Levels, owner: IntArray
    ) -> None:
        """Keep one level a group: a threshold, or a correction of the index."""
        self.partition_, self.history_, self._owner = partition, history, owner
        self.levels_, self.thresholds_ = found.levels, found.thresholds
        self.group_sizes_, self._rank = found.sizes, found.rank
        few = np.flatnonzero(np.isinf(self.levels_)).tolist()
        if few:
            warn_infinite(
                f"learned groups {few} hold too few calibration points for alpha = {self.alpha}"
            )

    def _count_telling(self, honest: Evidence) -> None:
        """Note how many equal rows tell as much as the weighted ones of each group."""
        self._group_rows = None
        if honest.weights is not None:
            groups = self._rank[self._reading().groups(honest.merged(self._owner))]
            self._group_rows = telling_sizes(groups, honest.weights, len(self.group_sizes_))

    def _warn_if_one_group_serves_all(self, partition: Partition, pairs: Pairs) -> None:
        """Soft groups may share the rows evenly, and one of them be the likeliest everywhere."""
        if self.assignment == "mode" and not isinstance(partition, OrderedPartition):
            in_use = group_masses(self.groups(pairs.X), pairs.weights, self.n_groups_)
            warn_if_collapsed(in_use, self.partition_.n_groups)

    def _give_up(self, pairs: Pairs) -> None:
        """One group with an infinite threshold: so few points allow no other."""
        warn_infinite(too_few(pairs.weights, len(pairs.scores), self.alpha))
        partition = OrderedPartition(DummyRegressor(), n_groups=1, alpha=self.alpha)
        self.partition_ = partition.fit(pairs.X, pairs.scores, pairs.weights)
        self._owner = self._rank = np.zeros(1, dtype=np.intp)
        self.levels_ = self.thresholds_ = np.array([np.inf])
        self.group_sizes_, self.history_ = self.partition_.group_sizes_, []
        self._group_rows = np.array([telling_rows(len(pairs.scores), pairs.weights)])
        self.guarantee_ = "Every set holds all labels: too few calibration points for this alpha."

    def _place(self, X: Any) -> Place:
        """Place of new rows among the groups that were large enough to calibrate."""
        X = self._check_new(X)
        with config_context(assume_finite=not is_frame(X)):  # an array has been looked through
            return place_of(self.partition_, X).merged(self._owner)

    def _groups(self, place: Place) -> IntArray:
        return self._rank[place.assigned(self.assignment, self._seeds[1])]

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self, "thresholds_")
        return check_features(self, X, reset=False)
