"""Pólya's urn is the law of misses, evidence is a martingale under it, and alarms are dated."""

import math
from datetime import date, datetime
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import beta

from plcp import Mondrian, SplitConformal
from plcp.monitoring import martingale as evidence
from plcp.monitoring.bounds import anytime_bounds
from plcp.monitoring.martingale import (
    TILTS,
    Evidence,
    Rows,
    Stream,
    Urn,
    follow,
    log_quiet,
    log_start,
    stamps_of,
)
from plcp.quantiles import conformal_quantile


def law_by_counting(n, t, alpha):
    """Probability of each sequence of misses: all orders of n + t distinct scores are alike."""
    found = dict.fromkeys(product((False, True), repeat=t), 0)
    orders = list(permutations(range(n + t)))
    for order in orders:
        threshold = conformal_quantile(order[:n], alpha)
        found[tuple(score > threshold for score in order[n:])] += 1
    return {path: Fraction(times, len(orders)) for path, times in found.items()}


@pytest.mark.parametrize(("n", "t", "alpha"), [(3, 4, 0.5), (4, 4, 0.3), (5, 3, 0.2), (2, 5, 0.4)])
def test_the_urn_is_the_law_of_misses_by_counting_all_orders(n, t, alpha):
    for path, probability in law_by_counting(n, t, alpha).items():
        missed = np.array(path)
        chances = Urn.of(n, alpha).chances(missed)
        product_of = np.prod(np.where(missed, chances, 1 - chances))
        assert product_of == pytest.approx(float(probability), rel=1e-12, abs=1e-15)


def test_an_infinite_threshold_is_never_missed():
    assert Urn.of(8, alpha=0.1) == (0.0, 9.0)
    assert Urn.of(8, alpha=0.1).chances(np.zeros(5, dtype=bool)).tolist() == [0.0] * 5


def test_chances_of_rows_in_two_parts_are_those_of_all_at_once(rng):
    missed, urn = rng.uniform(size=50) < 0.2, Urn.of(12.7, 0.1)
    first, second = missed[:20], missed[20:]
    parts = [urn.chances(first), urn.chances(second, n=20, misses=int(first.sum()))]
    assert np.array_equal(np.concatenate(parts), urn.chances(missed))


def martingale_by_definition(missed, chances):
    """Sum over all beginnings and tilts, as the module states it."""
    t = len(missed)
    total = np.exp(log_quiet(np.array(t)))
    for tilt in TILTS:
        factors = np.where(missed, tilt, 1.0) / (1 + (tilt - 1) * chances)
        for s in range(1, t + 1):
            start = np.exp(log_start(np.array(s)))
            total += start / len(TILTS) * np.prod(factors[s - 1 :])
    return total


@pytest.mark.parametrize("urn", [Urn(1.0, 4.0), Urn(3.0, 17.0), Urn(0.7, 2.2)])
def test_evidence_is_a_martingale_over_all_sequences_of_misses(urn):
    """Its expectation is one after each row, and the next value's is the present one."""
    t = 10
    mean_by_row = np.zeros(t)
    ahead = {}
    for path in product((False, True), repeat=t):
        missed = np.array(path)
        chances = urn.chances(missed)
        probability = np.prod(np.where(missed, chances, 1 - chances))
        values = np.exp(follow(Evidence.none(), missed, chances).martingale)
        mean_by_row += probability * values
        ahead[path] = (values[-2], probability, values[-1])
    assert mean_by_row == pytest.approx(np.ones(t), rel=1e-12)
    for path, (before, one, after) in ahead.items():
        _, other, instead = ahead[(*path[:-1], not path[-1])]
        assert (one * after + other * instead) / (one + other) == pytest.approx(before, rel=1e-12)


def test_it_is_the_sum_over_all_beginnings_and_tilts(rng):
    missed = rng.uniform(size=40) < 0.3
    chances = Urn.of(25, 0.1).chances(missed)
    path = follow(Evidence.none(), missed, chances)
    for t in (1, 2, 7, 40):
        expected = martingale_by_definition(missed[:t], chances[:t])
        assert np.exp(path.martingale[t - 1]) == pytest.approx(expected, rel=1e-10)


def test_a_beginning_far_away_loses_no_digits():
    t = np.array([10**12])
    tail = np.exp(log_quiet(t)) * evidence.DECAY / t  # what it tends to
    assert np.exp(log_start(t + 1)) == pytest.approx(tail, rel=1e-9)


def test_rows_at_once_or_in_any_parts_give_the_same_bits(rng):
    missed = rng.uniform(size=2000) < 0.12
    chances = Urn.of(333, 0.1).chances(missed)
    whole = follow(Evidence.none(), missed, chances)
    for n_cuts in (1, 7, 300):
        cuts = np.sort(rng.choice(np.arange(1, 2000), n_cuts, replace=False))
        end, heights = Evidence.none(), []
        for part, chance in zip(np.split(missed, cuts), np.split(chances, cuts), strict=True):
            path = follow(end, part, chance)
            end = path.end
            heights.append(path.martingale)
        assert np.array_equal(np.concatenate(heights), whole.martingale)
        assert np.array_equal(end.growth, whole.end.growth)
        assert np.array_equal(end.starts, whole.end.starts)


