"""While nothing drifts, alarms are as rare as was chosen; when something does, they come."""

import numpy as np
import pytest
from scipy.stats import binom

from bands import FALSE_ALARM
from plcp import PLCP, LinearQuantile, Mondrian, OrderedPartition, SplitConformal
from plcp.monitoring.martingale import Evidence, Urn, follow

RATE = 0.2  # large, so that alarms enough are seen to tell


def most_alarms(n, rate=RATE):
    return binom.isf(FALSE_ALARM, n, rate)


def test_streams_of_the_urn_raise_no_more_false_alarms_than_chosen(rng):
    """Rates of misses as calibration leaves them, and rows to match."""
    streams, rows, urn = 400, 3000, Urn.of(60, 0.1)
    alarms = 0
    for rate in rng.beta(*urn, size=streams):
        missed = rng.uniform(size=rows) < rate
        alarms += follow(Evidence.none(), missed, urn.chances(missed)).martingale.max() >= -np.log(
            RATE
        )
    assert 0 < alarms <= most_alarms(streams)


def test_the_rate_alpha_instead_of_the_urn_would_raise_too_many(rng):
    """An unlucky calibration is no drift: this is what the urn is for."""
    streams, rows, urn = 400, 3000, Urn.of(60, 0.1)
    alarms = 0
    for rate in rng.beta(*urn, size=streams):
        missed = rng.uniform(size=rows) < rate
        path = follow(Evidence.none(), missed, np.full(rows, 0.1))
        alarms += path.martingale.max() >= -np.log(RATE)
    assert alarms > most_alarms(streams)


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
def test_rules_calibrated_anew_raise_no_more_false_alarms_than_chosen(name, tied, rng):
    """Over calibration and rows: nothing of the calibration's chance is taken for a drift."""
    trials, alarms = 50, 0
    for _ in range(trials):
        rule = RULES[name].fit(*draw(rng, 200, tied))
        alarms += bool(rule.monitor(RATE).update(*draw(rng, 1500, tied)).report().drifting)
    assert alarms <= most_alarms(trials)


def test_thresholds_out_of_fold_raise_hardly_more_for_all_that_their_law_is_not_known(rng):
    trials, alarms = 30, 0
    learned = PLCP(OrderedPartition(LinearQuantile()), n_groups=2, alpha=0.2)
    for _ in range(trials):
        rule = learned.fit(*draw(rng, 200))
        alarms += bool(rule.monitor(RATE).update(*draw(rng, 1000)).report().drifting)
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


def delays(rng, quiet, factor, streams=60):
    """Rows until the alarm, of odds of misses that are multiplied after some quiet rows."""
    urn, found = Urn.of(1000, 0.1), []
    for rate in rng.beta(*urn, size=streams):
        odds = factor * rate / (1 - rate)
        after = np.arange(quiet + 4000) >= quiet
        missed = rng.uniform(size=quiet + 4000) < np.where(after, odds / (1 + odds), rate)
        path = follow(Evidence.none(), missed, urn.chances(missed))
        raised = np.flatnonzero(path.martingale[quiet:] >= np.log(20))
        found.append(raised[0] if len(raised) else np.inf)
    return np.array(found)


def test_worse_drifts_are_found_sooner_and_later_ones_not_much_later(rng):
    small, large, late = delays(rng, 0, 2), delays(rng, 0, 4), delays(rng, 20_000, 4)
    assert np.median(large) < np.median(small) < np.inf
    assert np.isfinite(late).all()
    assert np.median(late) < np.median(delays(rng, 20_000, 2))
