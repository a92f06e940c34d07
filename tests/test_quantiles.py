"""Pinball loss and quantiles against exact rational arithmetic, brute force and repeated rows."""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta
from sklearn.metrics import mean_pinball_loss

from plcp.quantiles import (
    conformal_quantile,
    conformal_rank,
    excess_over,
    group_conformal_quantiles,
    group_ranks,
    interpolated,
    interpolated_place,
    least_points,
    pac_rank,
    pinball_loss,
    rank_reaching,
    shared_confidence,
    smoothed_quantiles,
    weighted_quantiles,
)
from strategies import alphas, distinct_scores, few, finite, scores_with_counts, scores_with_groups

EXACT = {
    0.01: Fraction(1, 100),
    0.05: Fraction(1, 20),
    0.1: Fraction(1, 10),
    0.2: Fraction(1, 5),
    0.3: Fraction(3, 10),
    1 / 3: Fraction(1, 3),
    0.5: Fraction(1, 2),
    2 / 3: Fraction(2, 3),
    0.7: Fraction(7, 10),
    0.9: Fraction(9, 10),
    0.99: Fraction(99, 100),
    0.001: Fraction(1, 1000),
}


@pytest.mark.parametrize("alpha", EXACT)
@pytest.mark.parametrize("extra", [0, 1])
def test_rank_reaching_a_quantile_is_that_of_rational_arithmetic(alpha, extra):
    sizes = [*range(1, 300), *(10**k + i for k in range(3, 12) for i in range(-3, 4))]
    places = [rank_reaching(n, 1 - alpha, extra) for n in sizes]
    exact = [max(math.ceil((1 - EXACT[alpha]) * (n + extra)) - 1, 0) for n in sizes]
    assert places == exact


@few
@given(distinct_scores(min_size=2), alphas)
def test_leaving_each_out_covers_exactly_the_rank(scores, alpha):
    n = len(scores) - 1
    covered = sum(
        scores[i] <= conformal_quantile(np.delete(scores, i), alpha) for i in range(n + 1)
    )
    assert covered == conformal_rank(n, alpha)


@few
@given(scores_with_groups(), alphas)
def test_each_group_has_the_quantile_it_would_have_alone(drawn, alpha):
    scores, groups = drawn
    together = group_conformal_quantiles(scores, groups, 5, alpha)
    alone = [conformal_quantile(scores[groups == g], alpha) for g in range(5)]
    assert_array_equal(together, alone)
    assert together[4] == np.inf  # it is empty


@few
@given(scores_with_counts(), alphas)
def test_whole_weights_are_repeated_rows(drawn, alpha):
    scores, counts = drawn
    repeated = np.repeat(scores, counts)
    assert conformal_quantile(scores, alpha, counts) == conformal_quantile(repeated, alpha)
    weighted = weighted_quantiles(scores, counts[:, None], 1 - alpha)
    assert weighted == weighted_quantiles(repeated, np.ones((len(repeated), 1)), 1 - alpha)


@few
@given(scores_with_counts(), alphas, st.integers(0, 5))
def test_weighted_quantile_is_the_smallest_score_that_weighs_enough(drawn, alpha, test_weight):
    scores, counts = drawn
    exact = EXACT.get(alpha, Fraction(alpha).limit_denominator(1000))
    target = (1 - exact) * (int(counts.sum()) + test_weight)
    enough = [s for s in scores if int(counts[scores <= s].sum()) >= target]
    expected = min(enough, default=np.inf)
    assert conformal_quantile(scores, alpha, counts, test_weight) == expected


@pytest.mark.parametrize("test_weight", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("weights", [None, np.ones(3)])
def test_an_empty_group_has_an_infinite_threshold(test_weight, weights):
    groups = np.array([0, 0, 2])
    found = group_conformal_quantiles([1.0, 2.0, 3.0], groups, 4, 0.5, weights, test_weight)
    assert_array_equal(np.isinf(found), [False, True, test_weight == 1.5, True])


def test_weights_have_no_unit_but_that_of_the_test_point():
    scores, weights = np.arange(30.0), np.linspace(1, 2, 30)
    expected = conformal_quantile(scores, 0.2, weights, 3.0)
    assert conformal_quantile(scores, 0.2, 7 * weights, 21.0) == expected


@few
@given(scores_with_counts(), alphas)
def test_weighted_quantile_minimises_the_pinball_loss(drawn, alpha):
    scores, counts = drawn
    losses = [counts @ pinball_loss(q, scores, alpha) for q in scores]
    found = weighted_quantiles(scores, counts[:, None], 1 - alpha)[0]
    best = counts @ pinball_loss(found, scores, alpha)
    assert best <= min(losses) * (1 + 1e-12) + 1e-12  # the same sum in another order


def test_weighted_quantiles_of_many_columns_are_those_of_each(rng):
    scores, weights = rng.normal(size=50), rng.uniform(size=(50, 4))
    weights[:, 2] = 0
    together = weighted_quantiles(scores, weights, 0.9)
    alone = [weighted_quantiles(scores, weights[:, [i]], 0.9)[0] for i in range(4)]
    assert_array_equal(together, alone)
    assert_array_equal(np.isnan(together), [False, False, True, False])


@few
@given(hnp.arrays(float, 10, elements=finite), finite, alphas)
def test_pinball_loss_is_that_of_scikit_learn(scores, threshold, alpha):
    ours = pinball_loss(threshold, scores, alpha).mean()
    theirs = mean_pinball_loss(scores, np.full(10, threshold), alpha=1 - alpha)
    assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 11, 1000])
