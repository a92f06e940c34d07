"""Bounds and verdicts: against scipy's own interval, the binomial law, and simulated test sets."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom, binomtest

from bands import binomial_band
from plcp import SplitConformal, certify
from plcp._verdict import CHANCE, MOST_ROWS, Verdict, in_words, rounded, rows_to_decide, verdict_of
from strategies import few

DECIDED = (Verdict.ABOVE, Verdict.BELOW)


def at_level(threshold):
    """A rule with one threshold, so that uniform scores are covered with that probability."""
    rule = SplitConformal().fit(np.zeros((19, 1)), np.arange(19))
    rule.threshold_ = threshold
    return rule


def certified(rng, n, groups=None, threshold=0.9, target=0.9, **options):
    rule, X, scores = at_level(threshold), np.zeros((n, 1)), rng.uniform(size=n)
    return certify(rule, X, scores, groups=groups, target=target, **options)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_bounds_are_those_of_scipy(rng, confidence):
    certificate = certified(rng, 300, rng.integers(4, size=300), confidence=confidence)
    assert [group.group for group in certificate.groups] == ["all", "0", "1", "2", "3"]
    for group in certificate.groups:
        test = binomtest(group.hits, group.n)
        each = test.proportion_ci(confidence, "exact")
        together = test.proportion_ci(1 - (1 - confidence) / 5, "exact")
        assert (group.low, group.high) == pytest.approx((each.low, each.high))
        assert (group.low_all, group.high_all) == pytest.approx((together.low, together.high))


def test_counts_are_of_the_rows_in_each_group(rng):
    scores = rng.uniform(size=50)
    masks = {"low": scores < 0.6, "high": scores > 0.3}  # some rows are in both
    certificate = certify(at_level(0.5), np.zeros((50, 1)), scores, groups=masks)
    everybody, low, high = certificate.groups
    assert (everybody.n, everybody.hits) == (50, np.sum(scores <= 0.5))
    assert (low.n, low.hits) == (masks["low"].sum(), np.sum(scores <= 0.5))
    assert (high.n, high.hits) == (masks["high"].sum(), np.sum((scores > 0.3) & (scores <= 0.5)))
    assert low.coverage == low.hits / low.n
    assert low.size is None  # thresholds alone have no sets


@pytest.mark.parametrize(("size", "truth"), [(12, 0.9), (150, 0.9), (150, 0.99)])
def test_each_bound_holds_as_often_as_it_says(rng, size, truth):
    """A thousand groups of one certificate are as many independent test sets."""
    repeats, confidence = 1000, 0.9
    groups = np.repeat(np.arange(repeats), size)
    _, *found = certified(rng, len(groups), groups, truth, confidence=confidence).groups
    low, high = np.array([(group.low, group.high) for group in found]).T
    assert np.sum((low <= truth) & (truth <= high)) >= binomial_band(repeats, confidence)[0]
    assert np.sum(low > truth) <= binomial_band(repeats, (1 - confidence) / 2)[1]


def test_all_bounds_hold_at_once_as_often_as_they_say(rng):
    """Ten groups of other coverage each, at 0.8: bounds of each alone hold together far less."""
    repeats, confidence, target = 150, 0.8, 0.8
    truths = target / np.linspace(0.8, 1, 10)  # of scores uniform up to these
    together, apart = 0, 0
    for _ in range(repeats):
        groups = rng.permutation(np.r_[np.arange(10), rng.integers(10, size=590)])
        scores = rng.uniform(size=600) * (target / truths)[groups]
        rule, X = at_level(target), np.zeros((600, 1))
        _, *found = certify(rule, X, scores, groups=groups, confidence=confidence).groups
        pairs = list(zip(found, truths, strict=True))
        together += all(group.low_all <= truth <= group.high_all for group, truth in pairs)
        apart += all(group.low <= truth <= group.high for group, truth in pairs)
    assert together >= binomial_band(repeats, confidence)[0] > apart


def test_false_verdicts_are_as_rare_as_promised(rng):
    """At the very target both verdicts are wrong: of 50 groups and all, hardly ever one."""
    groups = np.repeat(np.arange(50), 60)
    certificates = [certified(rng, 3000, groups, confidence=0.8).groups for _ in range(60)]
    wrong = sum(any(group.verdict in DECIDED for group in found) for found in certificates)
    assert wrong <= binomial_band(60, 0.2)[1]


@given(st.integers(1, 400), st.data(), st.sampled_from([0.5, 0.8, 0.9, 0.99]))
@few
def test_verdict_is_an_exact_test(n, data, target):
    """A lower bound reaches the target where so many hits would be too rare at the target."""
    hits, tail = data.draw(st.integers(0, n)), 1 / 97  # met exactly by no probability at hand
    interval = binomtest(hits, n).proportion_ci(1 - 2 * tail, "exact")
    verdict = verdict_of(interval.low, interval.high, target)
    assert (verdict == "above") == (binom.sf(hits - 1, n, target) <= tail)
    assert (verdict == "below") == (binom.cdf(hits, n, target) < tail)


def test_rows_needed_decide_as_often_as_said():
    """By enumeration of every count that so many rows can show."""
    hits, n = np.array([[19, 20], [16, 20], [181, 200], [3, 3], [1, 2], [950, 1050]]).T
    target, tail = 0.9, 0.005

    def chance(rows, share):
        counts = np.arange(rows + 1)
        rare = binom.cdf(counts, rows, target)
        if share > target:
            rare = binom.sf(counts - 1, rows, target)
        return binom.pmf(counts, rows, share)[rare <= tail].sum()

    needed = rows_to_decide(hits, n, target, tail)
    for rows, share in zip(needed, hits / n, strict=True):
        assert chance(rows, share) >= CHANCE > chance(rows - 1, share)


def test_rows_needed_are_those_of_bounds_for_all_at_once(rng):
    """All rows and two groups share the chance of an error; a group without rows takes none."""
    half = np.arange(100) < 50
    masks = {"one": half, "other": ~half, "nobody": np.zeros(100, dtype=bool)}
    *found, _ = certified(rng, 100, masks, threshold=0.95, confidence=0.9).groups
    counts = [[group.hits for group in found], [group.n for group in found]]
    needed = rows_to_decide(*counts, 0.9, 0.1 / 3 / 2)
    assert any(group.verdict not in DECIDED for group in found)
    for group, rows in zip(found, needed, strict=True):
        assert group.rows_needed == (None if group.verdict in DECIDED else int(rows) or None)


def test_no_number_of_rows_tells_a_share_from_itself():
    near = 9 * 10**5 + 1
    hits, n = [90, 0, near, near + 99], [100, 0, 10**6, 10**6]
    *never, some = rows_to_decide(hits, n, 0.9, 0.025)
    assert never == [0, 0, 0]
    assert 10**6 < some < MOST_ROWS


@given(st.integers(1, 10**9))
@few
def test_rounded_is_at_most_a_tenth_more(rows):
    assert rows <= rounded(rows) <= 1.1 * rows
    assert rounded(rounded(rows)) == rounded(rows)


def words(group, target):
    return in_words(group.verdict, target, (group.low_all, group.high_all), group.rows_needed)


def test_verdicts_in_words(rng):
    def verdict(threshold, n, target=0.9):
        return words(certified(rng, n, threshold=threshold, target=target).groups[0], target)

    assert verdict(1.0, 200) == "above 0.9"
    assert verdict(0.5, 200) == "below 0.9"
    assert verdict(0.9, 200, target=0.7) == "above 0.7"
    # 0.025^(1/3) = 0.2924, and 0.9^36 < 0.025 < 0.9^35
    assert verdict(1.0, 3) == "undecided, between 0.292 and 1.000: needs about 36 rows"
    scores = np.r_[np.full(90, 0.4), np.full(10, 0.6)]
    even = certify(at_level(0.5), np.zeros((100, 1)), scores, target=0.9).groups[0]
    assert words(even, 0.9).endswith(": too close to 0.9 to decide")


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.2, 0.5])
def test_five_thousand_rows_decide_by_default(rng, alpha):
    """A rule that covers just 1 - alpha is certified, and so is each of two groups of its rows."""
    rule = at_level(1 - alpha).set_params(alpha=alpha)
    X, scores, groups = np.zeros((5000, 1)), rng.uniform(size=5000), np.arange(5000) % 2
    certificate = certify(rule, X, scores, groups=groups)
    margin, deviation = 1 - alpha - certificate.target, np.sqrt(alpha * (1 - alpha))
    assert 0.05 * deviation < margin < 0.15 * deviation  # rounded to one digit
    tail = 0.05 / 3 / 2
    for rows in (5000, 2500):
        enough = binom.isf(tail, rows, certificate.target) + 1  # hits that are too rare below it
        assert binom.sf(enough - 1, rows, 1 - alpha) > 0.9
    for group in certificate.groups:
        tested = binomtest(group.hits, group.n, certificate.target, alternative="greater")
        assert (group.verdict == "above") == (tested.pvalue <= tail)


def test_a_margin_hides_no_group_that_surely_covers_less_than_meant():
    """Of 100,000 rows 0.88 are covered: at least 0.87, and surely less than 0.9."""
    scores, groups = np.arange(100_000) % 100 + 0.5, np.arange(100_000) // 50_000
    rule = at_level(88.0)
    certificate = certify(rule, np.zeros((100_000, 1)), scores, groups=groups)
    assert [group.verdict for group in certificate.groups] == ["above"] * 3
    page = " ".join(str(certificate).split())
    assert "Groups that surely cover less than 0.9: 0; 1." in page
    assert "That is 0.03 less than the 0.9 meant" in page
    strict = certify(rule, np.zeros((100_000, 1)), scores, groups=groups, target=0.9)
    assert [group.verdict for group in strict.groups] == ["below"] * 3
    assert "surely cover less" not in str(strict)


def test_a_group_without_rows_says_nothing(rng):
    masks = {"nobody": np.zeros(30, dtype=bool), "everybody": np.ones(30, dtype=bool)}
    nobody = certified(rng, 30, masks).groups[1]
    assert (nobody.n, nobody.hits, nobody.coverage, nobody.size) == (0, 0, None, None)
    assert (nobody.low, nobody.high, nobody.low_all, nobody.high_all) == (0, 1, 0, 1)
    assert words(nobody, 0.9) == "undecided, holds no row"


@pytest.mark.parametrize(("threshold", "low", "high"), [(2.0, 0.025**0.1, 1.0), (-1.0, 0.0, None)])
def test_all_covered_and_none_covered(rng, threshold, low, high):
    """Of n hits in n rows the bound is the root of the tail; of none, its mirror image."""
    group = certified(rng, 10, threshold=threshold).groups[0]
    assert group.low == pytest.approx(low)
    assert group.high == pytest.approx(1 - 0.025**0.1 if high is None else high)


def test_one_row(rng):
    group = certified(rng, 1, threshold=2.0).groups[0]
    assert (group.n, group.hits) == (1, 1)
    assert group.low == pytest.approx(0.025)


def test_order_of_rows_does_not_matter_to_bounds(rng):
    scores, groups, order = rng.uniform(size=80), rng.integers(3, size=80), rng.permutation(80)
    X = np.zeros((80, 1))
    there = certify(at_level(0.8), X, scores, groups=groups).groups
    assert certify(at_level(0.8), X, scores[order], groups=groups[order]).groups == there
