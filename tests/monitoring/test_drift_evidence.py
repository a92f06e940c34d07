"""Evidence is a martingale while nothing drifts, and grows when something does."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from plcp.monitoring import martingale as evidence
from plcp.monitoring.martingale import TILTS, Evidence, Urn, follow, log_quiet, log_start


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


def test_it_reaches_no_bar_more_often_than_ville_allows_over_all_sequences():
    urn, t = Urn(2.0, 6.0), 12
    heights, probabilities = [], []
    for path in product((False, True), repeat=t):
        missed = np.array(path)
        chances = urn.chances(missed)
        heights.append(follow(Evidence.none(), missed, chances).martingale.max())
        probabilities.append(np.prod(np.where(missed, chances, 1 - chances)))
    for rate in (0.5, 0.2, 0.1, 0.05, 0.01):
        reached = np.array(heights) >= np.log(1 / rate)
        assert np.array(probabilities)[reached].sum() <= rate


def test_it_is_the_sum_over_all_beginnings_and_tilts(rng):
    missed = rng.uniform(size=40) < 0.3
    chances = Urn.of(25, 0.1).chances(missed)
    path = follow(Evidence.none(), missed, chances)
    for t in (1, 2, 7, 40):
        expected = martingale_by_definition(missed[:t], chances[:t])
        assert np.exp(path.martingale[t - 1]) == pytest.approx(expected, rel=1e-10)


def test_beginnings_have_probability_one_in_all():
    t = np.arange(1, 10_001)
    reached = logsumexp(log_start(t))
    assert np.logaddexp(reached, log_quiet(t[-1])) == pytest.approx(0, abs=1e-12)
    assert np.all(np.diff(log_start(t)) < 0)


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


def test_a_row_that_cannot_miss_tells_nothing():
    path = follow(Evidence.none(), np.zeros(3, dtype=bool), np.zeros(3))
    assert path.martingale == pytest.approx(np.zeros(3), abs=1e-15)


def test_more_misses_than_ever_before_are_finite_evidence():
    path = follow(Evidence.none(), np.ones(20_000, dtype=bool), np.full(20_000, 0.1))
    assert np.isfinite(path.martingale).all()
    assert path.martingale[-1] > 20_000