@pytest.mark.parametrize("quantile", [0.001, 0.1, 0.5, 0.7, 0.9, 0.999])
def test_interpolated_quantiles_are_those_of_numpy(rng, n, quantile):
    values = np.sort(rng.normal(size=n))
    low, high, share = interpolated_place(n, quantile)
    expected = np.quantile(values, quantile, method="weibull")
    assert interpolated(values[low], values[high], share) == expected


@few
@given(finite, hnp.arrays(float, 20, elements=finite))
def test_excess_reaches_every_score(base, scores):
    excess = excess_over(base, scores)
    assert (base + excess >= scores).all()
    assert (excess <= np.nextafter(scores - base, np.inf)).all()


def binomial_cdf(n, p):
    """P(Bin(n, p) ≤ j) for j = 0 … n - 1, as fractions."""
    masses = [math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n)]
    return [*accumulate(masses)]


@pytest.mark.parametrize("tenths", [1, 2, 3, 5, 7, 9])
def test_pac_rank_is_that_of_rational_arithmetic(tenths):
    """Also where the law meets the confidence exactly: 1 - 0.9² is 0.19."""
    alpha = Fraction(tenths, 10)
    for n in range(1, 31):
        law = binomial_cdf(n, 1 - alpha)
        for hundredths in (1, 10, 19, 51, 75, 90, 95, 99):
            exact = 1 + sum(share < Fraction(hundredths, 100) for share in law)
            assert pac_rank(n, tenths / 10, hundredths / 100) == exact


@pytest.mark.parametrize("alpha", [1e-6, 0.01, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("confidence", [1e-9, 0.3, 0.95, 1 - 1e-9])
@pytest.mark.parametrize("n", [10, 1000, 10**6, 10**9])
def test_pac_rank_is_the_first_whose_beta_law_has_the_confidence(alpha, confidence, n):
    k = pac_rank(n, alpha, confidence)
    assert 1 <= k <= n + 1
    rounding = np.sqrt(np.finfo(float).eps)  # of a tail of 10⁹ points, by another series
    if k <= n:
        assert beta.sf(1 - alpha, k, n + 1 - k) >= confidence - rounding
    if k > 1:
        assert beta.sf(1 - alpha, k - 1, n + 2 - k) < confidence + rounding


@pytest.mark.parametrize("confidence", [None, 0.01, 0.19, 0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.9])
def test_a_threshold_is_finite_from_the_least_number_of_points(alpha, confidence):
    n = least_points(alpha, confidence)
    assert conformal_rank(n, alpha, confidence) <= n
    assert conformal_rank(n - 1, alpha, confidence) == n


@few
@given(scores_with_groups(), alphas, st.sampled_from([0.2, 0.5, 0.9]))
def test_groups_share_a_confidence(drawn, alpha, confidence):
    scores, groups = drawn
    together = group_conformal_quantiles(scores, groups, 5, alpha, confidence=confidence)
    share = shared_confidence(confidence, 5)
    alone = [conformal_quantile(scores[groups == g], alpha, confidence=share) for g in range(5)]
    assert_array_equal(together, alone)
    sizes = np.bincount(groups, minlength=5)
    assert_array_equal(np.isinf(together), group_ranks(sizes, alpha, confidence) == sizes + 1)


exact_alphas = st.sampled_from([a for a in EXACT if a > 0.001])
tied_scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=14)


def covering_draws(scores, s, alpha):
    """Draw from which on a score is covered, by the definition of the smoothed p-value."""
    above, tied = sum(t > s for t in scores), sum(t == s for t in scores)
    return (alpha * (len(scores) + 1) - above) / (tied + 1)


def as_fraction(end, n):
    """Return the fraction that an end was rounded from: of alpha (n + 1) or part of it."""
    return Fraction(float(end)).limit_denominator(1000 * (n + 1))


@few
@given(tied_scores, exact_alphas)
def test_smoothed_quantiles_are_the_definition_at_every_draw(scores, alpha):
    ends, thresholds = smoothed_quantiles(scores, alpha)
    assert len(ends) == len(thresholds) - 1 <= 3
    assert (np.diff(ends) >= 0).all()
    assert (np.diff(thresholds) > 0).all()
    edges = [Fraction(0), *(as_fraction(end, len(scores)) for end in ends), Fraction(1)]
    around = {x for s in {*scores} for x in (np.nextafter(s, -9), s, np.nextafter(s, 9))}
    for s in (-1e300, *around, 1e300):
        first = covering_draws(scores, s, EXACT[alpha])
        for low, high, threshold in zip(edges[:-1], edges[1:], thresholds, strict=True):
            if low < high:
                assert (s <= threshold) == (first <= low)
                assert first <= low or first >= high  # the same for all draws of a step


@few
@given(tied_scores, exact_alphas)
def test_leaving_each_out_covers_exactly_one_minus_alpha_with_draws(scores, alpha):
    covered = Fraction(0)
    for i, s in enumerate(scores):
        ends, thresholds = smoothed_quantiles(scores[:i] + scores[i + 1 :], alpha)
        edges = [Fraction(0), *(as_fraction(end, len(scores)) for end in ends), Fraction(1)]
        covered += 1 - edges[int(np.sum(thresholds < s))]
    assert covered == (1 - EXACT[alpha]) * len(scores)


@few
@given(tied_scores, exact_alphas)
def test_the_conformal_quantile_is_the_largest_that_is_drawn(scores, alpha):
    assert smoothed_quantiles(scores, alpha)[1][-1] == conformal_quantile(scores, alpha)


@few
@given(distinct_scores(), st.integers(1, 7), alphas, st.sampled_from([None, 0.8, 0.95]))
def test_copies_have_the_quantile_of_distinct_scores(scores, times, alpha, confidence):
    once = conformal_quantile(scores, alpha, confidence=confidence)
    copied = np.repeat(scores, times)
    assert conformal_quantile(copied, alpha, None, times, confidence) == once