def test_a_billion_quiet_rows_before_take_no_digits_that_matter(rng):
    """Growth of the largest tilt is then -4e8, and starts make up for it."""
    missed, chances = rng.uniform(size=1000) < 0.2, np.full(1000, 0.1)
    fresh, worn = (
        Evidence(10**9, np.full(len(TILTS), -lost), np.full(len(TILTS), lost - 25.0))
        for lost in (0.0, 4e8)
    )
    rounding = 2 * len(missed) * np.spacing(4e8)
    apart = follow(fresh, missed, chances).martingale - follow(worn, missed, chances).martingale
    assert np.abs(apart).max() <= rounding


def test_more_misses_than_ever_before_are_finite_evidence():
    path = follow(Evidence.none(), np.ones(20_000, dtype=bool), np.full(20_000, 0.1))
    assert np.isfinite(path.martingale).all()
    assert path.martingale[-1] > 20_000


ROWS = 10
SEQUENCES = np.array([*product((False, True), repeat=ROWS)])
MISS_RATES = np.linspace(0, 1, 1001)


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


@pytest.mark.parametrize("rule", [SplitConformal(), Mondrian(0)], ids=["all", "groups"])
def test_a_score_at_the_threshold_is_covered(rule):
    rule.fit(np.zeros((20, 1)), np.arange(20.0))
    at = rule.predict([[0.0]])[0]
    report = rule.monitor().update(np.zeros((3, 1)), [at, np.nextafter(at, 99), at]).report()
    assert {(group.n, group.hits) for group in report.groups} == {(3, 2)}


BAR = math.log(20)


def rows_of(missed, chances, first=0):
    numbers = first + np.arange(len(missed))
    return Rows(missed, chances, numbers, np.array([f"day {row}" for row in numbers], dtype=object))


def likeliest_beginning(missed, chances):
    """Row s and tilt λ of the largest Π_{i ≥ s} λ^missed / (1 + (λ - 1) p), by trying them all."""
    steps = np.where(missed[:, None], np.log(TILTS), 0.0) - np.log1p(chances[:, None] * (TILTS - 1))
    return int(np.argmax(steps[::-1].cumsum(axis=0)[::-1].max(axis=1)))


@pytest.mark.parametrize("batch", [1, 37, 1000])
def test_an_alarm_is_at_the_first_row_that_reaches_the_bar_since_the_likeliest(batch, rng):
    alarms = 0
    for _ in range(20):
        missed = rng.uniform(size=400) < np.where(np.arange(400) < 150, 0.1, 0.35)
        chances = Urn.of(100, 0.1).chances(missed)
        heights = follow(Evidence.none(), missed, chances).martingale
        stream = Stream.start()
        for start in range(0, 400, batch):
            part = slice(start, start + batch)
            stream = stream.after(rows_of(missed[part], chances[part], start), BAR)
        assert stream.height == max(0.0, heights.max())
        if (heights >= BAR).any():
            row = int(np.argmax(heights >= BAR))
            since = likeliest_beginning(missed[: row + 1], chances[: row + 1])
            alarm = stream.alarm
            assert (alarm.row, alarm.stamp) == (row, f"day {row}")
            assert (alarm.since_row, alarm.since_stamp) == (since, f"day {since}")
            assert (alarm.n, alarm.misses) == (since, missed[:since].sum())
            alarms += 1
    assert alarms


@pytest.mark.parametrize("batch", [1, 20, 70])
def test_rows_that_could_not_miss_are_before_the_drift(batch):
    """Any of the fifty is as likely as the first row that misses: the last of them is reported."""
    missed = np.arange(70) >= 50
    chances = np.where(missed, 0.1, 0.0)
    stream = Stream.start()
    for start in range(0, 70, batch):
        part = slice(start, start + batch)
        stream = stream.after(rows_of(missed[part], chances[part], start), BAR)
    assert (stream.alarm.since_row, stream.alarm.n, stream.alarm.misses) == (50, 50, 0)


def drifted(rng):
    X, scores = np.zeros((1500, 1)), rng.exponential(size=1500)
    scores[1000:] *= 3
    rule = SplitConformal().fit(X[:500], scores[:500])
    return rule.monitor(0.06).update(X[500:], scores[500:]).report().groups[0]


def test_bounds_since_a_drift_hold_for_every_beginning_at_once(rng):
    """Each row has its share of the tail, in proportion to how likely a drift begins there."""
    drift = drifted(rng).drift
    assert drift.since_row > 0
    share = float(np.exp(log_start(np.array(drift.since_row + 1))))
    hits = round(drift.coverage * drift.n)
    assert (drift.low, drift.high) == anytime_bounds(hits, drift.n, 0.03 * share)


def test_evidence_beyond_the_largest_number_is_reported_as_a_finite_one():
    X, scores = np.zeros((500, 1)), np.arange(500.0)
    monitor = SplitConformal().fit(X, scores).monitor()
    (group,) = monitor.update(np.zeros((5000, 1)), np.full(5000, 1e3)).report().groups
    assert 1e300 < group.evidence < np.inf
    assert 0 <= group.p_value < 1e-300


def test_times_are_written_as_the_standard_writes_them():
    moments = [datetime(2026, 5, 1, 12), date(2026, 5, 1), np.datetime64("2026-05-01"), 3, None]
    expected = ["2026-05-01T12:00:00", "2026-05-01", "2026-05-01", "3", None]
    assert stamps_of(moments, 5).tolist() == expected
