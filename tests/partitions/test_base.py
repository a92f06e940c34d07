"""How groups are put in order, merged and named."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from plcp.exceptions import CollapseWarning
from plcp.partitions.base import (
    check_group_count,
    likeliest,
    merge_columns,
    nearest,
    one_hot,
    order_groups,
    warn_if_collapsed,
)
from strategies import few

thresholds = hnp.arrays(
    float, st.integers(1, 8), elements=st.integers(-3, 3).map(float) | st.just(np.inf)
)


@few
@given(thresholds, st.data())
def test_groups_alive_keep_their_threshold_and_rise(values, data):
    alive = data.draw(hnp.arrays(bool, len(values)))
    alive[data.draw(st.integers(0, len(values) - 1))] = True
    distinct, rank = order_groups(values, alive)
    assert (np.diff(distinct) > 0).all()
    assert_array_equal(distinct[rank[alive]], values[alive])
    assert set(distinct) == set(values[alive])
    dead = ~alive & np.isfinite(values)  # joins the nearest threshold
    if np.isfinite(distinct).all():
        gaps = abs(distinct - values[dead, None])
        assert_array_equal(abs(distinct[rank[dead]] - values[dead]), gaps.min(axis=1))


@few
@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_of_equally_likely_groups_the_middle_is_taken(n_votes, n_groups, data):
    votes = data.draw(hnp.arrays(np.intp, (4, n_votes), elements=st.integers(0, n_groups - 1)))
    memberships = sum(one_hot(vote, n_groups) for vote in votes.T) / n_votes
    for row, group in zip(votes, likeliest(memberships), strict=True):
        counts = np.bincount(row, minlength=n_groups)
        best = [g for g in range(n_groups) if counts[g] == counts.max()]
        assert group == best[len(best) // 2]


@few
@given(hnp.arrays(float, 6, elements=st.integers(-9, 9).map(float), unique=True), st.data())
def test_nearest_is_nearest(values, data):
    points = data.draw(hnp.arrays(float, 10, elements=st.integers(-99, 99).map(lambda i: i / 9)))
    values = np.sort(values)
    found = values[nearest(values, points)]
    assert_allclose(abs(found - points), abs(values - points[:, None]).min(axis=1), atol=1e-12)


def test_merged_memberships_still_sum_to_one(rng):
    memberships = rng.dirichlet(np.ones(5), size=30)
    merged = merge_columns(memberships, np.array([0, 2, 1, 2, 0]), 3)
    assert_allclose(merged.sum(axis=1), 1)
    assert_allclose(merged[:, 2], memberships[:, 1] + memberships[:, 3])


@pytest.mark.parametrize(
    ("n_groups", "message"),
    [
        (11, "at most the n_samples = 10 points, got 11"),
        *((n, f"whole number, at least 1, got {n!r}") for n in (0, -2, 2.0, True, "many", None)),
    ],
)
def test_group_counts_out_of_range_are_refused(n_groups, message):
    with pytest.raises(ValueError, match=message):
        check_group_count(n_groups, 10)


def test_collapse_is_warned_of_only_if_several_groups_were_requested():
    with pytest.warns(CollapseWarning, match="one group of 2 holds 99% of the points"):
        warn_if_collapsed(np.array([99.0, 1.0]), 2)
    warn_if_collapsed(np.array([99.0]), 1)
    warn_if_collapsed(np.array([60.0, 40.0]), 2)
