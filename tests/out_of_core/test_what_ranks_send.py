"""What travels while ranks are looked for is as much as the guide says, and no more."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plcp.out_of_core import Held, Ranks
from plcp.out_of_core.ranks import FEW, FEWEST, PIVOTS


class Watched(Held):
    """Blocks that remember how many numbers were sent to them, and how many came back."""

    def __init__(self, blocks, sent=None, brought=None):
        super().__init__(blocks)
        self.sent = [] if sent is None else sent
        self.brought = [] if brought is None else brought

    def each(self, function, *args):
        found = super().each(function, *args)
        self.sent.append(max((np.size(arg) for arg in args), default=0))
        self.brought.append(sum(_numbers(part) for part in found))
        return found

    def keep(self, function, *args):
        return Watched([function(*block, *args) for block in self.blocks], self.sent, self.brought)

    def total(self, function, *args):
        self.sent.append(max((np.size(arg) for arg in args), default=0))
        return Held(self.blocks).total(function, *args)  # added where the blocks are


def _numbers(part):
    return sum(map(_numbers, part)) if isinstance(part, list | tuple) else np.size(part)


@pytest.mark.parametrize("n_groups", [1, 20, 2000, 20_000])
def test_pivots_and_values_are_no_more_than_is_said(n_groups):
    rng = np.random.default_rng(0)
    values, groups = rng.normal(size=200_000), rng.permutation(200_000) % n_groups
    blocks = Watched([(values, groups)])
    ranks = Ranks(blocks, n_groups)
    blocks.sent.clear()
    blocks.brought.clear()
    middle = ranks.sizes // 2
    found = ranks.at(middle)
    assert max(blocks.sent) <= max(PIVOTS, FEWEST * n_groups)
    assert sum(blocks.brought) <= max(FEW, n_groups) + n_groups + 1  # and where each group's end
    order = np.lexsort((values, groups))
    starts = np.append(0, np.cumsum(ranks.sizes)[:-1])
    assert_array_equal(found, values[order][starts + middle])


def test_the_guide_has_these_numbers():
    assert PIVOTS == FEW == 2**14
    assert (FEWEST, PIVOTS // FEWEST, 8 * PIVOTS // 1000) == (16, 1024, 131)
