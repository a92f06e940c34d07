"""How levels are read off: groups too small joined first, then one level for each that is left."""

from dataclasses import dataclass

import numpy as np

from plcp.partitions.base import Partition, group_masses
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds.learned.calibration import (
    Levels,
    constant_levels,
    following_levels,
    levels_as_learned,
    merge_small,
    shrunken_levels,
)
from plcp.thresholds.learned.evidence import Evidence
from plcp.thresholds.learned.grouped import Grouped, HeldGroups


@dataclass(frozen=True)
class Reading:
    """Options of ``PLCP`` that decide about levels, and the seed of drawn groups."""

    alpha: float
    calibration: str
    assignment: str
    follow: bool
    seed: int

    def groups(self, evidence: Evidence) -> IntArray:
        """Group of each row."""
        return evidence.assigned(self.assignment, self.seed)

    def levels(
        self, partition: Partition, seen: Evidence, honest: Evidence
    ) -> tuple[Levels, IntArray]:
        """Levels of a fitted partition, and the group that each of its groups joined before."""
        if self.calibration == "joint" and not self.follow:
            masses = group_masses(self.groups(seen), seen.weights, partition.n_groups_)
            return constant_levels(partition.thresholds_, masses), np.arange(partition.n_groups_)
        owner = self.joined(partition, seen, honest)
        return self.read(self.grouped(honest, owner)), owner

    def joined(self, partition: Partition, seen: Evidence, honest: Evidence) -> IntArray:
        """Group that each learned one joins, so that all are large enough."""
        owner: IntArray = np.arange(partition.n_groups_)
        share = len(honest.scores) / len(seen.scores)
        joined = self._joined(owner, seen, share)
        while joined.max() < owner.max():
            owner = joined
            joined = self._joined(owner, seen, share)  # of joined soft groups, others are likeliest
        return owner

    def grouped(self, honest: Evidence, owner: IntArray) -> HeldGroups:
        """Honest rows in the groups that are left."""
        evidence = honest.merged(owner)
        return HeldGroups(evidence, self.groups(evidence), owner.max() + 1)

    def read(self, grouped: Grouped) -> Levels:
        """Levels of groups that are large enough."""
        if self.calibration == "split":
            return self.read_as_learned(grouped)
        if self.follow:
            return following_levels(self._levels(grouped), grouped)
        return constant_levels(self._levels(grouped), grouped.masses)

    def read_as_learned(self, grouped: Grouped) -> Levels:
        """Levels of groups that keep their numbers, whatever the levels are."""
        return levels_as_learned(self._levels(grouped), grouped, self.follow)

    def _levels(self, grouped: Grouped) -> FloatArray:
        if self.calibration != "split" and self.follow:
            return shrunken_levels(grouped, self.alpha)
        return grouped.conformal(self.alpha, self.follow)

    def _joined(self, owner: IntArray, seen: Evidence, share: float) -> IntArray:
        """Group that each learned one joins where it is too small for ``share`` of the rows."""
        groups = self.groups(seen.merged(owner))
        masses = group_masses(groups, seen.weights, owner.max() + 1)
        return merge_small(masses * share, self.alpha)[owner]
