"""Posterior conformal: the likelihood by scipy as oracle, and its reductions."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multinomial

from plcp import PosteriorConformal, SplitConformal
from plcp._folds import copy_ids, rows_of
from plcp.exceptions import CollapseWarning
from plcp.kernels import MultinomialKernel, precision_for_size
from plcp.out_of_core import RowDraws
from plcp.partitions import OrderedPartition, SoftmaxPartition
from plcp.partitions.base import Partition
from plcp.quantiles import conformal_quantile
from plcp.regressors import LinearQuantile
from strategies import alphas, few
from worlds import quietly


class Given(Partition):
    """Memberships known beforehand: one row of a table for each kind of input."""

    def __init__(self, table=((1.0,),), n_groups=1, alpha=0.1):
        self.table = table
        self.n_groups = n_groups
        self.alpha = alpha

    def fit(self, X, y, sample_weight=None):
        self._check_fit(X, y, sample_weight)
        self.store_groups(np.arange(len(self.table[0]), dtype=float), np.ones(len(self.table[0])))
        return self

    def predict_proba(self, X):
        return np.asarray(self.table)[np.asarray(X)[:, 0].astype(int)]


HALVES = ((0.5, 0.25, 0.25), (0.125, 0.125, 0.75), (0.25, 0.5, 0.25))  # exact in floating point
ONE_EACH = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
KINDS = np.arange(3)[:, None]


@st.composite
def kinds_and_scores(draw):
    n = draw(st.integers(4, 24))
    kinds = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    scores = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    return np.array(kinds)[:, None], np.array(scores, dtype=float)


def calibrating(rule, X, scores):
    """Kinds and scores of the rows that calibrate: those that were not drawn to learn."""
    ids = copy_ids(X, scores)
    order = np.random.RandomState(rule.random_state).permutation(np.unique(ids))
    rows = rows_of(order[min(max(2, int(rule.learning_size * len(order))), len(order) - 1) :], ids)
    return X[rows, 0], scores[rows]


@few
@given(kinds_and_scores(), alphas, st.integers(0, 6))
def test_a_loop_with_likelihoods_by_scipy(drawn, alpha, precision):
    X, scores = drawn
    rule = PosteriorConformal(Given(HALVES), precision, alpha, random_state=4)
    found = quietly(rule, X, scores, KINDS)
    kinds, own_scores = calibrating(rule, X, scores)
    assert_array_equal(np.sort(own_scores), rule.scores_)
    draws = RowDraws(KINDS, rule._seed, "neighbour")
    counts = draws.multinomial(precision, np.array(HALVES))
    for kind, count, q in zip(range(3), counts, found, strict=True):
        likelihood = [multinomial.pmf(count, precision, p) for p in HALVES]
        weights = np.array(likelihood)[kinds]
        assert q == conformal_quantile(own_scores, alpha, weights, likelihood[kind])


@few
@given(kinds_and_scores(), alphas)
def test_groups_without_doubt_have_thresholds_of_their_own(drawn, alpha):
    X, scores = drawn
    rule = PosteriorConformal(Given(ONE_EACH), 2, alpha, random_state=0)
    found = quietly(rule, X, scores, KINDS)
    kinds, own = calibrating(rule, X, scores)
    assert_array_equal(found, [conformal_quantile(own[kinds == k], alpha) for k in range(3)])


@few
@given(kinds_and_scores(), alphas, st.booleans())
def test_one_group_or_no_precision_is_split_conformal(drawn, alpha, one_group):
    X, scores = drawn
    table, precision = (((1.0,),) * 3, 7) if one_group else (HALVES, 0)
    rule = PosteriorConformal(Given(table), precision, alpha, random_state=0)
    found = quietly(rule, X, scores, KINDS)
    kinds, own = calibrating(rule, X, scores)
    assert_array_equal(found, quietly(SplitConformal(alpha), kinds[:, None], own, KINDS))


def test_likelihoods_of_large_samples_do_not_underflow(rng):
    p = rng.dirichlet(np.ones(5), size=40)
    kernel = MultinomialKernel(5000)
    counts = kernel.draw(p, rng)
    assert (counts.sum(axis=1) == 5000).all()
    assert (kernel(p, counts) == 0).all()
    assert_allclose(kernel.logs_to(p)(counts).diagonal(), kernel.log_pairs(p, counts))
    X, scores = np.arange(2000)[:, None] % 3, rng.exponential(size=2000)
    rule = PosteriorConformal(Given(HALVES), 5000, random_state=0).fit(X, scores)
    assert_array_equal(
        rule.predict(KINDS),
        PosteriorConformal(Given(ONE_EACH), 9, random_state=0).fit(X, scores).predict(KINDS),
    )


def test_precision_is_the_largest_that_leaves_enough(rng):
    p = rng.dirichlet(np.ones(3), size=150)

    def nine_in_ten_see(precision):
        kernel, sizes = MultinomialKernel(precision), []
        counts = kernel.draw(p, np.random.default_rng(8))
        for i, count in enumerate(counts):
            weights = np.prod(p**count, axis=1)
            many = np.where(np.arange(150) == i, 1.0, 1000 / 149)
            sizes.append((many @ weights) ** 2 / (many @ weights**2) - 1)
        return np.quantile(sizes, 0.1)

    found = precision_for_size(p, 1000, 100.0, seed=8)
    assert found > 1
    assert nine_in_ten_see(found) >= 100 > nine_in_ten_see(found + 1)


def test_two_kinds_far_apart_are_told_apart(rng):
    X = rng.uniform(-1, 1, size=(2000, 1))
    scores = rng.exponential(size=2000) * np.where(X[:, 0] > 0, 20.0, 1.0)
    for partition in (None, OrderedPartition(LinearQuantile(), n_groups=2)):
        left, right = (
            PosteriorConformal(partition, random_state=0).fit(X, scores).predict([[-0.8], [0.8]])
        )
        assert right > 5 * left


def test_weights_and_the_guarantee(rng):
    X, scores = rng.normal(size=(200, 2)), rng.exponential(size=200)
    rule = PosteriorConformal(SoftmaxPartition(2), random_state=0)
    assert rule.fit(X, scores).guarantee_.kind == "exact"
    weighted = rule.fit(X, scores, np.full(200, 2.0)).guarantee_
    assert weighted.kind == "approximate"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": -1}, "precision must be a whole number, at least 0, got -1"),
        ({"precision": 2.5}, "got 2.5"),
        ({"precision": 10**9}, "precision must be at most 100,000, got 1000000000"),
        ({"partition": LinearQuantile()}, "partition must be a Partition or None"),
        ({"learning_size": 0}, "learning_size must lie in"),
        ({"effective_size": 0.5}, "effective_size must be at least 1, got 0.5"),
    ],
)
def test_options_that_make_no_sense(rng, options, message):
    with pytest.raises(ValueError, match=message):
        PosteriorConformal(**options).fit(rng.normal(size=(50, 2)), rng.exponential(size=50))


@pytest.mark.parametrize("n", range(1, 12))
def test_few_rows(rng, n):
    X, scores = rng.normal(size=(n, 2)), rng.exponential(size=n)
    if n < 4:
        with pytest.raises(ValueError, match=f"n_samples={n}: too few rows to learn groups"):
            PosteriorConformal().fit(X, scores)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            assert (quietly(PosteriorConformal(random_state=0), X, scores, X) == np.inf).all()


def test_thresholds_are_those_of_the_alpha_fitted_at(rng):
    X, scores = rng.normal(size=(400, 2)), rng.exponential(size=400)
    rule = PosteriorConformal(alpha=0.3, random_state=0).fit(X, scores)
    expected = rule.predict(X / 4)
    assert_array_equal(rule.set_params(alpha=0.5).predict(X / 4), expected)
