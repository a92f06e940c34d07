"""Leaves of a tree as groups: the best split by brute force, and exact coverage in every leaf."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from bands import beta_binomial_band
from plcp import PLCP, TreePartition
from plcp.datasets import make_nonlinear
from plcp.partitions import CollapseWarning
from plcp.partitions.tree import ranks
from plcp.quantiles import conformal_rank, group_conformal_quantiles
from plcp.thresholds._plcp_calibration import GroupedRows
from plcp.thresholds._plcp_learning import Pairs, place


def best_split(X, target, least):
    """Left half of the split of least squared error, over every feature and cut."""
    best = np.inf, None
    for column in X.T:
        for cut in np.unique(column)[:-1]:
            left = column <= cut
            if min(left.sum(), (~left).sum()) < least:
                continue
            error = sum(side.var() * len(side) for side in (target[left], target[~left]))
            best = min(best, (error, left.tolist()))
    return np.array(best[1])


@pytest.mark.parametrize("least", [1, 4, 10])
@pytest.mark.parametrize("seed", range(5))
def test_two_groups_are_the_best_split(seed, least):
    rng = np.random.default_rng(seed)
    X, scores = rng.normal(size=(24, 3)), rng.exponential(size=24)
    left = best_split(X, rankdata(scores), least)
    groups = TreePartition(2, min_samples_leaf=least).fit(X, scores).predict(X)
    assert len({*zip(groups.tolist(), left.tolist(), strict=True)}) == 2
    assert len(np.unique(groups)) == 2


def draw(rng, n=1000):
    X = rng.uniform(-1, 1, size=(n, 4))
    return X, (1.1 + X[:, 0] + (X[:, 1] > 0)) * rng.exponential(size=n)


@pytest.mark.parametrize("n_groups", [2, 5, 8])
def test_groups_are_the_leaves_of_scikit_learn(rng, n_groups):
    X, scores = draw(rng)
    partition = TreePartition(n_groups, min_samples_leaf=40, random_state=0).fit(X, scores)
    tree = DecisionTreeRegressor(max_leaf_nodes=n_groups, min_samples_leaf=40, random_state=0)
    leaves = tree.fit(X, rankdata(scores)).apply(X)
    groups = partition.predict(X)
    pairs = {*zip(leaves.tolist(), groups.tolist(), strict=True)}
    assert len(pairs) == n_groups == partition.n_groups_ == len(np.unique(groups))
    assert_array_equal(partition.group_sizes_, np.bincount(groups))
    alone = group_conformal_quantiles(scores, groups, n_groups, 0.1, None, 0.0)
    assert_array_equal(partition.thresholds_, alone)
    assert (np.diff(alone) > 0).all()
    assert_array_equal(partition.predict_proba(X), np.eye(n_groups)[groups])


@pytest.mark.parametrize(("alpha", "least"), [(0.1, 100), (0.05, 200), (0.5, 20)])
def test_leaves_hold_ten_times_one_over_alpha(rng, alpha, least):
    X, scores = draw(rng, 2 * least)
    half = X[:, 0] > np.median(X[:, 0])
    partition = TreePartition(2, alpha=alpha).fit(half[:, None], half + scores / 1e3)
    assert_array_equal(partition.group_sizes_, [least, least])
    with pytest.warns(CollapseWarning, match="min_samples_leaf"):
        alone = TreePartition(2, alpha=alpha).fit(half[1:, None], (half + scores / 1e3)[1:])
    assert alone.n_groups_ == 1


def test_any_increasing_function_of_the_score_has_the_same_groups(rng):
    X, scores = draw(rng)
    partition = TreePartition(5, random_state=0)
    groups = partition.fit(X, scores).predict(X)
    for changed in (1e200 * scores, scores - 7, np.log(scores), np.minimum(scores, 1e9) ** 3):
        assert_array_equal(partition.fit(X, changed).predict(X), groups)


def test_ranks_are_those_of_scipy_and_weights_are_repeated_rows(rng):
    scores, counts = rng.integers(0, 9, 50).astype(float), rng.integers(1, 4, 50)
    np.testing.assert_allclose(ranks(scores, None), (rankdata(scores) - 0.5) / 50, rtol=1e-14)
    repeated = ranks(np.repeat(scores, counts), None)
    assert_array_equal(np.repeat(ranks(scores, counts.astype(float)), counts), repeated)


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    X, scores, counts = *draw(rng, 120), rng.integers(0, 6, 120)
    partition = TreePartition(4, min_samples_leaf=30, random_state=0)
    weighted = partition.fit(X, scores, sample_weight=counts).predict(X)
    sizes, means = partition.group_sizes_, partition.tree_.predict(X)
    repeated = partition.fit(np.repeat(X, counts, axis=0), np.repeat(scores, counts))
    assert_array_equal(repeated.predict(X), weighted)
    assert_array_equal(repeated.group_sizes_, sizes)
    np.testing.assert_allclose(repeated.tree_.predict(X), means, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_leaving_each_out_covers_exactly_the_rank_in_every_leaf(rng, alpha):
    """Of a fixed tree, as split calibration has it."""
    tree = TreePartition(4, min_samples_leaf=40).fit(*draw(rng, 600))
    pairs = Pairs(*draw(rng, 150), None)
    groups, rows = tree.predict(pairs.X), np.arange(150)
    covered = np.zeros(150, dtype=bool)
    for i in rows:
        rest = pairs.take(np.delete(rows, i))
        placed = place(tree, rest.X, rest)
        thresholds = GroupedRows(placed, placed.cells, 4).conformal(alpha, follow=False)
        covered[i] = pairs.scores[i] <= thresholds[groups[i]]
    for group, n in enumerate(np.bincount(groups, minlength=4)):
        assert covered[groups == group].sum() == conformal_rank(n - 1, alpha)


@pytest.mark.parametrize("calibration", ["split", "cross"])
def test_the_search_finds_groups_that_beat_one(calibration):
    task, test = make_nonlinear(4000, random_state=0), make_nonlinear(8000, random_state=1)
    rule = PLCP(TreePartition(), calibration=calibration, random_state=0)
    one = PLCP(TreePartition(), 1, calibration=calibration, random_state=0)
    loss = rule.fit(task.X, task.scores).score(test.X, test.scores)
    assert loss > one.fit(task.X, task.scores).score(test.X, test.scores)
    assert rule.n_groups_ > 1


def test_coverage_of_each_leaf_is_in_the_band():
    task, test = make_nonlinear(6000, random_state=0), make_nonlinear(40_000, random_state=1)
    rule = PLCP(TreePartition(), 6, calibration="split", random_state=0).fit(task.X, task.scores)
    groups, covered = rule.groups(test.X), test.scores <= rule.predict(test.X)
    for group, n in enumerate(rule.group_sizes_.astype(int)):
        low, high = beta_binomial_band((groups == group).sum(), n, conformal_rank(n, 0.1))
        assert low <= covered[groups == group].sum() <= high


def test_frames_with_categories_and_gaps(rng):
    n = 600
    frame = pd.DataFrame({"age": rng.uniform(20, 60, n), "kind": rng.choice(["a", "b"], n)})
    frame.loc[::7, "age"] = np.nan
    frame.loc[::11, "kind"] = None
    scores = np.where(frame["kind"] == "b", 10.0, 1.0) * rng.exponential(size=n)
    partition = TreePartition(2).fit(frame, scores)
    assert (partition.predict(frame[frame["kind"] == "b"]) == 1).all()
    assert (partition.predict(frame[frame["kind"] == "a"]) == 0).all()
    new = pd.DataFrame({"age": [30.0, np.nan], "kind": ["never seen", None]})
    assert partition.predict(new).shape == (2,)


def test_features_beyond_single_precision(rng):
    X, scores = draw(rng)
    partition = TreePartition(4, random_state=0).fit(X, scores)
    huge = np.where(np.abs(X) > 0.99, 1e300 * X, X)
    assert_array_equal(partition.predict(huge), partition.predict(X))
    assert_array_equal(clone(partition).fit(huge, scores).predict(huge), partition.predict(X))


def test_one_group_constant_features_and_bad_options(rng):
    X, scores = draw(rng)
    one = TreePartition(1).fit(X, scores)
    assert_array_equal(one.predict(X), np.zeros(1000))
    with pytest.warns(CollapseWarning):
        assert TreePartition(4).fit(np.zeros((1000, 2)), scores).n_groups_ == 1
    with pytest.raises(ValueError, match="min_samples_leaf must be a whole number"):
        TreePartition(min_samples_leaf=0.5).fit(X, scores)
    with pytest.raises(ValueError, match="n_groups must be a whole number, at least 1"):
        TreePartition(0).fit(X, scores)
    with pytest.raises(ValueError, match="4 features"):
        one.predict(X[:, :2])
