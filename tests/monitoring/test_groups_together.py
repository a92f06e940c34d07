"""All groups share one rate, by the exact law of two urns whose rows come mixed."""

import json
from itertools import product

import numpy as np
import pytest

from plcp.monitoring import Monitor
from plcp.monitoring.urn import Urn
from plcp.monitoring.watched import Sighting, Watch

URNS = {"a": Urn(1.0, 3.0), "b": Urn(1.0, 5.0)}
CODES = np.array([0, 1, 1, 0, 0, 1, 0, 1, 1])
MEMBERS = [np.flatnonzero(CODES == 0), np.flatnonzero(CODES == 1)]


class TwoGroups:
    """A rule that is told which rows it missed."""

    def __init__(self, disjoint=True):
        self.disjoint = disjoint

    def watches(self):
        return [Watch("", 0.2, Urn(2.0, 8.0), URNS, exact=True, digest="")]

    def sight(self, X, y, rule_groups=None):
        return [Sighting(np.asarray(y, dtype=bool), MEMBERS, self.disjoint)]


def probability(missed):
    """Of misses of both groups, each by its own urn."""
    chances = np.empty(len(missed))
    for urn, rows in zip(URNS.values(), MEMBERS, strict=True):
        chances[rows] = urn.chances(missed[rows])
    return np.prod(np.where(missed, chances, 1 - chances))


@pytest.mark.parametrize("rate", [0.9, 0.6, 0.3])
def test_the_probability_of_any_alarm_is_at_most_the_rate(rate):
    everybody = by_group = anybody = total = 0.0
    for path in product((False, True), repeat=len(CODES)):
        missed = np.array(path)
        monitor = Monitor(TwoGroups(), rate).update(np.zeros((len(CODES), 1)), missed)
        groups = json.loads(monitor.to_json())["groups"]  # sooner told than a report
        drifting = [name for name, group in groups.items() if group["alarm"] is not None]
        p = probability(missed)
        total += p
        everybody += p * ("all" in drifting)
        by_group += p * bool({"a", "b"} & {*drifting})
        anybody += p * bool(drifting)
    assert total == pytest.approx(1)
    assert everybody <= rate / 3
    assert by_group <= 2 * rate / 3
    assert 0 < anybody <= rate


def test_all_rows_are_watched_by_the_chances_of_their_own_groups():
    """Not by an urn of their own, unless groups overlap: their mix may be another than before."""
    missed = np.array([True, False, True, False, False, False, True, False, False])
    X = np.zeros((len(CODES), 1))
    mixed = Monitor(TwoGroups()).update(X, missed).report().groups[0].evidence
    pooled = Monitor(TwoGroups(disjoint=False)).update(X, missed).report().groups[0].evidence
    assert mixed != pooled
