"""Calibration of learned groups: merging, shrinking, and the same in memory and by counting."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from bands import binomial_band
from plcp import PLCP, OrderedPartition
from plcp.out_of_core import Held
from plcp.partitions.base import Partition, merge_columns
from plcp.quantiles import (
    conformal_quantile,
    conformal_rank,
    group_conformal_quantiles,
    weighted_quantiles,
)
from plcp.thresholds._plcp_blocks import GroupedBlocks, calibrate_blocks, cut_by_counting
from plcp.thresholds._plcp_calibration import (
    GroupedRows,
    calibrate,
    group_corrections,
    join_small_groups,
    mean_correction,
    merge_equal,
    merge_small,
    scatter_of,
    shrunken_corrections,
)
from plcp.thresholds._plcp_learning import (
    SAFETY,
    Learned,
    Pairs,
    RowsInPartition,
    place_predicted,
)
from strategies import alphas, few, finite

masses = hnp.arrays(float, st.integers(1, 12), elements=st.integers(0, 200).map(float))


def placed(scores, groups=None, predicted=None, weights=None):
    n = len(scores)
    groups = np.zeros(n, dtype=np.intp) if groups is None else np.asarray(groups)
    return RowsInPartition(
        groups, None, np.zeros(n) if predicted is None else predicted, scores, weights
    )


def grouped(m, *args):
    found = placed(*args)
    return GroupedRows(found, found.cells, m)


@few
@given(masses, alphas)
def test_merged_groups_are_large_enough_neighbours(sizes, alpha):
    joined = merge_small(sizes, alpha)
    merged = np.bincount(joined, sizes)
    needed = SAFETY * (np.ceil(1 / alpha) - 1)
    assert joined[0] == 0
    assert set(np.diff(joined)) <= {0, 1}  # neighbours only, in order
    assert len(merged) == 1 or merged.min() >= needed
    assert merged.sum() == sizes.sum()


@few
@given(masses, alphas)
def test_groups_large_enough_are_left_alone(sizes, alpha):
    sizes = sizes + SAFETY * np.ceil(1 / alpha)
    assert_array_equal(merge_small(sizes, alpha), np.arange(len(sizes)))


rows = st.integers(9, 60)


@few
@given(rows, st.integers(1, 4), alphas, st.data())
def test_shrunken_corrections_cover_exactly_the_rank(n, m, alpha, data):
    scores = np.array(data.draw(st.permutations(range(n))), dtype=float)
    predicted = data.draw(hnp.arrays(float, n, elements=st.integers(0, 3).map(lambda i: i / 1000)))
    groups = data.draw(hnp.arrays(np.intp, n, elements=st.integers(0, m - 1)))
    corrections = shrunken_corrections(grouped(m, scores, groups, predicted), alpha)
    covered = (scores <= predicted + corrections[groups]).sum()
    rank = conformal_rank(n, alpha)
    assert covered == rank if rank <= n else np.isinf(corrections).all()


@few
@given(hnp.arrays(float, 40, elements=finite), hnp.arrays(float, 40, elements=finite), alphas)
def test_shrunken_corrections_cover_at_least_the_rank_in_floating_point(scores, predicted, alpha):
    groups = np.arange(40) % 2
    corrections = shrunken_corrections(grouped(2, scores, groups, predicted), alpha)
    assert (scores <= predicted + corrections[groups]).sum() >= min(40, conformal_rank(40, alpha))


def test_groups_alike_are_drawn_together_and_groups_apart_are_not(rng):
    groups = np.repeat([0, 1], 2000)
    noise = rng.exponential(size=4000)
    alike = shrunken_corrections(grouped(2, noise, groups), 0.1)
    apart = shrunken_corrections(grouped(2, noise + 100 * groups, groups), 0.1)
    own = group_conformal_quantiles(noise, groups, 2, 0.1)
    assert abs(np.diff(alike)) < abs(np.diff(own))
    assert apart[1] - apart[0] > 99


def test_one_group_shrinks_to_the_conformal_quantile(rng):
    scores = rng.normal(size=50)
    correction = shrunken_corrections(grouped(1, scores), 0.1)
    assert_allclose(correction, conformal_quantile(scores, 0.1), rtol=1e-14)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 60)])
def test_corrections_of_a_group_are_quantiles_of_its_own_rows(rng, weights):
    scores, predicted, groups = rng.normal(size=60), rng.normal(size=60), np.arange(60) % 2
    rows_in_groups = grouped(2, scores, groups, predicted, weights)
    for follow in (False, True):
        corrections = rows_in_groups.conformal(0.1, follow)
        for g in range(2):
            own = None if weights is None else weights[groups == g]
            values = (scores - predicted * follow)[groups == g]
            assert_allclose(corrections[g], conformal_quantile(values, 0.1, own), rtol=1e-14)


def test_constant_groups_of_equal_threshold_are_one():
    found = merge_equal(np.array([5.0, np.inf, 5.0]), np.array([1.0, 2.0, 3.0]))
    assert_array_equal(found.thresholds, [5.0, np.inf])
    assert_array_equal(found.rank, [0, 1, 0])
    assert_array_equal(found.sizes, [4, 2])


@pytest.mark.parametrize("keep_numbers", [False, True])
def test_followed_groups_are_numbered_by_the_threshold_of_their_median_row(keep_numbers):
    """Unless they are to keep the numbers they were learned with."""
    predicted, groups = np.repeat([5.0, 0.0, 2.0], 40), np.repeat([0, 1, 2], 40)
    noise = np.tile(np.arange(40.0), 3)
    rule = PLCP()
    rule._follow = True
    rows = grouped(3, predicted + noise, groups, predicted)
    found = group_corrections(rule, rows, keep_numbers)
    expected = shrunken_corrections(rows, 0.1)
    assert_array_equal(found.values[found.rank], expected)
    order = [0, 1, 2] if keep_numbers else [1, 2, 0]
    assert_array_equal(found.thresholds, (expected + predicted[::40])[order])
    assert_array_equal(found.sizes, [40, 40, 40])


def test_mean_correction_of_an_infinite_one():
    memberships = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert_array_equal(mean_correction(memberships, np.array([3.0, np.inf])), [3.0, np.inf])
    assert_array_equal(mean_correction(memberships, np.array([3.0, 5.0])), [3.0, 4.0])


def test_merged_places_are_the_likeliest_of_merged_groups():
    memberships = np.array([[0.4, 0.3, 0.3], [0.8, 0.1, 0.1]])
    place = RowsInPartition(np.array([0, 0]), memberships, np.zeros(2), np.zeros(2), None)
    merged = place.merged(np.array([0, 1, 1]))
    assert_array_equal(merged.cells, [1, 0])
    assert_allclose(merged.memberships, [[0.4, 0.6], [0.8, 0.2]])


def test_drawn_groups_follow_their_memberships():
    memberships = np.tile([0.2, 0.0, 0.8], (10_000, 1))
    place = RowsInPartition(np.zeros(10_000, dtype=int), memberships, *[np.zeros(10_000)] * 2, None)
    drawn = place.drawn(lambda: np.random.default_rng(0).random(10_000))
    counts = np.bincount(drawn.cells, minlength=3)
    low, high = binomial_band(10_000, 0.2)
    assert low <= counts[0] <= high
    assert counts[1] == 0


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_scatter_of_weighted_groups_by_chance_alone(alpha):
    """E Σ n_i (c_i - c̄)² = (m - 1) α(1 - α), over all outcomes of rows covered by chance alone."""
    weights = np.array([9.0, 1.0, 1.0, 0.5, 2.0, 2.0, 0.1, 4.0, 4.0, 4.0])
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    outcomes = np.array(list(product([0.0, 1.0], repeat=len(weights))))
    chances = np.prod(np.where(outcomes == 1, 1 - alpha, alpha), axis=1)
    masses = np.bincount(groups, weights)
    shares = [np.bincount(groups, weights * covered) / masses for covered in outcomes]
    sizes = GroupedRows(placed(weights, groups, None, weights), groups, 3).sizes
    scatter = [scatter_of(share, sizes) for share in shares]
    assert_allclose(chances @ scatter, 2 * alpha * (1 - alpha))


tied = st.integers(-2, 3).map(float)


@st.composite
def rows_in_blocks(draw):
    n = draw(st.integers(1, 120))
    elements = draw(st.sampled_from([st.floats(-1e6, 1e6), tied]))
    predicted, scores = (draw(hnp.arrays(float, n, elements=elements)) for _ in range(2))
    cuts = draw(st.lists(st.integers(0, n), max_size=5).map(sorted))
    order = draw(st.permutations(range(n)))
    return predicted, scores, cuts, np.array(order)


def in_blocks(predicted, scores, cuts, order):
    return Held(zip(np.split(predicted[order], cuts), np.split(scores[order], cuts), strict=True))


def cut_in_memory(predicted, scores, n_groups, alpha):
    partition = OrderedPartition(n_groups=n_groups, alpha=alpha)
    partition.regressor_ = None
    return partition.cut(predicted, scores, None)


@few
@given(rows_in_blocks(), st.integers(1, 9), alphas)
def test_cuts_and_groups_are_those_of_the_rows_in_memory(rows, m, alpha):
    predicted, scores, *how = rows
    expected = cut_in_memory(predicted, scores, m, alpha)
    found = cut_by_counting(OrderedPartition(alpha=alpha), m, in_blocks(predicted, scores, *how))
    assert_array_equal(found.cuts_, expected.cuts_)
    assert_array_equal(found.thresholds_, expected.thresholds_)
    assert_array_equal(found.group_sizes_, expected.group_sizes_)
    assert_array_equal(found.group_of(predicted), expected.group_of(predicted))


@few
@given(
    rows_in_blocks(), st.integers(1, 6), alphas, st.sampled_from(["cross", "split"]), st.booleans()
)
def test_corrections_are_those_of_the_rows_in_memory(rows, m, alpha, calibration, follow):
    predicted, scores, *how = rows
    partition = cut_in_memory(predicted, scores, m, alpha)
    placed = place_predicted(partition, predicted, Pairs(None, scores, None))
    rule = PLCP(alpha=alpha, calibration=calibration)
    rule._follow = follow
    group_of = partition.interval_groups
    expected = calibrate(rule, Learned(partition, [], placed, placed), group_of)
    blocks = in_blocks(predicted, scores, *how)
    found = group_corrections(rule, GroupedBlocks(blocks, partition.cuts_, group_of), False)
    assert_array_equal(found.values, expected.values)
    assert_array_equal(found.thresholds, expected.thresholds)
    assert_array_equal(found.sizes, expected.sizes)
    assert_array_equal(found.rank, expected.rank)


def test_a_group_without_rows_has_the_median_of_all():
    blocks = Held([(np.array([1.0, 2.0, 3.0]), np.zeros(3))])
    grouped = GroupedBlocks(blocks, np.array([0.0]), np.array([0, 1]))
    assert_array_equal(grouped.masses, [0, 3])
    assert_array_equal(grouped.medians(), [2, 2])
    assert_array_equal(grouped.own(0.5), [np.nan, -2])


@pytest.mark.parametrize("within", ["regressor", "constant"])
@pytest.mark.parametrize(
    ("n_training", "n_held_out", "some_join"),
    [(2000, 100, True), (100, 2000, False), (400, 300, False)],
)
def test_groups_join_as_they_do_in_memory(n_training, n_held_out, some_join, within, rng):
    """Three times nine calibration rows are expected in each group, with alpha = 0.1."""
    predicted = rng.normal(size=n_training), rng.normal(size=n_held_out)
    scores = [values + rng.normal(size=len(values)) for values in predicted]
    cut = cut_in_memory(predicted[0], scores[0], 10, 0.1)
    training, calibration = (
        place_predicted(cut, values, Pairs(None, own, None))
        for values, own in zip(predicted, scores, strict=True)
    )
    rule = PLCP(n_groups=10, calibration="split", within=within)
    rule.partition_, rule.history_ = rule._prepare(np.random.RandomState(0)), []
    learned = Learned(cut, [], training, calibration)
    joined = join_small_groups(rule, learned, 0.1)
    expected = calibrate(rule, learned, joined)
    blocks = (Held([pair]) for pair in zip(predicted, scores, strict=True))
    calibrate_blocks(rule, *blocks, -1.0)
    assert_array_equal(rule._group_of, expected.rank[joined])
    assert_array_equal(rule.corrections_, expected.values)
    assert_array_equal(rule.group_sizes_, expected.sizes)
    assert (rule.n_groups_ < 10) == some_join
    masses = np.bincount(joined, np.bincount(training.cells))
    assert (masses * n_held_out / n_training).min() >= 27


ALPHA, NEEDED = 0.1, 9  # points that a finite threshold needs

# Once the few rows of the second kind have made the second group join the third, the two of them
# outweigh the first for all of the first kind: it keeps the last kind alone, too few again.
KINDS = np.array(
    [
        [0.4, 0.3, 0.3, 0.0],
        [0.2, 0.5, 0.3, 0.0],
        [0.1, 0.2, 0.7, 0.0],
        [0.0, 0.0, 0.1, 0.9],
        [0.9, 0.1, 0.0, 0.0],
    ]
)
COUNTS, NOISE = [300, 8, 140, 140, 8], [1.0, 3.0, 10.0, 50.0, 1.0]


class GivenMemberships(Partition):
    """Memberships are the covariates themselves."""

    def __init__(self, n_groups=4, alpha=0.1):
        self.n_groups, self.alpha = n_groups, alpha

    def fit(self, X, y, sample_weight=None):
        X, scores, _ = self._check_fit(X, y, sample_weight)
        self.store_groups(weighted_quantiles(scores, X, 1 - self.alpha), X.sum(axis=0))
        self.history_ = []
        return self

    def predict_proba(self, X):
        return merge_columns(np.asarray(X), self._group_of, self.n_groups_)


@pytest.fixture
def task(rng):
    kind = rng.permutation(np.repeat(np.arange(5), COUNTS))
    return KINDS[kind], np.array(NOISE)[kind] * rng.exponential(size=len(kind))


def test_merging_once_is_not_enough(task):
    X, scores = task
    assert_array_equal(GivenMemberships().fit(X, scores)._group_of, np.arange(4))
    joined_once = merge_small(np.bincount(X.argmax(axis=1)), ALPHA)
    assert_array_equal(joined_once, [0, 1, 1, 2])
    sizes = np.bincount(merge_columns(X, joined_once, 3).argmax(axis=1))
    assert sizes[0] < NEEDED


@pytest.mark.parametrize("within", ["constant", "regressor"])
@pytest.mark.parametrize("assignment", ["mode", "mean"])
@pytest.mark.parametrize("calibration", ["cross", "split"])
def test_every_group_left_can_be_calibrated(task, calibration, assignment, within):
    """No InfiniteThresholdWarning either: it would be an error here."""
    X, scores = task
    options = {"calibration": calibration, "assignment": assignment, "within": within}
    rule = PLCP(GivenMemberships(), 4, random_state=0, **options).fit(X, scores)
    assert rule.n_groups_ == 2
    assert np.isfinite(rule.corrections_).all()
    assert rule.group_sizes_.min() >= (SAFETY * NEEDED if calibration == "cross" else NEEDED)
    groups, joined = rule.groups(X), X[:, 3] > 0.5
    assert_array_equal(groups == 1, joined)
    assert_array_equal(rule.memberships(X)[:, 1], X[:, 3])
    if calibration == "cross":
        assert_array_equal(rule.group_sizes_, np.bincount(groups))
    if calibration == "cross" and within == "constant":  # nothing is learned but the groups
        own = [conformal_quantile(scores[groups == group], ALPHA) for group in (0, 1)]
        assert_array_equal(rule.thresholds_, own)


@pytest.mark.parametrize("calibration", ["cross", "split"])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_groups_can_be_calibrated_too(task, calibration, seed):
    X, scores = task
    options = {"calibration": calibration, "assignment": "sample", "random_state": seed}
    rule = PLCP(GivenMemberships(), 4, **options).fit(X, scores)
    assert rule.group_sizes_.min() >= NEEDED
    assert np.isfinite(rule.corrections_).all()
