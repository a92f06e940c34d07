"""Groups of a split are merged by how many calibration rows are expected in each."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plcp.out_of_core import Held
from plcp.partitions.ordered import OrderedPartition
from plcp.thresholds._plcp_calibration import calibrate_by_counting, calibrate_groups
from plcp.thresholds._plcp_learning import Pairs, place_predicted
from plcp.thresholds.plcp import PLCP


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize(
    ("n_seen", "n_honest", "some_join"), [(2000, 100, True), (100, 2000, False), (400, 300, False)]
)
def test_groups_join_as_they_do_in_memory(n_seen, n_honest, some_join, follow, rng):
    """Three times nine rows are expected in each group that is left, with alpha = 0.1."""
    regressor = rng.normal(size=n_seen), rng.normal(size=n_honest)
    scores = [values + rng.normal(size=len(values)) for values in regressor]
    partition = OrderedPartition(n_groups=10)
    partition.regressor_ = None
    cut = partition.cut(regressor[0], scores[0], None)
    seen, calibration = (
        place_predicted(cut, values, Pairs(None, own, None))
        for values, own in zip(regressor, scores, strict=True)
    )
    rule = PLCP(calibration="split")
    rule._follow = follow
    expected, owner = calibrate_groups(rule, cut, seen, calibration)
    blocks = (Held([pair]) for pair in zip(regressor, scores, strict=True))
    _, found, joined, n = calibrate_by_counting(rule, OrderedPartition(), 10, *blocks)
    assert_array_equal(joined, owner)
    assert_array_equal(found.values, expected.values)
    assert_array_equal(found.sizes, expected.sizes)
    assert n == n_honest
    assert (len(found.values) < 10) == some_join
    masses = np.bincount(owner, np.bincount(seen.cells))
    assert (masses * n_honest / n_seen).min() >= 27
