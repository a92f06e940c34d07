"""Corrections by counting over blocks: to the last bit those of the same rows in memory."""

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from plcp.out_of_core import Held
from plcp.partitions.ordered import OrderedPartition
from plcp.thresholds._plcp_calibration import (
    GroupedBlocks,
    corrections_of,
    cut_by_counting,
    first_groups,
    grouped_rows,
)
from plcp.thresholds._plcp_learning import Pairs, place_predicted
from plcp.thresholds.plcp import PLCP
from strategies import alphas, few

finite = st.floats(-1e6, 1e6)
tied = st.integers(-2, 3).map(float)


@st.composite
def evidence_rows(draw):
    n = draw(st.integers(1, 120))
    elements = draw(st.sampled_from([finite, tied]))
    regressor, scores = (draw(hnp.arrays(float, n, elements=elements)) for _ in range(2))
    cuts = draw(st.lists(st.integers(0, n), max_size=5).map(sorted))
    order = draw(st.permutations(range(n)))
    return regressor, scores, cuts, np.array(order)


def in_blocks(regressor, scores, cuts, order):
    return Held(zip(np.split(regressor[order], cuts), np.split(scores[order], cuts), strict=True))


def cut_in_memory(regressor, scores, n_groups, alpha):
    partition = OrderedPartition(n_groups=n_groups, alpha=alpha)
    partition.regressor_ = None
    return partition.cut(regressor, scores, None)


@few
@given(evidence_rows(), st.integers(1, 9), alphas)
def test_cuts_and_groups_are_those_of_the_rows_in_memory(rows, m, alpha):
    regressor, scores, *how = rows
    expected = cut_in_memory(regressor, scores, m, alpha)
    found = cut_by_counting(OrderedPartition(alpha=alpha), m, in_blocks(regressor, scores, *how))
    assert_array_equal(found.cuts_, expected.cuts_)
    assert_array_equal(found.thresholds_, expected.thresholds_)
    assert_array_equal(found.group_sizes_, expected.group_sizes_)
    assert_array_equal(found.group_of(regressor), expected.group_of(regressor))


@few
@given(
    evidence_rows(), st.integers(1, 6), alphas, st.sampled_from(["cross", "split"]), st.booleans()
)
def test_corrections_are_those_of_the_rows_in_memory(rows, m, alpha, calibration, follow):
    regressor, scores, *how = rows
    partition = cut_in_memory(regressor, scores, m, alpha)
    placed = place_predicted(partition, regressor, Pairs(None, scores, None))
    group_of = first_groups(partition)
    rule = PLCP(alpha=alpha, calibration=calibration)
    rule._follow = follow
    expected = corrections_of(rule, grouped_rows(rule, placed, group_of))
    blocks = in_blocks(regressor, scores, *how)
    found = corrections_of(rule, GroupedBlocks(blocks, partition.cuts_, group_of))
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
