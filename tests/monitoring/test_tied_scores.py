"""Scores that tie: misses are rarer than the urn predicts, and alarms keep to the rate.

A threshold without ties is missed at a rate r of the urn's law Beta(misses, hits). Ties
broken at random are such a threshold, and leave at most its misses: their rate is some g(r) ≤ r,
which rises with r. So the probability of an alarm is at most the mean, over the law of r, of the
largest probability of an alarm at any rate up to r.
"""

from itertools import product

import numpy as np
import pytest
from scipy.stats import beta

from plcp import Mondrian, SplitConformal
from plcp.monitoring.martingale import Evidence, Urn, follow

ROWS = 10
SEQUENCES = np.array([*product((False, True), repeat=ROWS)])
MISS_RATES = np.linspace(0, 1, 1001)
ROUNDING = np.finfo(float).eps * len(SEQUENCES)


def alarms_by_miss_rate(urn, rate):
    """Exact probability of an alarm within ten rows, at each rate of misses."""
    paths = (follow(Evidence.none(), missed, urn.chances(missed)) for missed in SEQUENCES)
    raised = np.array([path.martingale.max() >= -np.log(rate) for path in paths])
    times = np.bincount(SEQUENCES[raised].sum(axis=1), minlength=ROWS + 1)
    misses = np.arange(ROWS + 1)[:, None]
    return times @ (MISS_RATES**misses * (1 - MISS_RATES) ** (ROWS - misses))


@pytest.mark.parametrize("urn", [Urn(1, 1), Urn(2, 1), Urn(1, 4), Urn(3, 27)], ids=str)
@pytest.mark.parametrize("rate", [0.9, 0.3, 0.05])
def test_whichever_scores_tie_alarms_keep_to_the_rate(urn, rate):
    """By the exact law of ten rows; beyond these it is simulated, and not proved."""
    likeliest = np.maximum.accumulate(alarms_by_miss_rate(urn, rate))
    assert likeliest[1:] @ np.diff(beta.cdf(MISS_RATES, *urn)) <= rate


@pytest.mark.parametrize("rate", [0.5, 0.2, 0.05])
def test_fewer_misses_mostly_make_alarms_rarer(rate):
    for urn in (Urn(1, 4), Urn(3, 27)):
        assert (np.diff(alarms_by_miss_rate(urn, rate)) >= -ROUNDING).all()


def test_but_not_always_so_that_the_rate_is_no_theorem_where_scores_tie():
    """After one calibration row a change tells more than misses throughout do."""
    assert (np.diff(alarms_by_miss_rate(Urn(1, 1), 0.3)) < -ROUNDING).any()


@pytest.mark.parametrize("rule", [SplitConformal(), Mondrian(0)], ids=["all", "groups"])
def test_a_score_at_the_threshold_is_covered(rule):
    rule.fit(np.zeros((20, 1)), np.arange(20.0))
    at = rule.predict([[0.0]])[0]
    report = rule.monitor().update(np.zeros((3, 1)), [at, np.nextafter(at, 99), at]).report()
    assert {(group.n, group.hits) for group in report.groups} == {(3, 2)}
