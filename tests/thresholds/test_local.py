"""LocalCP: Guan's definition by brute force, the rotation law, and its reductions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from plcp import LocalCP, SplitConformal
from plcp.kernels import BoxKernel, GaussianKernel
from plcp.quantiles import conformal_quantile, conformal_rank
from strategies import alphas, few
from worlds import Table, quietly, worlds


def quantile(scores, weights, level):
    """Smallest score at which the normalised weights reach the level, in whole fractions."""
    total, running = sum(weights), Fraction(0)
    for s, w in sorted(zip(scores, weights, strict=True)):
        running += w
        if running >= level * total:
            return s
    return np.inf


def guan_accepts(v, scores, H, alpha):
    """Guan's algorithm at one v: the smallest level that covers enough points covers v too."""
    everyone = [*scores, v]
    order = sorted(set(everyone))
    levels = {
        sum(w for w, s in zip(row, everyone, strict=True) if s <= t) / sum(row)
        for row in H
        for t in order
    }
    rank = conformal_rank(len(scores), alpha)
    for level in sorted(levels):
        if level > 0:
            covered = [
                s <= quantile(everyone, row, level) for s, row in zip(everyone, H, strict=True)
            ]
            if sum(covered) >= rank:
                return covered[-1]
    raise AssertionError("at level one all points are covered")


def guan_threshold(x, places, scores, table, alpha):
    """Supremum of the scores accepted, tried just below each calibration score and above all."""
    everywhere = [*places, x]
    H = [[Fraction(table[a, b]) for b in everywhere] for a in everywhere]
    candidates = sorted(set(scores))
    tried = [(s, s - 0.5) for s in candidates] + [(np.inf, candidates[-1] + 0.5)]
    accepted = [guan_accepts(below, list(scores), H, alpha) for _, below in tried]
    assert accepted == sorted(accepted, reverse=True)  # monotone, as bisection needs it
    return max(sup for (sup, _), yes in zip(tried, accepted, strict=True) if yes)


@few
@given(worlds(max_size=9), alphas, st.sampled_from([1.0, 1 / 7]))
def test_the_definition_by_brute_force(world, alpha, unit):
    """Scores are whole numbers, so a half below one is just below it; sevenths round."""
    places, scores, table = world
    points = np.arange(len(table))
    found = quietly(
        LocalCP(Table(table * unit), alpha=alpha), places[:, None], scores, points[:, None]
    )
    expected = [guan_threshold(x, places, scores, table, alpha) for x in points]
    assert_array_equal(found, expected)


@few
@given(worlds(), alphas)
def test_leaving_each_out_covers_at_least_the_rank(world, alpha):
    places, scores, table = world
    covered = 0
    for k in range(len(scores)):
        X, s = np.delete(places, k)[:, None], np.delete(scores, k)
        q = quietly(LocalCP(Table(table), alpha=alpha), X, s, [[places[k]]])[0]
        covered += int(scores[k] <= q)
    assert covered >= conformal_rank(len(scores) - 1, alpha)


@pytest.mark.parametrize("n", [9, 30, 100])
def test_rounding_does_not_tell_equal_ranks_apart(rng, n):
    """Ranks at two places apart are often equal; a tenth has no exact float, and one has."""
    places, scores = (
        np.repeat([[0], [1]], [n, n + 1], axis=0),
        rng.permutation(np.arange(2.0 * n + 1)),
    )
    for alpha in (0.1, 0.2, 0.3, 0.5):
        tenths, ones = (Table(unit * np.eye(2)) for unit in (0.1, 1.0))
        found = quietly(LocalCP(tenths, alpha=alpha), places, scores, [[0], [1]])
        expected = quietly(LocalCP(ones, alpha=alpha), places, scores, [[0], [1]])
        assert_array_equal(found, expected)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.3, 0.5])
def test_weights_that_round_do_not_tell_equal_ranks_apart(rng, alpha):
    """Places so far apart that the normal kernel is a table of zeros and ones, but for rounding."""
    kinds, each = np.arange(17) % 2, np.arange(2)[:, None]
    for _ in range(40):
        places = np.array([[20], [-20]]) + rng.normal(size=(2, 2))
        scores = rng.permutation(np.arange(17.0))
        far = LocalCP(GaussianKernel(0.2), alpha=alpha)
        found = quietly(far, places[kinds], scores, places)
        table = LocalCP(Table(np.eye(2)), alpha=alpha)
        assert_array_equal(found, quietly(table, kinds[:, None], scores, each))


