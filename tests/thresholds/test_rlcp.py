"""RLCP: coverage given the draw, point by point; a plain loop as oracle; blocks and threads."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from plcp import RLCP, SplitConformal
from plcp.exceptions import InfiniteThresholdWarning
from plcp.kernels import BoxKernel, GaussianKernel
from plcp.out_of_core import RowDraws
from plcp.quantiles import conformal_quantile, pinball_loss
from strategies import alphas, few
from worlds import Table, quietly, worlds


class Fixed(Table):
    """A table whose draws always fall on one place."""

    place = 0

    def draw(self, X, rng):
        return np.full(X.shape, float(self.place))


def share_covered(places, scores, table, z, alpha):
    """Weight at z of the points that are covered when each is left out, of that of all."""
    kernel = Fixed(table)
    kernel.place = z
    covered = total = Fraction(0)
    for k in range(len(scores)):
        X, s = np.delete(places, k)[:, None], np.delete(scores, k)
        q = quietly(RLCP(kernel, alpha=alpha), X, s, [[places[k]]])[0]
        weight = Fraction(table[places[k], z])
        covered += weight * int(scores[k] <= q)
        total += weight
    return covered, total


@few
@given(worlds(), alphas)
def test_coverage_given_the_draw_holds_for_any_points(world, alpha):
    """The law of coverage given X̃ and the points without their order: no chance is left."""
    places, scores, table = world
    covered, total = share_covered(places, scores, table, 0, alpha)
    assert covered >= (1 - Fraction(alpha).limit_denominator(1000)) * total


@few
@given(worlds(min_size=3), alphas, st.lists(st.integers(0, 8), min_size=4, max_size=4))
def test_coverage_over_all_draws_and_orders(world, alpha, cycle):
    """Every place may be drawn, at its own probability: the chance of coverage, exactly."""
    places, scores, _ = world
    k = places.max() + 1
    row = np.array(cycle[:k]) / 8 + 0.125
    table = np.array([np.roll(row, i) for i in range(k)])  # one factor makes all rows densities
    covered = [share_covered(places, scores, table, z, alpha)[0] for z in range(k)]
    target = 1 - Fraction(alpha).limit_denominator(1000)
    assert sum(covered) >= target * len(scores) * Fraction(row.sum())


@few
@given(worlds(), alphas)
def test_a_loop_over_points_gives_the_same(world, alpha):
    places, scores, table = world
    X, points = places[:, None].astype(float), np.arange(len(table))[:, None].astype(float)
    rule = RLCP(Table(table), alpha=alpha, random_state=3)
    found = quietly(rule, X, scores, points)
    each = zip(points[:, None], RowDraws(points, rule._seed, "neighbour").generators(), strict=True)
    drawn = [int(Table(table).draw(*one)[0, 0]) for one in each]
    for x, z, q in zip(range(len(table)), drawn, found, strict=True):
        assert q == conformal_quantile(scores, alpha, table[places, z], table[x, z])


@pytest.mark.parametrize("kernel", [GaussianKernel(0.6), BoxKernel(0.9)])
def test_continuous_kernels_against_a_loop(rng, kernel):
    X, scores, points = (
        rng.normal(size=(300, 3)),
        rng.exponential(size=300),
        rng.normal(size=(80, 3)),
    )
    rule = RLCP(kernel, random_state=0)
    found = quietly(rule, X, scores, points)
    drawn = kernel.draw(points, RowDraws(points, rule._seed, "neighbour"))
    for x, z, q in zip(points, drawn, found, strict=True):
        distances = np.linalg.norm(np.vstack([X, x]) - z, axis=1) / kernel.bandwidth
        is_box = isinstance(kernel, BoxKernel)
        weights = distances <= 1 if is_box else np.exp(-(distances**2) / 2)
        assert q == conformal_quantile(scores, 0.1, weights[:-1], float(weights[-1]))
    assert np.isfinite(found).sum() > 20


@few
@given(worlds(min_size=1), alphas, st.sampled_from(["gaussian", "box"]), st.integers(0, 9))
def test_an_infinite_bandwidth_is_split_conformal(world, alpha, kernel, seed):
    places, scores, _ = world
    rule = RLCP(kernel, np.inf, alpha, random_state=seed)
    X = places[:, None]
    assert_array_equal(quietly(rule, X, scores, X), quietly(SplitConformal(alpha), X, scores, X))


def test_neither_blocks_nor_threads_matter(rng, monkeypatch):
    X, scores = rng.normal(size=(500, 4)), rng.exponential(size=500)
    whole = quietly(RLCP(random_state=0), X, scores, X)
    assert len(np.unique(whole)) > 20
    assert_array_equal(quietly(RLCP(random_state=0, n_jobs=2), X, scores, X), whole)
    for block in (1, 3000):
        monkeypatch.setattr(RLCP, "_block", block)
        assert_array_equal(quietly(RLCP(random_state=0, n_jobs=2), X, scores, X), whole)


@few
@given(worlds(), alphas, st.data())
def test_weights_are_repeated_rows(world, alpha, data):
    places, scores, table = world
    n = len(scores)
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    counts[0] += 1
    X, points = places[:, None], np.arange(len(table))[:, None]
    rule = RLCP(Table(table), alpha=alpha, random_state=0)
    weighted = quietly(rule, X, scores, points, sample_weight=counts)
    repeated = quietly(rule, np.repeat(X, counts, axis=0), np.repeat(scores, counts), points)
    assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("seed", range(5))
def test_copies_of_a_point_weigh_what_it_weighs(rng, seed):
    """Nine scores at each of four places far apart: the largest of them covers the tenth."""
    places, scores = 20 * rng.normal(size=(4, 2)), rng.uniform(size=(4, 9))
    rule = RLCP(GaussianKernel(0.1), random_state=seed)
    found = quietly(rule, np.repeat(places, 9, axis=0), scores.ravel(), places)
    assert_array_equal(found, scores.max(axis=1))


def test_many_columns_do_not_underflow(rng):
    """exp(-d/2) is zero for 3000 columns: only ratios of weights are of use, and are used."""
    X, scores = rng.normal(size=(200, 3000)), rng.exponential(size=200)
    rule = RLCP(GaussianKernel(1e4), random_state=0).fit(X, scores)
    assert_array_equal(rule.predict(X[:20]), SplitConformal().fit(X, scores).predict(X[:20]))


def test_the_same_stream_in_every_call_and_another_for_another_seed(rng):
    X, scores = rng.normal(size=(300, 2)), rng.exponential(size=300)
    rule = RLCP(GaussianKernel(3.0), random_state=0).fit(X, scores)
    assert_array_equal(rule.predict(X), rule.predict(X))
    assert_array_equal(rule.predict(X[:9]), rule.predict(X)[:9])
    other = RLCP(GaussianKernel(3.0), random_state=1).fit(X, scores)
    assert (other.predict(X) != rule.predict(X)).any()


def test_nothing_near_is_infinite_and_counted(rng):
    X, scores = rng.normal(size=(200, 1)), rng.exponential(size=200)
    rule = RLCP(BoxKernel(0.5), random_state=0).fit(X, scores)
    with pytest.warns(InfiniteThresholdWarning, match="2 of 3 rows have too little calibration"):
        assert_array_equal(np.isinf(rule.predict([[0.0], [50.0], [-50.0]])), [False, True, True])


class Lost(BoxKernel):
    """A kernel whose draws fall where not even the point itself has weight."""

    def draw(self, X, rng):
        return X + 100.0


def test_no_weight_at_all_is_infinite(rng):
    rule = RLCP(Lost(1.0)).fit(rng.normal(size=(50, 1)), rng.exponential(size=50))
    with pytest.warns(InfiniteThresholdWarning, match="1 of 1 rows"):
        assert rule.predict([[0.0]]) == np.inf


@pytest.mark.filterwarnings("ignore::plcp.exceptions.InfiniteThresholdWarning")
def test_an_infinite_threshold_does_not_decide_alone_in_a_search(rng):
    X = rng.normal(size=(300, 3))
    scores = rng.exponential(size=300)
    rule = RLCP(bandwidth=0.3, random_state=0).fit(X, scores)
    assert np.isinf(rule.predict(X)).any()
    bounded = np.minimum(rule.predict(X), scores.max())
    assert rule.score(X, scores) == pytest.approx(-pinball_loss(bounded, scores, 0.1).mean())
