"""Groups of a split are merged by how many calibration rows are expected in each."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plcp.out_of_core import Held
from plcp.partitions.ordered import OrderedPartition
from plcp.thresholds._plcp_calibration import Reading, read_by_counting
from plcp.thresholds._plcp_learning import Pairs, ordered_evidence


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
    seen, honest = (
        ordered_evidence(cut, values, Pairs(None, own, None))
        for values, own in zip(regressor, scores, strict=True)
    )
    reading = Reading(0.1, "split", "mode", follow, 0)
    expected, owner = reading.levels(cut, seen, honest)
    blocks = (Held([pair]) for pair in zip(regressor, scores, strict=True))
    found = read_by_counting(reading, OrderedPartition(), 10, *blocks)
    assert_array_equal(found.owner, owner)
    assert_array_equal(found.levels.levels, expected.levels)
    assert_array_equal(found.levels.sizes, expected.sizes)
    assert found.n == n_honest
    assert (len(found.levels.levels) < 10) == some_join
    masses = np.bincount(owner, cut.group_sizes_)
    assert (masses * n_honest / n_seen).min() >= 27
