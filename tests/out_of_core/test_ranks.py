"""Order statistics by counting over blocks: those of sorting, with few passes and little sent."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from plcp.out_of_core import Held, Ranks
from plcp.out_of_core.ranks import FEW, FEWEST, PIVOTS, floats_of, keys_of
from strategies import few

anything = st.floats(allow_nan=False)
tied = st.integers(-2, 2).map(float)


@st.composite
def grouped_values(draw):
    n, m = draw(st.integers(0, 60)), draw(st.integers(1, 4))
    values = draw(hnp.arrays(float, n, elements=draw(st.sampled_from([anything, tied]))))
    groups = draw(hnp.arrays(np.intp, n, elements=st.integers(0, m - 1)))
    cuts = draw(st.lists(st.integers(0, n), max_size=5).map(sorted))
    return values, groups, m, cuts


def blocks_of(values, groups, cuts):
    return Held(zip(np.split(values, cuts), np.split(groups, cuts), strict=True))


def by_sorting(values, groups, ranks):
    expected = np.full(np.shape(ranks), np.inf)
    for group, row in enumerate(np.atleast_2d(ranks)):
        own = np.sort(values[groups == group])
        for i, rank in enumerate(row):
            if 0 <= rank < len(own):
                expected[group, i] = own[rank]
    return expected


@few
@given(grouped_values(), st.data())
def test_ranks_and_counts_are_those_of_sorting(given_values, data):
    values, groups, m, cuts = given_values
    found = Ranks(blocks_of(values, groups, cuts), m)
    ranks = data.draw(hnp.arrays(np.int64, (m, 2), elements=st.integers(-2, len(values) + 1)))
    assert_array_equal(found.sizes, np.bincount(groups, minlength=m))
    assert_array_equal(found.at(ranks), by_sorting(values, groups, ranks))
    pivots = data.draw(hnp.arrays(float, m, elements=anything))
    counts = [(values[groups == g] <= pivots[g]).sum() for g in range(m)]
    assert_array_equal(found.at_or_below(pivots), counts)


@few
@given(hnp.arrays(float, 20, elements=anything))
def test_keys_keep_the_order_and_the_value(values):
    assert_array_equal(floats_of(keys_of(values)), values)
    order = np.argsort(values, kind="stable")
    keys = keys_of(values)[order]
    assert_array_equal(keys[1:] > keys[:-1], values[order][1:] > values[order][:-1])


def test_no_blocks_at_all():
    ranks = Ranks(Held([]), 2)
    assert_array_equal(ranks.sizes, [0, 0])
    assert_array_equal(ranks.at([0, 0]), [np.inf, np.inf])
    assert_array_equal(ranks.at_or_below([0.0, 0.0]), [0, 0])


class Watched:
    """Blocks that record, for each pass, how many numbers were sent and how many came back."""

    def __init__(self, blocks):
        self.blocks, self.sent, self.received = blocks, [], {}

    def total(self, function, *args):
        found = self.blocks.total(function, *args)
        own = vars(found).values() if hasattr(found, "__dict__") else [found]
        name, size = function.__name__, sum(values.size for values in own)
        self.received[name] = max(size, self.received.get(name, 0))
        self.sent.append(max((np.size(arg) for arg in args), default=0))
        return found


def watched(values, groups, m, n_blocks):
    cuts = np.arange(1, n_blocks) * len(values) // n_blocks
    ranks = Ranks(blocks_of(values, groups, cuts), m)
    ranks.blocks = Watched(ranks.blocks)
    return ranks


@pytest.mark.parametrize("spread", [0.0, 60.0, 150.0])
def test_ranks_among_many_values_need_few_passes(rng, spread):
    values = rng.normal(size=50_000) * np.exp(spread * rng.normal(size=50_000))
    values[::3] = 1.0  # an atom
    groups = rng.integers(0, 3, 50_000)
    ranks = watched(values, groups, 3, 4)
    wanted = np.array([[0, 5_000, 15_000], [8_000, 8_001, 9_000], [1, 2, 16_000]])
    assert_array_equal(ranks.at(wanted), by_sorting(values, groups, wanted))
    assert len(ranks.blocks.sent) <= 64 / np.log2(FEWEST)


@pytest.mark.parametrize("m", [1, 20, 20_000])
def test_what_is_sent_and_received_depends_on_groups_not_on_blocks(rng, m):
    values, groups = rng.normal(size=100_000), np.arange(100_000) % m
    received = []
    for n_blocks in (2, 10):
        ranks = watched(values, groups, m, n_blocks)
        middle = ranks.sizes // 2
        found = ranks.at(middle)
        ranks.at_or_below(np.zeros(m))
        assert max(ranks.blocks.sent) <= max(PIVOTS, FEWEST * m)
        received.append(ranks.blocks.received)
    assert received[0] == received[1]
    assert received[0]["_counts"] <= max(PIVOTS, FEWEST * m)
    assert received[0]["_near"] <= 2 * max(FEW, m)  # each with the rank that it is near to
    order = np.lexsort((values, groups))
    starts = np.append(0, np.cumsum(ranks.sizes)[:-1])
    assert_array_equal(found, values[order][starts + middle])
