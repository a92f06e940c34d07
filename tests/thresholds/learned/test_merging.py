"""Soft groups too small to calibrate are merged, and looked at again once they are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plcp import PLCP
from plcp.partitions.base import Partition, merge_columns
from plcp.quantiles import conformal_quantile, weighted_quantiles
from plcp.thresholds._plcp_calibration import SAFETY, merge_small

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


class Given(Partition):
    """Memberships are the covariates themselves."""

    def __init__(self, n_groups=4, alpha=0.1):
        self.n_groups, self.alpha = n_groups, alpha

    def fit(self, X, y, sample_weight=None):
        X, scores, _ = self._check_fit(X, y, sample_weight)
        self.settle(weighted_quantiles(scores, X, 1 - self.alpha), X.sum(axis=0))
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
    assert_array_equal(Given().fit(X, scores)._group_of, np.arange(4))
    owner = merge_small(np.bincount(X.argmax(axis=1)), ALPHA)
    assert_array_equal(owner, [0, 1, 1, 2])
    sizes = np.bincount(merge_columns(X, owner, 3).argmax(axis=1))
    assert sizes[0] < NEEDED


@pytest.mark.parametrize("within", ["constant", "regressor"])
@pytest.mark.parametrize("assignment", ["mode", "mean"])
@pytest.mark.parametrize("calibration", ["cross", "split"])
def test_every_group_left_can_be_calibrated(task, calibration, assignment, within):
    """No InfiniteThresholdWarning either: it would be an error here."""
    X, scores = task
    options = {"calibration": calibration, "assignment": assignment, "within": within}
    rule = PLCP(Given(), 4, random_state=0, **options).fit(X, scores)
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
    rule = PLCP(Given(), 4, **options).fit(X, scores)
    assert rule.group_sizes_.min() >= NEEDED
    assert np.isfinite(rule.corrections_).all()
