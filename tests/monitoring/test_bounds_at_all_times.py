"""Bounds on coverage that hold at all times at once."""

import numpy as np
import pytest
from scipy.optimize import brentq

from plcp.metrics.binomial import tail_bounds
from plcp.monitoring.bounds import LOG_WEIGHTS, SLOPES, anytime_bounds


def ever_left_out(probabilities, tail):
    """Exact probability that the bounds ever leave out the mean probability so far, by side.

    Counts of hits among independent rows are followed row by row; those whose bounds err are
    taken out. The lower end is above the mean if and only if hits are many, so that one
    search a row finds the counts that err.
    """
    t = len(probabilities)
    means = np.cumsum(probabilities) / np.arange(1, t + 1)
    erred = np.zeros(2)
    alive = np.zeros(t + 1)
    alive[0] = 1.0
    for i, p in enumerate(probabilities):
        alive[1:] = alive[1:] * (1 - p) + alive[:-1] * p
        alive[0] *= 1 - p
        n = i + 1
        hits = np.arange(n + 1)
        too_low = _log_mixture(hits, n, means[i]) > -np.log(tail)
        too_high = _log_mixture(n - hits, n, 1 - means[i]) > -np.log(tail)
        for side, wrong in enumerate((too_low, too_high)):
            erred[side] += alive[: n + 1][wrong].sum()
        alive[: n + 1][too_low | too_high] = 0.0
    return erred


def _log_mixture(hits, n, p):
    terms = LOG_WEIGHTS + np.multiply.outer(hits, SLOPES) - n * np.log1p(p * np.expm1(SLOPES))
    return np.logaddexp.reduce(terms, axis=1)


DRIFTING = np.r_[np.full(150, 0.95), np.linspace(0.95, 0.6, 150), np.full(150, 0.6)]


@pytest.mark.parametrize("tail", [0.025, 0.2])
@pytest.mark.parametrize(
    "probabilities",
    [np.full(450, 0.9), np.full(450, 0.5), np.full(450, 0.02), DRIFTING, 1 - DRIFTING],
    ids=["0.9", "half", "rare", "falling", "rising"],
)
def test_each_end_errs_no_more_often_than_promised_at_any_time(probabilities, tail):
    """By the exact law of the counts, of rows alike and of rows that drift."""
    assert (ever_left_out(probabilities, tail) <= tail).all()


def test_ends_solve_their_equation():
    low, high = anytime_bounds(17, 40, 0.1)
    solve = {"a": 1e-12, "b": 1 - 1e-12, "xtol": 1e-14}
    by_search = brentq(lambda p: _log_mixture(np.array([17]), 40, p)[0] - np.log(10), **solve)
    assert low == pytest.approx(by_search, abs=1e-9)
    by_search = brentq(lambda p: _log_mixture(np.array([23]), 40, 1 - p)[0] - np.log(10), **solve)
    assert high == pytest.approx(by_search, abs=1e-9)


def test_they_are_wider_than_those_for_one_time_alone_and_hold_the_share():
    for n in (1, 10, 100, 10_000, 10**7):
        for hits in (0, n // 3, n):
            low, high = anytime_bounds(hits, n, 0.025)
            one_low, one_high = (float(end) for end in tail_bounds(hits, n, 0.025))
            assert 0 <= low <= one_low <= hits / n <= one_high <= high <= 1
