"""All groups share one rate, by the exact law of two urns whose rows come mixed."""

import json
from itertools import product

import numpy as np
import pytest

from plcp import InfiniteThresholdWarning, Mondrian, SplitConformal
from plcp.monitoring import Monitor, monitor
from plcp.monitoring.martingale import Urn
from plcp.monitoring.watches import Misses, Watch

URNS = {"a": Urn(1.0, 3.0), "b": Urn(1.0, 5.0)}
CODES = np.array([0, 1, 1, 0, 0, 1, 0, 1, 1])
MEMBERS = [np.flatnonzero(CODES == 0), np.flatnonzero(CODES == 1)]


class TwoGroups(SplitConformal):
    """A rule whose groups and misses are given."""

    guarantee_ = ""

    def __init__(self, disjoint=True):
        self.disjoint = disjoint


@pytest.fixture(autouse=True)
def two_groups(monkeypatch):
    watches, misses = monitor.watches_of, monitor.misses_of
    watch = Watch("", 0.2, Urn(2.0, 8.0), URNS, exact=True, digest="")

    def misses_given(rule, X, y, groups):
        if isinstance(rule, TwoGroups):
            return [Misses(np.asarray(y, dtype=bool), MEMBERS, rule.disjoint)]
        return misses(rule, X, y, groups)

    is_ours = lambda rule: isinstance(rule, TwoGroups)  # noqa: E731
    monkeypatch.setattr(monitor, "watches_of", lambda r: [watch] if is_ours(r) else watches(r))
    monkeypatch.setattr(monitor, "misses_of", misses_given)


def probability(missed):
    """Of misses of both groups, each by its own urn."""
    chances = np.empty(len(missed))
    for urn, rows in zip(URNS.values(), MEMBERS, strict=True):
        chances[rows] = urn.chances(missed[rows])
    return np.prod(np.where(missed, chances, 1 - chances))


@pytest.mark.parametrize("rate", [0.9, 0.6, 0.3])
def test_the_probability_of_any_alarm_is_at_most_the_rate(rate):
    overall = by_group = anybody = total = 0.0
    for path in product((False, True), repeat=len(CODES)):
        missed = np.array(path)
        watch = Monitor(TwoGroups(), rate).update(np.zeros((len(CODES), 1)), missed)
        groups = json.loads(watch.to_json())["groups"]  # sooner than a report
        drifting = [name for name, group in groups.items() if group["alarm"] is not None]
        p = probability(missed)
        total += p
        overall += p * ("all" in drifting)
        by_group += p * bool({"a", "b"} & {*drifting})
        anybody += p * bool(drifting)
    assert total == pytest.approx(1)
    assert overall <= rate / 3
    assert by_group <= 2 * rate / 3
    assert 0 < anybody <= rate


def test_all_rows_are_watched_by_the_chances_of_their_own_groups():
    """Not by an urn of their own, unless groups overlap: their mix may be another than before."""
    missed = np.array([True, False, True, False, False, False, True, False, False])
    X = np.zeros((len(CODES), 1))
    mixed = Monitor(TwoGroups()).update(X, missed).report().groups[0].evidence
    pooled = Monitor(TwoGroups(disjoint=False)).update(X, missed).report().groups[0].evidence
    assert mixed != pooled


@pytest.mark.parametrize("rate", [0.9, 0.3])
def test_an_alarm_is_raised_if_and_only_if_its_probability_is_at_most_the_rate(rate, rng):
    """Of all groups together: three times what one alone would have, by Ville."""
    found = []
    for missed in rng.uniform(size=(60, len(CODES))) < 0.5:
        watch = Monitor(TwoGroups(), rate).update(np.zeros((len(CODES), 1)), missed)
        heights = [group["height"] for group in json.loads(watch.to_json())["groups"].values()]
        for group, height in zip(watch.report().groups, heights, strict=True):
            assert group.p_value == pytest.approx(min(1.0, 3 * np.exp(-height)))
            assert (group.drift is not None) == (group.p_value <= rate)
            found.append(group.drift is not None)
    assert {*found} == {False, True}


def test_rows_of_a_group_never_seen_leave_all_likelihoods_as_they_were(rng):
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    watch = Mondrian(0).fit(X, rng.exponential(size=100)).monitor()
    with pytest.warns(InfiniteThresholdWarning):
        watch.update(np.full((20, 1), 2.0), np.full(20, 1e9))
    assert {*json.loads(watch.to_json())["groups"]["all"]["growth"]} == {0.0}