@pytest.mark.parametrize("kernel", [GaussianKernel(0.7), BoxKernel(0.8)])
@pytest.mark.parametrize("tied", [False, True])
def test_leaving_each_out_with_continuous_kernels(rng, kernel, tied):
    """Copies of a row have equal ranks, which rounding must not tell apart."""
    X = rng.normal(size=(40, 2))[rng.integers(0, 30, size=40)]
    scores = rng.integers(0, 9, size=40).astype(float) if tied else rng.exponential(size=40)
    for alpha in (0.1, 0.25, 0.5):
        rule, covered = LocalCP(kernel, alpha=alpha), 0
        for k in range(40):
            q = quietly(rule, np.delete(X, k, axis=0), np.delete(scores, k), X[[k]])
            covered += int(scores[k] <= q[0])
        assert covered >= conformal_rank(39, alpha)


@few
@given(worlds(), alphas)
def test_uncalibrated_is_the_weighted_quantile(world, alpha):
    places, scores, table = world
    points = np.arange(len(table))
    rule = LocalCP(Table(table), alpha=alpha, calibrated=False)
    found = quietly(rule, places[:, None], scores, points[:, None])
    expected = [conformal_quantile(scores, alpha, table[x, places], table[x, x]) for x in points]
    assert_array_equal(found, expected)


@few
@given(
    worlds(min_size=1), alphas, st.sampled_from(["gaussian", "box"]), st.booleans(), st.booleans()
)
def test_an_infinite_bandwidth_is_split_conformal(world, alpha, kernel, calibrated, weighted):
    places, scores, _ = world
    weights = 1 + np.arange(len(scores)) % 3 if weighted else None
    rule, X = LocalCP(kernel, np.inf, alpha, calibrated=calibrated), places[:, None]
    found = quietly(rule, X, scores, X, sample_weight=weights)
    assert_array_equal(found, quietly(SplitConformal(alpha), X, scores, X, sample_weight=weights))


@few
@given(worlds(), alphas, st.booleans(), st.data())
def test_weights_are_repeated_rows(world, alpha, calibrated, data):
    places, scores, table = world
    n = len(scores)
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    counts[0] += 1
    X, points = places[:, None], np.arange(len(table))[:, None]
    rule = LocalCP(Table(table), alpha=alpha, calibrated=calibrated)
    weighted = quietly(rule, X, scores, points, sample_weight=counts)
    repeated = quietly(rule, np.repeat(X, counts, axis=0), np.repeat(scores, counts), points)
    assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("calibrated", [True, False])
def test_neither_blocks_nor_threads_matter(rng, monkeypatch, calibrated):
    X, scores = rng.normal(size=(400, 4)), rng.exponential(size=400)
    whole = quietly(LocalCP(calibrated=calibrated, random_state=0), X, scores, X)
    assert len(np.unique(whole)) > 20
    for block in (1, 3000, 2**20):
        monkeypatch.setattr(LocalCP, "_block", block)
        rule = LocalCP(calibrated=calibrated, random_state=0, n_jobs=2)
        assert_array_equal(quietly(rule, X, scores, X), whole)


def test_thresholds_follow_the_scores_nearby(rng):
    """Two kinds of input twenty times apart, and a kernel too narrow to see both."""
    X = np.repeat([[0.0], [1.0]], 200, axis=0)
    scores = rng.exponential(size=400) * np.where(X[:, 0] > 0, 20.0, 1.0)
    near, far = LocalCP("box", 0.1, tuning_size=0).fit(X, scores).predict([[0.0], [1.0]])
    assert near < scores[:200].max()
    assert far > scores[:200].max()


def test_no_guarantee_without_calibration(rng):
    X, scores = rng.normal(size=(300, 2)), rng.exponential(size=300)
    guarantee = LocalCP(calibrated=False).fit(X, scores).guarantee_
    assert guarantee.kind == "none"


def test_nothing_of_a_calibrated_fit_stays_in_an_uncalibrated_one(rng):
    X, scores = rng.normal(size=(300, 2)), rng.exponential(size=300)
    once = LocalCP(calibrated=False, random_state=0).fit(X, scores)
    twice = LocalCP(random_state=0).fit(X, scores).set_params(calibrated=False).fit(X, scores)
    assert vars(once).keys() == vars(twice).keys()
    assert_array_equal(quietly(once, X, scores, X), quietly(twice, X, scores, X))


@pytest.mark.parametrize("weighted", [False, True])
def test_next_to_no_coverage_asks_for_the_least_score(rng, weighted):
    X, scores = rng.normal(size=(300, 2)), rng.exponential(size=300)
    weights = np.full(300, 2.0) if weighted else None
    rule = LocalCP(GaussianKernel(1.0), alpha=1 - 1e-15)
    assert (quietly(rule, X, scores, X, sample_weight=weights) == scores.min()).all()
