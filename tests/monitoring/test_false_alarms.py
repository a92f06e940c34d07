"""False alarms are as rare as chosen, for all groups together; drifts are found."""

import json
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from bands import FALSE_ALARM
from plcp import PLCP, Guarantee, LinearQuantile, Mondrian, OrderedPartition, SplitConformal
from plcp.monitoring import Monitor, monitor
from plcp.monitoring.martingale import Urn
from plcp.monitoring.watches import Misses, Watch

RATE = 0.2  # large, so that enough alarms are seen


def most_alarms(n, rate=RATE):
    return binom.isf(FALSE_ALARM, n, rate)


RULES = {
    "split": SplitConformal(alpha=0.2),
    "mondrian": Mondrian(0, alpha=0.2),
    "learned groups, held out": PLCP(
        OrderedPartition(LinearQuantile()), n_groups=3, alpha=0.2, calibration="split"
    ),
}


def draw(rng, n, tied=False):
    X = rng.integers(3, size=(n, 1)).astype(float)
    scores = rng.exponential(1 + X[:, 0])
    return X, np.ceil(scores) if tied else scores


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("tied", [False, True], ids=["scores", "tied scores"])
def test_rules_calibrated_again_raise_no_more_false_alarms_than_chosen(name, tied, rng):
    """Over calibration and rows: nothing of the calibration's chance is taken for a drift."""
    trials, alarms = 50, 0
    for _ in range(trials):
        rule = RULES[name].fit(*draw(rng, 200, tied))
        alarms += bool(rule.monitor(RATE).update(*draw(rng, 1500, tied)).report().drifting)
    assert alarms <= most_alarms(trials)


def test_a_group_that_drifts_is_named_and_dated_and_no_other(rng):
    trials, named, others, far = 40, 0, 0, 0
    for _ in range(trials):
        rule = Mondrian(0).fit(*draw(rng, 1500))
        X, scores = draw(rng, 9000)
        scores[3000:] *= np.where(X[3000:, 0] == 1, 2.0, 1.0)  # one miss in three or so
        groups = {
            group.group: group for group in rule.monitor(RATE).update(X, scores).report().groups
        }
        named += groups["1"].drift is not None and groups["1"].drift.row >= 3000
        others += any(groups[name].drift is not None for name in ("0", "2"))
        far += groups["1"].drift is None or abs(groups["1"].drift.since_row - 3000) > 1000
    assert others <= most_alarms(trials)
    assert named >= trials - most_alarms(trials)
    assert far <= most_alarms(trials)


URNS = {"a": Urn(1.0, 3.0), "b": Urn(1.0, 5.0)}
CODES = np.array([0, 1, 1, 0, 0, 1, 0, 1, 1])
MEMBERS = [np.flatnonzero(CODES == 0), np.flatnonzero(CODES == 1)]


class TwoGroups(SplitConformal):
    """A rule whose groups and misses are given."""

    guarantee_ = Guarantee("none", "marginal", 0.1, 1)

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
    overall = by_group = any_alarm = total = 0.0
    for path in product((False, True), repeat=len(CODES)):
        missed = np.array(path)
        watch = Monitor(TwoGroups(), rate).update(np.zeros((len(CODES), 1)), missed)
        groups = json.loads(watch.to_json())["groups"]  # sooner than a report
        drifting = [name for name, group in groups.items() if group["alarm"] is not None]
        p = probability(missed)
        total += p
        overall += p * ("all" in drifting)
        by_group += p * bool({"a", "b"} & {*drifting})
        any_alarm += p * bool(drifting)
    assert total == pytest.approx(1)
    assert overall <= rate / 3
    assert by_group <= 2 * rate / 3
    assert 0 < any_alarm <= rate


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
